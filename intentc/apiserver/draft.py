"""Collects one mutation before its commit: what was read, what will be written, and the compares.

Why it exists: creates, updates and deletes of one request are staged here first, so that rules see the resulting state
in any order; then one compare-and-set transaction commits everything or nothing (``mutation``). It decides by what it
reads and commits under compares of exactly that, so ``Reading`` remembers each key and range with its revision. Reads
are gathered: a batch of a hundred resources costs a few round trips. Calls that only read use a draft, too.

What a call in the event loop may read is limited: it raises ``NeedsThread`` then, and ``threads`` makes it again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import anyio

from intentc.model import Key, Kind, Name, Schema
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import (
    Compare,
    Get,
    KeyValue,
    Relation,
    Store,
    Target,
    absent,
    prefix_end,
    present,
    unchanged,
)

from .documents import Document, decode, decode_entry, decode_fq_name, decode_text
from .errors import Malformed, from_store
from .layout import CHILD, Layout
from .secrets import Secrets

if TYPE_CHECKING:
    from .admission.rules import Change
    from .authorization import Caller
    from .permissions import Access

MOST_ON_LOOP = 16 * 1024
"""Bytes of a body, or of what a call reads, that are worked on in the loop: at most some 20 ms of CPU."""
_PAGE = 1000
_BYTES_OF_A_TURN = 500_000
"""Bytes of stored values that a list decodes before other requests have their turn: some 10 ms."""
_LISTED = 8
"""Bytes that a list may have in the place of one: it is looked at once, not compared and checked."""
_KEY = 8
"""What an index key counts."""


class NeedsThread(Exception):
    """A call in the event loop has met more than it may work on there. It has done nothing yet."""


class Reading:
    """Remembered reads of a store. ``limit``: operations that one transaction takes. ``most``: bytes to read until
    ``NeedsThread`` is raised; None: any."""

    def __init__(self, store: Store, limit: int, most: int | None = None) -> None:
        self._store = store
        self._limit = limit
        self._most = most
        self._read = 0
        self._items: dict[str, KeyValue | None] = {}
        self._ranges: dict[str, tuple[tuple[KeyValue, ...], int]] = {}
        self.revision = 0
        """The revision of the latest read."""

    async def load(self, keys: Iterable[str], prefixes: Iterable[str] = ()) -> None:
        """Read many keys and ranges with as few transactions as the operation limit allows."""
        wanted = [Get(key) for key in dict.fromkeys(keys) if key not in self._items]
        wanted += [Get(prefix, prefix_end(prefix)) for prefix in dict.fromkeys(prefixes) if prefix not in self._ranges]
        for start in range(0, len(wanted), self._limit):
            part = wanted[start : start + self._limit]
            try:
                answer = await self._store.transaction((), part)
            except Failure as error:
                raise from_store(error, writing=False) from error
            self.revision, size = answer.revision, 0
            for get, found in zip(part, answer.results, strict=True):
                if get.range_end:
                    self._ranges[get.key] = (found, answer.revision)
                    for item in found:
                        self._items.setdefault(item.key, item)
                    size += _KEY * len(found)
                else:
                    self._items[get.key] = found[0] if found else None
                    size += len(found[0].value) if found else 0
            self._count(size)

    def assume_absent(self, keys: Iterable[str]) -> None:
        """Take keys for absent without a read. A commit that depends on them compares that."""
        for key in keys:
            self._items.setdefault(key, None)

    async def item(self, key: str) -> KeyValue | None:
        """One key of the store; None if it is absent."""
        if key not in self._items:
            await self.load([key])
        return self._items[key]

    def known(self, key: str) -> KeyValue | None:
        """The same for a key that is loaded."""
        return self._items[key]

    async def below(self, prefix: str) -> tuple[KeyValue, ...]:
        """All keys with ``prefix``, in order."""
        if prefix not in self._ranges:
            await self.load((), [prefix])
        return self._ranges[prefix][0]

    async def pages(self, start: str, end: str, revision: int = 0) -> AsyncIterator[tuple[KeyValue, ...]]:
        """Read a list by pages at one revision, by default the present one; it is not remembered. Raises
        ``Failure``."""
        more = True
        while more:
            found = await self._store.range(start, end, limit=_PAGE, revision=revision)
            self.revision = revision = revision or found.revision
            self._count(sum(len(item.value) for item in found.items) // _LISTED)
            yield found.items
            more, start = found.more, f"{found.items[-1].key}\0" if found.items else start

    def _count(self, size: int) -> None:
        self._read += size
        if self._most is not None and self._read > self._most:
            raise NeedsThread

    def seen(self, key: str) -> Compare:
        """A compare that holds while ``key`` is as it was read."""
        item = self._items[key]
        return unchanged(key, item.mod_revision) if item else absent(key)

    def seen_below(self, prefix: str) -> Compare:
        """A compare that holds while nothing is added or changed below ``prefix``, which was read."""
        revision = self._ranges[prefix][1]
        return Compare(prefix, Target.MOD_REVISION, Relation.LESS, revision + 1, prefix_end(prefix))


class Backend(NamedTuple):
    """What drafts work on.

    ``limit``: operations that one transaction takes (etcd's --max-txn-ops). ``pool_share``: percent of the numbers of a
    pool that one project may hold. ``secrets``: seals and opens secrets; documents of drafts hold them as they are
    stored. ``most_read``: as of a ``Reading``. ``pause``: waits for some seconds; for 0, lets others run.
    """

    store: Store
    schema: Schema
    layout: Layout
    limit: int
    pool_share: float
    secrets: Secrets
    most_read: int | None = None
    pause: Callable[[float], Awaitable[None]] = anyio.sleep


class Staged:
    """One resource of a draft, before (None: absent) and after the mutation (None: deleted)."""

    __slots__ = ("after", "before", "forced")

    def __init__(self, before: Document | None, after: Document | None, forced: bool) -> None:
        self.before = before
        self.after = after
        self.forced = forced


class Draft:
    """The state that a mutation leads to, over what is stored. Callers must not change the documents it returns."""

    def __init__(self, backend: Backend) -> None:
        self.schema = backend.schema
        self.pool_share = backend.pool_share
        self.secrets = backend.secrets
        self.layout = backend.layout
        self.pause = backend.pause
        self.reading = Reading(backend.store, backend.limit, backend.most_read)
        self.staged: dict[Key, Staged] = {}
        self.writes: dict[str, bytes | None] = {}
        """Keys of the index and the pools to write; None deletes."""
        self.compares: dict[str, Compare] = {}
        self.relaxed: dict[tuple[Key, str], None] = {}
        """(holder, uuid of a target): references that must not block the deletion of their target, in order."""
        self.deferred: dict[Key, None] = {}
        """Deleted resources with many referrers, which lose their references after the commit
        (``cascading_deletion.py``)."""
        self.changes: list[tuple[Key, Change]] = []
        """Changes to verify once everything is staged, in order."""
        self.access: dict[Caller, Access] = {}
        """What ``permissions`` has found for callers."""
        self.older: set[Key] = set()
        """Resources that are stored in an older version: staging one writes it, even unchanged."""
        self._names: dict[Name, str | None] = {}
        self._documents: dict[Key, Document] = {}
        self._fq_names: dict[Key, tuple[str, ...] | None] = {}

    async def stored(self, key: Key) -> Document | None:
        """The stored version of a resource. Raises ``Malformed``."""
        if key not in self._documents:
            if key.kind not in self.schema:
                return None
            where = self.layout.value(key)
            item = await self.reading.item(where)
            if item is None:
                return None
            kind = self.schema.kind(key.kind)
            self._documents[key] = decode(kind, item.value, where, key.uuid)
            if kind.versions.is_older(item.value):
                self.older.add(key)
        return self._documents[key]

    async def values(
        self, kind: Kind, start: str = "", revision: int = 0
    ) -> AsyncIterator[tuple[KeyValue, Document | Malformed]]:
        """All stored resources of a kind from the key ``start`` on, at one revision; for an unreadable value the error.
        Others run in between. Raises ``Failure``."""
        prefix, decoded = self.layout.values(kind.name), 0
        async for items in self.reading.pages(start or prefix, prefix_end(prefix), revision):
            for item in items:
                decoded += len(item.value)
                if decoded > _BYTES_OF_A_TURN:
                    decoded = 0
                    await self.pause(0)
                try:
                    yield item, decode(kind, item.value, item.key, self.layout.uuid(item.key))
                except Malformed as error:
                    yield item, error

    def index_keys(self) -> Iterator[str]:
        """The index keys of created and deleted resources."""
        for key, staged in self.staged.items():
            document = staged.before or staged.after
            if document is not None and (staged.before is None or staged.after is None):
                yield self.layout.identity(key.uuid)
                yield self.layout.name(Name(key.kind, tuple(document["fq_name"])))

    async def load(self, keys: Iterable[Key]) -> None:
        """Read many resources in few transactions."""
        await self.reading.load(self.layout.value(key) for key in keys if key not in self._documents)

    async def document(self, key: Key) -> Document | None:
        """A resource after this mutation. Raises ``Malformed``."""
        staged = self.staged.get(key)
        return staged.after if staged else await self.stored(key)

    async def readable(self, key: Key) -> Document | None:
        """A resource after this mutation; also None if its value can't be read."""
        try:
            return await self.document(key)
        except Malformed:
            return None

    async def fq_name(self, key: Key) -> tuple[str, ...] | None:
        """A resource's name after this mutation; None if absent. Cheaper than ``document``. Raises ``Malformed``."""
        staged = self.staged.get(key)
        if staged:
            return tuple(staged.after["fq_name"]) if staged.after else None
        if key not in self._fq_names:
            where = self.layout.value(key)
            item = await self.reading.item(where)
            kind = self.schema.kind(key.kind)
            self._fq_names[key] = decode_fq_name(kind, item.value, where, key.uuid) if item else None
        return self._fq_names[key]

    async def find(self, name: Name) -> str | None:
        """The uuid that has this name after this mutation. Index entries of deleted resources don't count."""
        if name in self._names:
            return self._names[name]
        item = await self.reading.item(self.layout.name(name))
        if item is None:
            return None
        uuid = decode_text(item.value, item.key)
        there = await self.reading.item(self.layout.value(Key(name.kind, uuid)))
        return uuid if there else None

    async def identity(self, uuid: str) -> Name | None:
        """The kind and name of a uuid in the index; the resource itself may be absent."""
        item = await self.reading.item(self.layout.identity(uuid))
        return None if item is None else decode_entry(item.value, Name, item.key)

    async def every(self, kind: str) -> list[Key]:
        """All resources of a kind after this mutation. The commit fails if another one is added or changed."""
        prefix = self.layout.values(kind)
        stored = [Key(kind, self.layout.uuid(item.key)) for item in await self.reading.below(prefix)]
        self.guard_below(prefix)
        return list(dict.fromkeys([*stored, *(key for key in self.staged if key.kind == kind)]))

    async def children(self, parent: str, kind: str) -> tuple[Key, ...]:
        """The children of one kind after this mutation. The commit fails if another one is added."""
        found: list[Key] = []
        for prefix in (self.layout.holds(parent), self.layout.links(parent)):
            for item in await self.reading.below(prefix):
                holder = self.layout.holder(item.key)
                if holder.sort == CHILD and holder.key.kind == kind:
                    found.append(holder.key)
            self.guard_below(prefix)
        staged = [key for key, one in self.staged.items() if one.after and one.after.get("parent_uuid") == parent]
        keys = dict.fromkeys([*found, *(key for key in staged if key.kind == kind)])
        return tuple([key for key in keys if key not in self.staged or self.staged[key].after is not None])

    async def referrers(self, target: Key, kind: str) -> tuple[Key, ...]:
        """The resources of one kind that refer to ``target`` after this mutation.

        The commit fails if another one is added."""
        found: list[Key] = []
        for prefix in (f"{self.layout.holds(target.uuid)}{kind}/", f"{self.layout.links(target.uuid)}{kind}/"):
            found += [self.layout.holder(item.key).key for item in await self.reading.below(prefix)]
            self.guard_below(prefix)
        found += [key for key in self.staged if key.kind == kind]
        await self.load(found)
        return tuple([key for key in dict.fromkeys(found) if await self._refers(key, target)])

    async def _refers(self, key: Key, target: Key) -> bool:
        document = await self.readable(key) or {}
        return any(entry.get("uuid") == target.uuid for entry in document.get(f"{target.kind}_refs") or ())

    async def read(self, key: str) -> bytes | None:
        """The value of any key after this mutation."""
        if key in self.writes:
            return self.writes[key]
        item = await self.reading.item(key)
        return item.value if item else None

    def put(self, key: str, value: bytes) -> None:
        """Write a key of the index or of the pools."""
        self.writes[key] = value

    def drop(self, key: str) -> None:
        """Delete a key of the index or of the pools, unless this mutation writes it."""
        if self.writes.get(key) is None:
            self.writes[key] = None

    def drop_for_good(self, key: str) -> None:
        """Delete a key of the index or of the pools, even if this mutation wrote it before."""
        self.writes[key] = None

    async def clear(self, key: str) -> None:
        """Leave ``key`` absent: drop this mutation's write to it, and delete a stored value."""
        if await self.reading.item(key) is None:
            self.writes.pop(key, None)
        else:
            self.writes[key] = None

    async def guard(self, key: str) -> None:
        """Make the commit fail if ``key`` has changed since it was read."""
        await self.reading.item(key)
        self.compares[key] = self.reading.seen(key)

    def guard_present(self, key: str) -> None:
        """Make the commit fail unless ``key`` exists."""
        self.compares.setdefault(key, present(key))

    def guard_below(self, prefix: str) -> None:
        """Make the commit fail if anything was added or changed below ``prefix``, which was read."""
        self.compares[prefix] = self.reading.seen_below(prefix)

    async def stage(self, key: Key, after: Document | None, *, forced: bool = False) -> None:
        """Stage the new state of a resource. ``forced``: holders of a deleted one lose it instead of blocking."""
        staged = self.staged.get(key)
        if staged is None:
            self.staged[key] = staged = Staged(await self.stored(key), after, forced)
        staged.after = after
        staged.forced = forced
        if after is not None:
            self._names[Name(key.kind, tuple(after["fq_name"]))] = key.uuid
        elif staged.before is not None:
            self._names.setdefault(Name(key.kind, tuple(staged.before["fq_name"])), None)

    def replace_unreadable(self, key: Key, after: Document | None) -> None:
        """Stage the new state of a resource whose value can't be read."""
        self.staged[key] = Staged(None, after, False)
        if after is not None:
            self._names[Name(key.kind, tuple(after["fq_name"]))] = key.uuid

    async def unreadable(self, key: Key) -> bool:
        """Whether the store has an unreadable value that this mutation does not replace."""
        if key in self.staged:
            return False
        try:
            await self.stored(key)
        except Malformed:
            return True
        return False

    def defer(self, key: Key) -> None:
        """Let the referrers of a deleted resource lose their references after the commit."""
        self.deferred[key] = None
        self.put(self.layout.dangling(key), b"")

    def relax(self, holder: Key, target: str) -> None:
        """Stop a reference from blocking the deletion of its target (docs/contrail.md B.2, /ref-relax-for-delete)."""
        self.relaxed[holder, target] = None
