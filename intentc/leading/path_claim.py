"""Claims an ``etcd.path`` for the compilers of one installation, by a key that says whose compilers write below it.

Two installations with the same compiler over one path would give every owner two allocations, and revert each other's
writes. So an installation claims its compilers below the path before it writes, and another one with one of them
refuses to start. Installations with other compilers share the path: each has its own marks, leader and allocations. A
path without a claim may still belong to an installation of a version before claims: marks and leaders without a claim
are its traces.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

import msgspec

from intentc.model import MARK_KEY, Mark
from intentc.reconcile.failures import Denied, Failure
from intentc.watch.keys import CLAIMS_PREFIX, claim_key, leader_key
from intentc.watch.listing import items_below
from intentc.watch.protocol import Delete, KeyValue, Put, Store, absent, prefix_end, unchanged

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_QUOTED_KEY = f'"{MARK_KEY}"'.encode()
_OWN_PREFIX = "/intentc/"


class _Annotations(msgspec.Struct):
    key_value_pair: tuple[dict[str, Any], ...] | None = None


class _Annotated(msgspec.Struct):
    annotations: _Annotations | None = None


async def marks_below(store: Store, path: str) -> Counter[tuple[str, str]]:
    """(installation, compiler) → the number of objects below ``path`` with its mark. Raises ``Failure``."""
    found: Counter[tuple[str, str]] = Counter()
    async for item in items_below(store, f"/{path}/"):
        found.update(_marked_by(item.value))
    return found


async def leaders_without_claim(store: Store) -> list[str]:
    """The installations with a leading process, on a lease, that have claimed no path: those of versions before
    claims. Empty if this user of etcd may not read them. Raises ``Failure``."""
    try:
        claims = await store.range(CLAIMS_PREFIX, prefix_end(CLAIMS_PREFIX))
        holders = {name for claim in claims.items for name in holders_of(claim.value) or ()}
        return [name async for name in _leading(store) if name not in holders]
    except Denied:
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


class PathClaimed(Exception):
    """Another installation has claimed the path for one of our compilers. ``path``: as in ``etcd.path``; ``holder``:
    that installation."""

    def __init__(self, path: str, holder: str, installation: str, both: Collection[str] = ()) -> None:
        why = f": both compile {', '.join(sorted(both))}" if both else ""
        super().__init__(
            f"the path {path} belongs to the installation {holder}, so {installation} writes nothing below it{why}"
        )
        self.path = path
        self.holder = holder
        self.installation = installation


class InstallationTaken(Exception):
    """Our installation has claimed the path for other compilers, and for none of ours: another process runs them."""

    def __init__(self, path: str, installation: str, theirs: Collection[str], ours: Collection[str]) -> None:
        super().__init__(
            f"below the path {path} the installation {installation} compiles {', '.join(sorted(theirs))}, "
            f"so a process that compiles {', '.join(sorted(ours))} needs an installation of its own"
        )
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


class OtherLeader(Failure):
    """No installation has claimed the path, and a process of another installation without any claim leads: it may
    write below this path. Ends when that process ends, or one of a newer version claims its path."""

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
    """A process of the installation that holds the path leads. ``key``: the leader's key."""

    def __init__(self, path: str, installation: str, key: str) -> None:
        super().__init__(f"a compiler of the installation {installation} runs, and writes below the path {path}")
        self.key = key


async def claim_path(store: Store, path: str, installation: str, compilers: Collection[str], process: str) -> None:
    """Claim ``path`` for ``compilers`` of ``installation``; writes nothing if it has them already. ``process`` is shown
    to operators.

    Raises ``PathClaimed``, ``InstallationTaken``, ``PathMarked``, ``OtherLeader``, ``UnreadableClaim``, ``Failure``.
    """
    key = claim_key(path)
    is_searched = False
    while True:
        try:
            found = (await store.range(key)).items
        except Denied as error:
            raise _not_granted(error, key) from None
        holders = _holders(found, path, installation)
        own = holders.get(installation)
        _check_holders(holders, path, installation, compilers)
        if own is not None and own.compilers and own.compilers >= frozenset(compilers):
            return
        if own is None and not is_searched:
            await _look_for_others(store, path, installation, compilers)
            is_searched = True
        known = own.compilers if own is not None else frozenset()
        claimed = Holder(known | frozenset(compilers), process, time.time())
        compare = unchanged(key, found[0].mod_revision) if found else absent(key)
        try:
            answer = await store.transaction([compare], [Put(key, _encoded({**holders, installation: claimed}))])
        except Denied as error:
            raise _not_granted(error, key) from None
        if answer.succeeded:
            return


async def check_claim(store: Store, path: str, installation: str, compilers: Collection[str]) -> None:
    """Check that the claim of ``path`` lets ``compilers`` of ``installation`` write below it, whether or not they have
    claimed it. Writes nothing.

    Raises ``PathClaimed``, ``InstallationTaken``, ``UnreadableClaim``, ``Failure``.
    """
    _check_holders(
        _holders((await store.range(claim_key(path))).items, path, installation), path, installation, compilers
    )


def _check_holders(holders: Mapping[str, Holder], path: str, installation: str, compilers: Collection[str]) -> None:
    """Raise if what is claimed forbids a claim of ``compilers``. A holder without compilers has all."""
    for name, holder in sorted(holders.items()):
        both = holder.compilers.intersection(compilers)
        if name != installation and (both or not holder.compilers):
            raise PathClaimed(path, name, installation, both)
        if name == installation and holder.compilers and not both:
            raise InstallationTaken(path, installation, holder.compilers, compilers)


def _not_granted(error: Denied, key: str) -> Denied:
    return Denied(f"{error}; grant this user read and write of {key}: config/etcd-roles.sh does")


async def _look_for_others(store: Store, path: str, installation: str, compilers: Collection[str]) -> None:
    """Raise if other installations' traces forbid claiming the path for ``compilers``."""
    marks = await marks_below(store, path)
    for (other, compiler), objects in sorted(marks.items()):
        if other != installation and compiler in compilers:
            raise PathMarked(path, other, objects, installation)
    # Our own marks show that we wrote here before, so the other installation has a path of its own.
    if all(name != installation for name, _ in marks):
        for other in await leaders_without_claim(store):
            if other != installation:
                raise OtherLeader(path, other)


async def release_path(store: Store, path: str, installation: str, *, force: bool = False) -> bool:
    """Give ``path`` up, in a transaction that checks that no process leads. True if ``installation`` had it. ``force``:
    even while its leader runs. Claims of other installations stay.

    Raises ``PathInUse``, ``UnreadableClaim``, ``Failure``.
    """
    key, leader = claim_key(path), leader_key(installation)
    while True:
        found = (await store.range(key)).items
        holders = _holders(found, path, installation)
        if installation not in holders:
            return False
        if not force and (await store.range(leader, keys_only=True)).items:
            raise PathInUse(path, installation, leader)
        others = {name: holder for name, holder in holders.items() if name != installation}
        compares = [unchanged(key, found[0].mod_revision), *(() if force else (absent(leader),))]
        change = Put(key, _encoded(others)) if others else Delete(key)
        if (await store.transaction(compares, [change])).succeeded:
            return True


def _holders(found: tuple[KeyValue, ...], path: str, installation: str) -> Mapping[str, Holder]:
    """The installations that the claim of ``path`` names; none without one. Raises ``UnreadableClaim``."""
    holders = holders_of(found[0].value) if found else {}
    if holders is None:
        raise UnreadableClaim(path, installation)
    return holders


def _encoded(holders: Mapping[str, Holder]) -> bytes:
    return msgspec.json.encode({"holders": holders}, order="sorted")
