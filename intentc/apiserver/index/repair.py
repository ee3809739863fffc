"""Corrects the index entries of resources, as their stored values say.

Why it exists: any number of API servers may find the same difference, while others write the resource. So each write is
guarded by the revisions of the value and of the entry, and repeating it changes nothing. The name, or the uuid, of two
resources belongs to the one with the lower create revision, as for compilers (docs/engine.md §2.4); after one
transaction to the lower key.

It writes entries, never values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from intentc.model import Key, Name, Schema
from intentc.watch.protocol import Compare, Delete, KeyValue, Put, Store

from ..documents import decode_entry, decode_fq_name
from ..draft import Reading
from ..errors import BrokenEntry, Malformed
from ..large_commit import LargeCommits
from ..layout import Layout
from .entries import owner, relaxed_entry, wanted_entries

_ATTEMPTS = 20


class Repaired:
    """What became of some resources. ``entries``: how many were written or deleted; ``unreadable``: resources whose
    values can't be read; ``rivals``: a resource → those that keep a name or uuid which it also has; ``displaced``:
    resources that have lost one; ``is_complete``: false if others were always faster."""

    def __init__(self) -> None:
        self.entries = 0
        self.unreadable: dict[Key, Malformed] = {}
        self.rivals: dict[Key, tuple[Key, ...]] = {}
        self.displaced: set[Key] = set()
        self.is_complete = True


class _Step(NamedTuple):
    """One write of an entry, and what must be unchanged for it."""

    operation: Put | Delete
    compares: tuple[Compare, ...]


class Repair:
    """Repairs entries in ``store``. ``limit``: operations that one transaction takes. ``large``: large commits, which
    write the entries of a resource after it."""

    def __init__(self, store: Store, schema: Schema, layout: Layout, limit: int, large: LargeCommits) -> None:
        self._store = store
        self._schema = schema
        self._layout = layout
        self._limit = limit
        self._large = large

    async def repair(self, suspects: Mapping[Key, Collection[str]]) -> Repaired:
        """Make the entries of some resources true, and those of the given entries that belong to them.

        They are read and written together, so some dozens at a time are cheapest. A value that can't be read keeps its
        entries. Raises ``ApiError`` if a read fails, and ``Failure`` if a write does.
        """
        done = Repaired()
        for _ in range(_ATTEMPTS):
            await self._large.over()
            reading = Reading(self._store, self._limit)
            attempts = [_Attempt(reading, self._schema, self._layout, key, suspects[key]) for key in suspects]
            await reading.load(where for attempt in attempts for where in attempt.places())
            wanted = [attempt for attempt in attempts if attempt.can_be_read()]
            await reading.load(entry for attempt in wanted for entry in attempt.entries)
            done.unreadable = {one.key: one.error for one in attempts if one.error is not None}
            steps: dict[str, _Step] = {}
            is_complete = True
            for attempt in wanted:
                for step in await attempt.steps():
                    # Two new resources with one name: the second sees the entry of the first in the next round.
                    is_complete &= steps.setdefault(step.operation.key, step) is step
            done.rivals = {attempt.key: tuple(attempt.rivals) for attempt in wanted if attempt.rivals}
            done.displaced |= {key for attempt in wanted for key in attempt.displaced}
            for block in self._blocks(steps.values()):
                compares = {compare.key: compare for step in block for compare in step.compares}
                answer = await self._store.transaction(
                    [self._large.is_absent, *compares.values()], [step.operation for step in block]
                )
                is_complete &= answer.succeeded
                done.entries += len(block) if answer.succeeded else 0
            if is_complete:
                return done
        done.is_complete = False
        return done

    def _blocks(self, steps: Iterable[_Step]) -> Iterator[list[_Step]]:
        """Steps by transaction."""
        block: list[_Step] = []
        compared: set[str] = set()
        for step in steps:
            keys = {compare.key for compare in step.compares}
            if block and len(compared | keys) >= self._limit:
                yield block
                block, compared = [], set()
            block.append(step)
            compared |= keys
        if block:
            yield block


class _Attempt:
    """One look at a resource and its entries. ``further``: entries that may belong to it."""

    def __init__(self, reading: Reading, schema: Schema, layout: Layout, key: Key, further: Collection[str]) -> None:
        self.key = key
        self.entries: dict[str, None] = dict.fromkeys(further)
        self.error: Malformed | None = None
        self.rivals: dict[Key, None] = {}
        self.displaced: dict[Key, None] = {}
        self._reading = reading
        self._schema = schema
        self._layout = layout
        self._item: KeyValue | None = None
        self._wanted: dict[str, bytes] = {}

    def places(self) -> tuple[str, str]:
        """What must be read first."""
        return self._layout.value(self.key), self._layout.identity(self.key.uuid)

    def can_be_read(self) -> bool:
        """Decode the value, once ``places`` are read; then ``entries`` are those to read."""
        where, identity = self.places()
        self._item = self._reading.known(where)
        try:
            value = self._item.value if self._item else None
            self._wanted = wanted_entries(self._schema, self._layout, self.key, value)
        except Malformed as error:
            self.error = error
            return False
        former = self._former_name()
        relaxed = (relaxed_entry(self._layout, entry) for entry in self._wanted)
        names = [self._layout.name(former)] if former else []
        beside = [] if self._item else [self._layout.beside(self.key)]
        more = [*self._wanted, *(entry for entry in relaxed if entry), identity, *names, *beside]
        self.entries |= dict.fromkeys(more)
        return True

    async def steps(self) -> list[_Step]:
        """The writes that make the entries true, once ``entries`` are read."""
        reading, wanted = self._reading, dict(self._wanted)
        for entry in self._wanted:
            other = relaxed_entry(self._layout, entry)
            if other and reading.known(other):
                wanted[other] = wanted.pop(entry)
        guard = reading.seen(self._layout.value(self.key))
        steps: list[_Step] = []
        for entry in self.entries:
            present, value = reading.known(entry), wanted.get(entry)
            if value is None:
                if present is not None and not self._is_kept(entry) and self._is_own(present):
                    steps.append(_Step(Delete(entry), (guard, reading.seen(entry))))
            elif present is None or present.value != value:
                claims = await self._rivals_claim(present)
                if claims is not None:
                    # A reference has one entry, whether it was relaxed before it is read or after.
                    other = relaxed_entry(self._layout, entry)
                    also = (reading.seen(other),) if other else ()
                    steps.append(_Step(Put(entry, value), (guard, reading.seen(entry), *also, *claims)))
        return steps

    def _former_name(self) -> Name | None:
        item = self._reading.known(self._layout.identity(self.key.uuid))
        try:
            name = decode_entry(item.value, Name, item.key) if item else None
        except BrokenEntry:
            return None
        return name if name is not None and name.kind == self.key.kind else None

    def _is_own(self, entry: KeyValue) -> bool:
        return owner(self._layout, entry.key, entry.value) == self.key

    def _is_kept(self, entry: str) -> bool:
        """What clients keep of a resource is not derived from its value."""
        return self._item is not None and entry == self._layout.beside(self.key)

    async def _rivals_claim(self, entry: KeyValue | None) -> tuple[Compare, ...] | None:
        """What must be unchanged so that this resource may take ``entry`` from another one; None if it may not."""
        item = self._item
        rival = owner(self._layout, entry.key, entry.value) if entry else None
        if entry is None or item is None or rival is None or rival == self.key or rival.kind not in self._schema:
            return ()
        where = self._layout.value(rival)
        other = await self._reading.item(where)
        if other is None:
            return (self._reading.seen(where),)
        if self._has(rival, other, entry.key):
            if (other.create_revision, rival) < (item.create_revision, self.key):
                self.rivals[rival] = None
                return None
            self.displaced[rival] = None
        return (self._reading.seen(where),)

    def _has(self, rival: Key, item: KeyValue, entry: str) -> bool:
        """Whether the other resource has the name or uuid of ``entry``; one that can't be read keeps what it has."""
        if entry == self._layout.identity(self.key.uuid):
            return True
        try:
            fq_name = decode_fq_name(self._schema.kind(rival.kind), item.value, item.key, rival.uuid)
        except Malformed:
            return True
        return self._layout.name(Name(rival.kind, fq_name)) == entry
