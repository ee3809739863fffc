"""Finds traces of other installations below an unclaimed path: marks on objects, and leading compilers.

Versions before claims wrote below a path without claiming it. Their traces show whose the path is, and are checked
once in the life of a path, before it is claimed. ``path_claim`` claims paths.

I/O: reads of etcd; it writes nothing there. No state.

Touches: etcd.
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


async def marks_below(store: Store, path: str) -> Counter[str]:
    """Installation → the number of objects below ``path`` with its mark. Raises ``StoreError``."""
    found: Counter[str] = Counter()
    start = prefix = f"/{path}/"
    while True:
        page = await store.range(start, prefix_end(prefix), limit=_PAGE)
        found.update(installation for item in page.items for installation in _marked_by(item.value))
        if not page.more or not page.items:
            return found
        start = page.items[-1].key + "\0"


async def leaders_without_claim(store: Store) -> list[str]:
    """The installations with a leading compiler, on a lease, that have claimed no path: those of versions before
    claims. Empty if this user of etcd may not read them. Raises ``StoreError``."""
    try:
        claims = await store.range(CLAIMS_PREFIX, prefix_end(CLAIMS_PREFIX))
        holders = {installation_of(claim.value) for claim in claims.items}
        return [name async for name in _leading(store) if name not in holders]
    except AccessDenied:
        return []


def installation_of(claim: bytes) -> str | None:
    """The installation named in a claim; None if it can't be read."""
    try:
        name = msgspec.json.decode(claim, type=_Claim).installation
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return name if _is_name(name) else None


class _Claim(msgspec.Struct):
    installation: str


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


def _marked_by(value: bytes) -> set[str]:
    # Most values carry no mark, and are not worth decoding.
    if _QUOTED_KEY not in value:
        return set()
    try:
        annotations = msgspec.json.decode(value, type=_Annotated).annotations
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return set()
    pairs = (annotations.key_value_pair if annotations is not None else None) or ()
    marks = (Mark.parse(str(pair.get("value"))) for pair in pairs if pair.get("key") == MARK_KEY)
    return {mark.installation for mark in marks if mark is not None and _is_name(mark.installation)}
