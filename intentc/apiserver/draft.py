"""Collects one mutation before its commit: what was read, what will be written, and the compares.

Why it exists: creates, updates and deletes of one request are staged here first, so that rules see the resulting state
in any order; then one compare-and-set transaction commits everything or nothing. If a compare fails because another
writer was faster, the work is repeated on a new draft (``mutation.py``). ``resources`` and ``admission`` decide which
values are allowed. Calls that only read use a draft, too.

State: one mutation under way, in memory. It reads the store (``reading``), and writes nothing there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

import anyio

from intentc.model import Key, Name, Schema
from intentc.watch.protocol import Compare, Store, present

from .admission.quotas import Demand
from .admission.rules import Change, Rules
from .documents import Document, decode, decode_entry, decode_fq_name, decode_text, encode, without_reference
from .errors import Malformed
from .layout import CHILD, Layout
from .reading import Reading
from .secrets import Secrets


class Staged:
    """One resource of a draft, before (None: absent) and after the mutation (None: deleted)."""

    __slots__ = ("after", "before", "forced")

    def __init__(self, before: Document | None, after: Document | None, forced: bool) -> None:
        self.before = before
        self.after = after
        self.forced = forced


class Draft:
    """The state that a mutation leads to, over what is stored. Callers must not change the documents it returns."""

    def __init__(
        self,
        store: Store,
        schema: Schema,
        layout: Layout,
        limit: int,
        pool_share: float,
        secrets: Secrets,
        most_read: int | None = None,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.schema = schema
        self.pool_share = pool_share
        """Percent of the numbers of a pool that one project may hold."""
        self.secrets = secrets
        """Seals and opens secrets in resources; documents of the draft hold them as they are stored."""
        self.layout = layout
        self.pause = pause
        """Waits for some seconds; for 0, lets others run."""
        self.reading = Reading(store, limit, most_read)
        self.staged: dict[Key, Staged] = {}
        self.writes: dict[str, bytes | None] = {}
        """Keys of the index and the pools to write; None deletes."""
        self.compares: dict[str, Compare] = {}
        self.relaxed: dict[tuple[Key, str], None] = {}
        """(holder, uuid of a target): references that must not block the deletion of their target, in order."""
        self.deferred: dict[Key, None] = {}
        """Deleted resources with many referrers, which lose their references after the commit (``deletion.py``)."""
        self.changes: list[tuple[Rules, Change]] = []
        """Changes to verify once everything is staged, in order."""
        self.demands: list[tuple[Key, Demand]] = []
        """What changes add to a project's quota, to verify once everything is staged, in order."""
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

    def stage_malformed(self, key: Key) -> None:
        """Stage the deletion of a resource whose value can't be read."""
        self.staged[key] = Staged(None, None, False)

    def stage_replacement(self, key: Key, after: Document) -> None:
        """Stage a resource that replaces a value that can't be read."""
        self.staged[key] = Staged(None, after, False)
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

    async def let_go(self, key: Key, target: Key) -> None:
        """Remove ``target`` from the references of ``key``."""
        document = await self.document(key)
        if document is not None:
            await self.stage(key, without_reference(document, target))

    def relax(self, holder: Key, target: str) -> None:
        """Stop a reference from blocking the deletion of its target (docs/contrail.md B.2, /ref-relax-for-delete)."""
        self.relaxed[holder, target] = None


def fq_name_value(document: Document) -> bytes:
    """The value of a holder's index entries."""
    return encode(document["fq_name"])
