"""Finds traces of other installations: marks on objects below a path, and processes that lead without a claim.

Versions before claims wrote below a path without claiming it. Their traces show whose the path is. They are looked
for whenever an installation is about to claim a path of whose claim it is not part yet. ``path_claim`` claims paths; it
reads the values of claims by ``holders_of``, as the search for leading processes does, which asks for the leader of
every installation, whatever its path.

It reads etcd, and writes nothing there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from intentc.model import MARK_KEY, Mark
from intentc.watch.keys import CLAIMS_PREFIX, leader_key
from intentc.watch.protocol import AccessDenied, Store, prefix_end

_PAGE = 500
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_QUOTED_KEY = f'"{MARK_KEY}"'.encode()
_OWN_PREFIX = "/intentc/"


class _Annotations(msgspec.Struct):
    key_value_pair: tuple[dict[str, Any], ...] | None = None


class _Annotated(msgspec.Struct):
    annotations: _Annotations | None = None


async def marks_below(store: Store, path: str) -> Counter[tuple[str, str]]:
    """(installation, compiler) → the number of objects below ``path`` with its mark. Raises ``StoreError``."""
    found: Counter[tuple[str, str]] = Counter()
    start = prefix = f"/{path}/"
    while True:
        page = await store.range(start, prefix_end(prefix), limit=_PAGE)
        found.update(maker for item in page.items for maker in _marked_by(item.value))
        if not page.more or not page.items:
            return found
        start = page.items[-1].key + "\0"


async def leaders_without_claim(store: Store) -> list[str]:
    """The installations with a leading process, on a lease, that have claimed no path: those of versions before
    claims. Empty if this user of etcd may not read them. Raises ``StoreError``."""
    try:
        claims = await store.range(CLAIMS_PREFIX, prefix_end(CLAIMS_PREFIX))
        holders = {name for claim in claims.items for name in holders_of(claim.value) or ()}
        return [name async for name in _leading(store) if name not in holders]
    except AccessDenied:
        return []


class Holder(msgspec.Struct, frozen=True):
    """An installation's part of a claim. ``compilers``: those for which it has the path; none: all, as in claims of
    versions before compilers shared a path. ``process`` and ``since`` are for people."""

    compilers: frozenset[str] = frozenset()
    process: str = ""
    since: float = 0.0


class _Claim(msgspec.Struct):
    installation: str = ""
    holders: dict[str, Holder] = {}


def holders_of(claim: bytes) -> dict[str, Holder] | None:
    """Installation → its part of a claim; None if the claim can't be read."""
    try:
        found = msgspec.json.decode(claim, type=_Claim)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    holders = {found.installation: Holder()} if found.installation else found.holders
    return holders if holders and all(map(_is_name, holders)) else None


def _is_name(text: str) -> bool:
    """Whether an installation can have this name; other names don't count, whoever wrote them."""
    return _NAME.fullmatch(text) is not None


async def _leading(store: Store) -> AsyncIterator[str]:
    """Finds each installation with one call, however many keys it has."""
    start = _OWN_PREFIX
    while found := (await store.range(start, prefix_end(_OWN_PREFIX), limit=1, keys_only=True)).items:
        key = found[0].key
        name, slash, _ = key.removeprefix(_OWN_PREFIX).partition("/")
        start = prefix_end(f"{_OWN_PREFIX}{name}/") if slash else key + "\0"
        if slash and _is_name(name) and any(leader.lease for leader in (await store.range(leader_key(name))).items):
            yield name


def _marked_by(value: bytes) -> set[tuple[str, str]]:
    # Most values carry no mark, and are not worth decoding.
    if _QUOTED_KEY not in value:
        return set()
    try:
        annotations = msgspec.json.decode(value, type=_Annotated).annotations
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return set()
    pairs = (annotations.key_value_pair if annotations is not None else None) or ()
    marks = (Mark.parse(str(pair.get("value"))) for pair in pairs if pair.get("key") == MARK_KEY)
    return {(mark.installation, mark.compiler) for mark in marks if mark is not None and _is_name(mark.installation)}
