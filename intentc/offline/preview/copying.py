"""Reads the live world, and copies it into memory in the form in which ``intentc apiserver`` stores its own.

Why a copy of the API server's entries: admission needs names, holders and pools in addition to the resources. They are
computed from the resources, so that it does not matter which server wrote these. Resources keep their revisions. An
entry of the index or a pool that can't be read is copied as it is, so that the copy's API server rejects what the live
one would reject. Only numbers that occur nowhere in the world are free in the copy, so that ``provisional`` recognizes
those that it gives. Nothing that is done with the copy reaches the original.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

import msgspec

from intentc.apiserver.admission.well_known import ADDRESS_POOLS, POOLS
from intentc.apiserver.documents import decode, decode_entry, encode, relationships
from intentc.apiserver.errors import BrokenEntry, Malformed
from intentc.apiserver.layout import REFERENCE, Holder, Layout
from intentc.apiserver.pools import Pool
from intentc.directives import Book, Kept
from intentc.model import Change, InvalidInput, Key, Name, Schema, Snapshot
from intentc.offline import AllocationsUnreadable
from intentc.offline.offline import PATH
from intentc.reconcile.failures import Denied, Failure
from intentc.retained import KnownFields, KnownValues, RetainedValues
from intentc.watch.keys import Layout as KeyLayout
from intentc.watch.listing import items_below, list_all
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import KeyValue, Store
from intentc.writing import Allocation, ReadService

_INDEX = "/intentc/apiserver/"


class Gathered(NamedTuple):
    """``snapshot``: the resources. ``cluster_id``: of their etcd. ``links``: the API server's index keys, without
    prefix, of relations that block no deletion (``<target>/<kind>/<uuid>/<sort>``); None without an index. ``names``:
    uuid → its index entry, for values whose name can't be read. ``pools``: the keys of the server's pools, without
    prefix, and their values. ``allocations``: those of our installation. ``directives``: of operators.
    ``last_good``: last good values of held resources."""

    snapshot: Snapshot
    cluster_id: int
    links: frozenset[str] | None
    names: dict[str, bytes]
    pools: dict[str, bytes]
    allocations: tuple[Allocation, ...]
    directives: tuple[Kept, ...]
    last_good: KnownValues = KnownValues({}, {})


async def gather(store: Store, read: ReadService, schema: Schema, *, path: str, installation: str) -> Gathered:
    """Read everything under ``/<path>/`` now. Raises ``Failure`` and ``AllocationsUnreadable``."""
    await KnownFields(store, schema, installation=installation).load()
    listing = await list_all(store, KeyLayout.of(f"/{path}/"))
    revision = listing.snapshot.revision
    links: frozenset[str] | None = None
    names: dict[str, bytes] = {}
    pools: dict[str, bytes] = {}
    try:
        index = f"{_INDEX}{path}/"
        found = items_below(store, f"{index}links/", revision=revision, keys_only=True)
        links = frozenset([item.key.removeprefix(f"{index}links/") async for item in found])
        found = items_below(store, f"{index}pool", revision=revision)
        pools = {item.key.removeprefix(index): item.value async for item in found}
        for uuid in [change.uuid for change in listing.snapshot.changes if not _has_readable_name(change.value or b"")]:
            for item in (await store.range(f"{index}uuid/{uuid}", revision=revision)).items:
                names[uuid] = item.value
    except Denied:
        links = None
    try:
        allocations = await read.all_allocations(f"{installation}/")
    except Failure as error:
        raise AllocationsUnreadable from error
    directives = await Book(store, installation).list()
    retained = RetainedValues(store, schema, path=path, installation=installation)
    last_good = await KnownValues.of(retained, schema, listing.snapshot.changes)
    known_links = links if links or pools else None
    return Gathered(
        listing.snapshot, listing.cluster_id, known_links, names, pools, tuple(allocations), directives, last_good
    )


def _has_readable_name(value: bytes) -> bool:
    try:
        msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


LAYOUT = Layout(PATH)
"""The keys of the copy."""

_OWN_INDEX = f"{_INDEX}{PATH}/"
_UNLIMITED = 10_000_000
_LONG_NUMBERS = re.compile(rb"(?<!\d)\d{4,18}(?!\d)")
_LEAST_DISTINGUISHABLE = 1_000
_KEPT_FREE = 20_000
_WIDEST_FROM_ABOVE = 65_536
"""Numbers in the widest pool of which the highest are used: those of a wider one may have no form in the world, as
route target numbers under a four-byte autonomous system (docs/contrail.md D.1). Low ones occur elsewhere, as ports."""
_RANGE_OF_UNKNOWN_POOLS = (1_000_000_000, 1_000_100_000)


def copy_of(gathered: Gathered, schema: Schema, pools: Collection[str], text: str = "") -> MemoryStore:
    """Return a store with the resources of ``gathered``, their index, the API server's pools, and ``pools``. No number
    that occurs in ``text`` is allocated in it."""
    snapshot = gathered.snapshot
    items = [
        KeyValue(
            LAYOUT.value(Key(change.kind, change.uuid)),
            change.value or b"",
            change.create_revision,
            change.mod_revision,
        )
        for change in snapshot.changes
    ]
    revision = snapshot.revision
    index = _index(schema, snapshot.changes, gathered.links, gathered.names)
    index |= _pools(gathered.pools, gathered.allocations, pools, _numbers_in(snapshot.changes, text))
    items += [KeyValue(key, value, revision, revision) for key, value in index.items()]
    return MemoryStore.holding(items, revision, max_txn_ops=_UNLIMITED)


def _index(
    schema: Schema, changes: Collection[Change], links: frozenset[str] | None, names: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Compute the index of names and holders. ``links``, ``names``: see ``Gathered``; without ``links``, references to
    or from objects of compilers never block a deletion."""
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
                found[LAYOUT.identity(change.uuid)] = identity
                with suppress(BrokenEntry):
                    known = decode_entry(identity, Name, LAYOUT.identity(change.uuid))
                    found.setdefault(LAYOUT.name(known), change.uuid.encode())
            continue
        name = Name(kind.name, tuple(document["fq_name"]))
        # A copy that was put into etcd by hand doesn't take the name from its holder.
        found.setdefault(LAYOUT.name(name), change.uuid.encode())
        found[LAYOUT.identity(change.uuid)] = encode(name)
        value = encode(document["fq_name"])
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
    """Return the uuids of the objects that compilers made."""
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
    """Return every number of four or more digits in the world or in ``text``."""
    values = (*(change.value or b"" for change in changes), text.encode())
    return frozenset(int(number) for value in values for number in _LONG_NUMBERS.findall(value))


