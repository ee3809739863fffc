"""The claim of one installation on one ``etcd.path``: a key that says whose compilers write below the path.

Two installations over one path would give every owner two numbers, and undo each other's writes. So an installation
claims the path in etcd before it writes, and another one refuses to start. Which process of the installation writes is
the election's business.
"""

from __future__ import annotations

import json
import time

from intentc.watch.keys import claim_key, leader_key
from intentc.watch.protocol import AccessDenied, Delete, Get, KeyValue, Put, Store, absent, unchanged


class PathClaimed(Exception):
    """Another installation has claimed the path. ``path``: as ``etcd.path`` names it; ``holder``: that installation."""

    def __init__(self, path: str, holder: str, installation: str) -> None:
        super().__init__(
            f"the path {path} belongs to the installation {holder}, so {installation} writes nothing below it"
        )
        self.path = path
        self.holder = holder
        self.installation = installation


class PathInUse(Exception):
    """A compiler of the installation that holds the path leads. ``key``: the leader's."""

    def __init__(self, path: str, installation: str, key: str) -> None:
        super().__init__(f"a compiler of the installation {installation} runs, and writes below the path {path}")
        self.key = key


async def claim_path(store: Store, path: str, installation: str, process: str) -> None:
    """Claim ``path`` for ``installation``; nothing is written if it has it already. ``process`` is shown to operators.

    Raises ``PathClaimed``, ``StoreError``.
    """
    key = claim_key(path)
    value = json.dumps({"installation": installation, "process": process, "since": time.time()}, sort_keys=True)
    try:
        answer = await store.transaction([absent(key)], [Put(key, value.encode()), Get(key)], [Get(key)])
    except AccessDenied as error:
        raise AccessDenied(f"{error}; grant this user read and write of {key}: config/etcd-roles.sh does") from None
    holder = _holder(answer.results[-1])
    if holder != installation:
        raise PathClaimed(path, holder, installation)


async def release_path(store: Store, path: str, installation: str, *, force: bool = False) -> bool:
    """Give ``path`` up, in a transaction that compares that nobody leads. True if ``installation`` had it. ``force``:
    also while its leader runs.

    Raises ``PathInUse``, ``StoreError``.
    """
    key, leader = claim_key(path), leader_key(installation)
    found = (await store.range(key)).items
    if not found or _holder(found) != installation:
        return False
    compares = [unchanged(key, found[0].mod_revision), *(() if force else (absent(leader),))]
    answer = await store.transaction(compares, [Delete(key)], [Get(leader)])
    if not answer.succeeded and not force and answer.results[-1]:
        raise PathInUse(path, installation, leader)
    return answer.succeeded


def _holder(found: tuple[KeyValue, ...]) -> str:
    """The installation that a claim names; ``unknown`` if it can't be read, which nobody's name equals by accident."""
    try:
        return str(json.loads(found[0].value)["installation"])
    except (IndexError, KeyError, TypeError, ValueError):
        return "unknown (the claim can't be read)"
