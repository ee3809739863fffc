"""A copy of the live world in memory, in the form in which the reference API server keeps its own.

Why it exists: admission needs names, holders and pools beside the resources. They are made anew from the resources, so
that it does not matter which server wrote those. Resources keep their revisions. What is done with the copy never
reaches the original.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import msgspec

from intentc.apiserver.admission.seed_objects import POOLS
from intentc.apiserver.documents import decode, encode, relationships
from intentc.apiserver.draft import fq_name_value
from intentc.apiserver.errors import Malformed
from intentc.apiserver.layout import REFERENCE, Holder, Layout
from intentc.apiserver.pools import Pool
from intentc.model import Change, InvalidInput, Key, Name, Schema
from intentc.offline.offline import PATH
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import KeyValue
from intentc.writing import Allocation

from .gathering import Gathered

LAYOUT = Layout(PATH)
"""Where what lies in the copy."""

_INDEX = f"/intentc/apiserver/{PATH}/"
_UNLIMITED = 10_000_000
_LONG_NUMBERS = re.compile(rb"(?<!\d)\d{4,18}(?!\d)")
_LEAST_TOLD_APART = 1_000
_KEPT_FREE = 20_000
_RANGE_OF_UNKNOWN_POOLS = (1_000_000_000, 1_000_100_000)


def copy_of(gathered: Gathered, schema: Schema, pools: Collection[str], text: str = "") -> MemoryStore:
    """A store with the resources of ``gathered``, the index that follows, and the pools of the API server together
    with ``pools``. No number that occurs in ``text`` is given."""
    snapshot = gathered.snapshot
    items = [
        KeyValue(LAYOUT.value(Key(change.kind, change.uuid)), change.value or b"", *_revisions(change))
        for change in snapshot.changes
    ]
    revision = snapshot.revision
    index = _index(schema, snapshot.changes, gathered.links, gathered.names)
    index |= _pools(gathered.pools, gathered.ledger, pools, _numbers_in(snapshot.changes, text))
    items += [KeyValue(key, value, revision, revision) for key, value in index.items()]
    return MemoryStore.holding(items, revision, max_txn_ops=_UNLIMITED)


def _revisions(change: Change) -> tuple[int, int]:
    return change.create_revision, change.mod_revision


def _index(
    schema: Schema, changes: Collection[Change], links: frozenset[str] | None, names: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Names and holders. ``links``, ``names``: see ``Gathered``; without ``links``, what compilers relate to never
    blocks a deletion."""
    made = _made(schema, changes) if links is None else frozenset()
    found: dict[str, bytes] = {}
    for change in sorted(changes, key=lambda change: change.create_revision):
        if change.kind not in schema:
            continue
        kind, key = schema.kind(change.kind), Key(change.kind, change.uuid)
        try:
            document = decode(kind, change.value or b"", str(key), key.uuid)
        except Malformed:
            if (identity := names.get(change.uuid)) is not None:
                known = msgspec.json.decode(identity, type=Name)
                found.setdefault(LAYOUT.name(known), change.uuid.encode())
                found[LAYOUT.identity(change.uuid)] = identity
            continue
        name = Name(kind.name, tuple(document["fq_name"]))
        # A copy that was put into etcd by hand doesn't take the name from its holder.
        found.setdefault(LAYOUT.name(name), change.uuid.encode())
        found[LAYOUT.identity(change.uuid)] = encode(name)
        value = fq_name_value(document)
        for relationship, derived in relationships(kind, document):
            target, holder = relationship.target, Holder(key, relationship.sort)
            if links is not None:
                place = f"{target.uuid}/{key.kind}/{key.uuid}/{relationship.sort}"
                derived = derived or place in links
            elif relationship.sort == REFERENCE:
                derived = derived or key.uuid in made or target.uuid in made
            found[LAYOUT.link(target.uuid, holder) if derived else LAYOUT.hold(target.uuid, holder)] = value
    return found


def _made(schema: Schema, changes: Collection[Change]) -> frozenset[str]:
    """The uuids of what compilers have made."""
    found = set()
    for change in changes:
        if change.kind in schema:
            try:
                resource = schema.kind(change.kind).decode(change)
            except InvalidInput:
                continue
            if resource.mark is not None:
                found.add(change.uuid)
    return frozenset(found)


def _numbers_in(changes: Collection[Change], text: str) -> frozenset[int]:
    """Every longer number that stands anywhere in the world, or in ``text``."""
    values = (*(change.value or b"" for change in changes), text.encode())
    return frozenset(int(number) for value in values for number in _LONG_NUMBERS.findall(value))


def _pools(
    there: dict[str, bytes], ledger: Collection[Allocation], names: Collection[str], numbers: frozenset[int]
) -> dict[str, bytes]:
    """The pools as they stand, but giving only ``numbers`` that occur nowhere, so that each can be told wherever it
    turns up: a plan shows none of them."""
    found = {f"{_INDEX}{key}": value for key, value in there.items()}
    states = {key.removeprefix("pool/"): value for key, value in there.items() if key.startswith("pool/")}
    known = {name: Pool([(start, end)], [(start, end)]) for name, start, end in POOLS}
    known |= {name: msgspec.json.decode(value, type=Pool) for name, value in states.items()}
    for name in names:
        known.setdefault(name, Pool([_RANGE_OF_UNKNOWN_POOLS], [_RANGE_OF_UNKNOWN_POOLS]))
    for name, owner, value in ledger:
        pool = known.get(name)
        if pool is not None:
            pool.take(value)
            found[LAYOUT.pool_owners(name) + owner] = str(value).encode()
            found[LAYOUT.pool_values(name) + str(value)] = owner.encode()
    for name, pool in known.items():
        pool.free = _told_apart(pool.free, numbers)
        found[LAYOUT.pool(name)] = encode(msgspec.to_builtins(pool))
    return found


def _told_apart(free: list[tuple[int, int]], numbers: frozenset[int]) -> list[tuple[int, int]]:
    """The highest of the free numbers that occur nowhere, as ranges; all of them where there are none such."""
    ranges: list[tuple[int, int]] = []
    for count, number in enumerate(_from_above(free, numbers)):
        if count == _KEPT_FREE:
            break
        if ranges and ranges[-1][0] == number + 1:
            ranges[-1] = (number, ranges[-1][1])
        else:
            ranges.append((number, number + 1))
    return ranges[::-1] or free


def _from_above(free: list[tuple[int, int]], numbers: frozenset[int]) -> Iterator[int]:
    for start, end in reversed(free):
        for number in range(end - 1, max(start, _LEAST_TOLD_APART) - 1, -1):
            if number not in numbers:
                yield number