def _pools(
    there: dict[str, bytes], allocations: Collection[Allocation], names: Collection[str], numbers: frozenset[int]
) -> dict[str, bytes]:
    """Return the pools in their present state, with only those numbers free that are not in ``numbers``. So each new
    number can be recognized wherever it occurs, and a plan shows none of them."""
    found = {f"{_OWN_INDEX}{key}": value for key, value in there.items()}
    states = {key.removeprefix("pool/"): value for key, value in there.items() if key.startswith("pool/")}
    known = {name: Pool([(start, end)], [(start, end)]) for name, start, end in POOLS}
    for name in names:
        known.setdefault(name, Pool([_RANGE_OF_UNKNOWN_POOLS], [_RANGE_OF_UNKNOWN_POOLS]))
    for name, state in states.items():
        try:
            known[name] = decode_entry(state, Pool, LAYOUT.pool(name))
        except BrokenEntry:
            known.pop(name, None)
    for name, owner, value in allocations:
        head, colon, part = name.partition(":")
        family = known.get(head + colon) if part else None
        if family is not None and name not in states:
            known.setdefault(name, Pool(family.ranges, list(family.ranges), of_family=True))
        if name in known:
            known[name].take(value)
        if name in known or name in states:
            found[LAYOUT.pool_owners(name) + owner] = str(value).encode()
            found[LAYOUT.pool_values(name) + str(value)] = owner.encode()
    for name, pool in known.items():
        if not name.startswith(ADDRESS_POOLS):
            pool.free = _distinguishable(pool.free, numbers)
        found[LAYOUT.pool(name)] = encode(msgspec.to_builtins(pool))
    return found


def _distinguishable(free: list[tuple[int, int]], numbers: frozenset[int]) -> list[tuple[int, int]]:
    """Return some free numbers that occur nowhere, as ranges; all free numbers if there is none. They are the highest,
    but of a wide pool the lowest."""
    if not free:
        return free
    from_below = free[-1][1] - free[0][0] > _WIDEST_FROM_ABOVE
    found = (
        number
        for start, end in (free if from_below else reversed(free))
        for number in range(max(start, _LEAST_DISTINGUISHABLE), end)[:: 1 if from_below else -1]
        if number not in numbers
    )
    ranges: list[tuple[int, int]] = []
    for number in sorted(islice(found, _KEPT_FREE)):
        if ranges and ranges[-1][1] == number:
            ranges[-1] = (ranges[-1][0], number + 1)
        else:
            ranges.append((number, number + 1))
    return ranges or free
