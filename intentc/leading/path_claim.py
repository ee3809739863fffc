"""Claims an ``etcd.path`` for one installation, by a key that says whose compilers write below the path.

Two installations over one path would give every owner two allocations, and revert each other's writes. So an
installation claims the path in etcd before it writes, and another one refuses to start. A path without a claim may
still belong to an installation of a version before claims: ``other_installations`` finds its traces. The election
decides which process of the installation writes.

I/O: reads of etcd and the clock; it writes and deletes that key alone. No state.

Touches: clock, etcd.
"""

from __future__ import annotations

import json
import time

from intentc.leading.other_installations import installation_of, leaders_without_claim, marks_below
from intentc.watch.keys import claim_key, leader_key
from intentc.watch.protocol import AccessDenied, Delete, Get, KeyValue, Put, Store, absent, unchanged


class PathClaimed(Exception):
    """Another installation has claimed the path. ``path``: as in ``etcd.path``; ``holder``: that installation."""

    def __init__(self, path: str, holder: str, installation: str) -> None:
        super().__init__(
            f"the path {path} belongs to the installation {holder}, so {installation} writes nothing below it"
        )
        self.path = path
        self.holder = holder
        self.installation = installation


class PathMarked(Exception):
    """No installation has claimed the path, and objects below it carry the mark of ``other``, another installation."""

    def __init__(self, path: str, other: str, objects: int, installation: str) -> None:
        super().__init__(
            f"objects below the path {path} ({objects:,}) carry the mark of the installation {other}, so {installation}"
            " does not claim it and writes nothing below it"
        )
        self.path = path
        self.other = other


class OtherLeader(Exception):
    """No installation has claimed the path, and a compiler of another installation without any claim leads: it may
    write below this path. Ends when that compiler ends, or a newer version of it claims its path."""

    def __init__(self, path: str, other: str) -> None:
        super().__init__(
            f"a compiler of the installation {other} leads ({leader_key(other)}) and has claimed no path, so it may"
            f" write below {path}; stop it, or upgrade it so that it claims its own path"
        )


class UnreadableClaim(Exception):
    """The claim of the path can't be read. ``key``: the claim's key."""

    def __init__(self, path: str, installation: str) -> None:
        self.key = claim_key(path)
        super().__init__(
            f"the claim of the path {path} can't be read, so nobody knows whose it is, and {installation} writes"
            " nothing below it"
        )


class PathInUse(Exception):
    """A compiler of the installation that holds the path leads. ``key``: the leader's key."""

    def __init__(self, path: str, installation: str, key: str) -> None:
        super().__init__(f"a compiler of the installation {installation} runs, and writes below the path {path}")
        self.key = key


async def claim_path(store: Store, path: str, installation: str, process: str) -> None:
    """Claim ``path`` for ``installation``; writes nothing if it has it already. ``process`` is shown to operators.

    Raises ``PathClaimed``, ``PathMarked``, ``OtherLeader``, ``UnreadableClaim``, ``StoreError``.
    """
    key = claim_key(path)
    value = json.dumps({"installation": installation, "process": process, "since": time.time()}, sort_keys=True)
    try:
        is_claimed = bool((await store.range(key, keys_only=True)).items)
    except AccessDenied as error:
        raise _not_granted(error, key) from None
    if not is_claimed:
        await _look_for_others(store, path, installation)
    try:
        answer = await store.transaction([absent(key)], [Put(key, value.encode()), Get(key)], [Get(key)])
    except AccessDenied as error:
        raise _not_granted(error, key) from None
    holder = _holder(answer.results[-1], path, installation)
    if holder != installation:
        raise PathClaimed(path, holder, installation)


def _not_granted(error: AccessDenied, key: str) -> AccessDenied:
    return AccessDenied(f"{error}; grant this user read and write of {key}: config/etcd-roles.sh does")


async def _look_for_others(store: Store, path: str, installation: str) -> None:
    """Raise if other installations' traces forbid claiming an unclaimed path."""
    marks = await marks_below(store, path)
    for other, objects in sorted(marks.items()):
        if other != installation:
            raise PathMarked(path, other, objects, installation)
    # Our own marks show that we wrote here before, so the other installation has a path of its own.
    if installation not in marks:
        for other in await leaders_without_claim(store):
            if other != installation:
                raise OtherLeader(path, other)


async def release_path(store: Store, path: str, installation: str, *, force: bool = False) -> bool:
    """Give ``path`` up, in a transaction that checks that no process leads. True if ``installation`` had it. ``force``:
    even while its leader runs.

    Raises ``PathInUse``, ``UnreadableClaim``, ``StoreError``.
    """
    key, leader = claim_key(path), leader_key(installation)
    found = (await store.range(key)).items
    if not found or _holder(found, path, installation) != installation:
        return False
    compares = [unchanged(key, found[0].mod_revision), *(() if force else (absent(leader),))]
    answer = await store.transaction(compares, [Delete(key)], [Get(leader)])
    if not answer.succeeded and not force and answer.results[-1]:
        raise PathInUse(path, installation, leader)
    return answer.succeeded


def _holder(found: tuple[KeyValue, ...], path: str, installation: str) -> str:
    """The installation that the claim of ``path`` names. Raises ``UnreadableClaim``."""
    holder = installation_of(found[0].value) if found else None
    if holder is None:
        raise UnreadableClaim(path, installation)
    return holder
