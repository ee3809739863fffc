"""Runs a trial over a copy of the live world: let it converge, carry out an input, let it converge again.

The engine, the admission and the transactions are the real ones; only the store is a copy. So a trial does what the
live system would do, and a plan is the difference between two of its moments. It also says what the copy holds at a
revision: resources, names, numbers, owners. What bridges would do, removing the finalizers of what is being deleted, it
does itself.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Set
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from intentc.apiserver.admission.well_known import ADDRESS_POOLS
from intentc.apiserver.app import create_app
from intentc.apiserver.documents import Document, decode, decode_entry
from intentc.apiserver.errors import BrokenEntry, Malformed
from intentc.apiserver.sources import DerivedSource, RandomSource
from intentc.inspection.awaited import unmade
from intentc.inspection.read_secrets import Behind, holders_of_secrets, read_for_each
from intentc.inspection.shown_resources import in_order, lower_level, shown
from intentc.inspection.traversal import reached
from intentc.model import Change as Stored
from intentc.model import InvalidInput, Key, Name, Problem, Resource
from intentc.model.metadata import FINALIZERS
from intentc.offline.audit import apply_directives
from intentc.offline.offline import Offline
from intentc.offline.preview.copying import LAYOUT, Gathered, copy_of
from intentc.planning import DeleteGuard
from intentc.plugins import Loaded
from intentc.watch.protocol import KeyValue, prefix_end
from intentc.writing.connection import Connection, in_process

Result = TypeVar("Result")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Drawn(DerivedSource):
    """Chooses provisional uuids and records them. ``uuids``: uuid → its placeholder."""

    def __init__(self) -> None:
        self.uuids: dict[str, str] = {}

    def uuid(self, name: Name, purpose: str = "") -> str:
        made = super().uuid(name, purpose)
        self.uuids[made] = "<uuid>" if purpose else f"<uuid of {self.shown(':'.join(name.fq_name))}>"
        return made

    def now(self) -> str:
        """The clock's: what is created in the copy is younger than what exists, as it will be."""
        return RandomSource().now()

    def shown(self, name: str) -> str:
        """Return a name as a placeholder contains it: UUID stands for a provisional uuid in it."""
        return UUID.sub(lambda match: "UUID" if match[0] in self.uuids else match[0], name)


class Moment(NamedTuple):
    """The copy at one of its own revisions. ``owners``: object → the intents that claim it. ``contributors``: intent of
    a fact → the contributors to that fact. ``withheld``: kind → number of deletes that need approval. ``allocations``:
    (pool, value) → its owner. ``behind``: the resources with secrets that were read for each object. ``unmade``: what
    is held, rejected or waiting (``inspection/awaited.py``)."""

    revision: int
    problems: tuple[Problem, ...]
    owners: Mapping[Name, frozenset[Key]]
    contributors: Mapping[Key, frozenset[Key]]
    withheld: Mapping[str, int]
    allocations: Mapping[tuple[str, int], str]
    behind: Behind
    unmade: Set[Key | Name]


class Moments(NamedTuple):
    """The moments of a trial: ``live`` (a revision), ``resting``: converged, ``carried_out``: the revision after the
    input, ``done``: converged again."""

    live: int
    resting: Moment
    carried_out: int
    done: Moment


class Changed(NamedTuple):
    """One resource at two moments; None: absent."""

    key: Key
    before: KeyValue | None
    after: KeyValue | None


class Trial:
    """``settings``: of the compilers. ``guard``: with the limits of the service. ``text``: the input; no number in it
    is used as a provisional one."""

    def __init__(
        self,
        loaded: Loaded,
        gathered: Gathered,
        *,
        installation: str,
        settings: Mapping[str, Any] | None = None,
        guard: DeleteGuard | None = None,
        text: str = "",
    ) -> None:
        self.loaded = loaded
        self.drawn = Drawn()
        self.text = text
        self.store = copy_of(gathered, loaded.schema, loaded.pools, text)
        self.start = gathered.snapshot.revision
        self._gathered = gathered
        self.offline = Offline(
            loaded,
            installation=installation,
            settings=settings,
            store=self.store,
            guard=guard,
            source=self.drawn,
            last_good=gathered.last_good,
        )
        self.engine = self.offline.engine

    async def rest(self) -> Moment:
        """Work until nothing is left to do."""
        engine = self.offline.engine
        if not engine.world.listed:
            await engine.load_allocations()
            await engine.apply_item(self._gathered.snapshot)
            apply_directives(engine.operator_actions, self._gathered.directives)
        await self.offline.settle()
        while await self._carry_out_deletions():
            await self.offline.settle()
        return await self.moment()

    async def _carry_out_deletions(self) -> bool:
        """Remove the finalizers that bridges will remove, since a plan shows the end of a deletion. False if
        there is none."""
        world = self.offline.engine.world
        entries = [
            {
                "kind": resource.key.kind,
                "operation": "UPDATE",
                "data": {"uuid": resource.key.uuid, "metadata": {"finalizers": left}},
                "field_mask": {"paths": [FINALIZERS]},
            }
            for kind in world.schema
            if kind.finalizers
            for key in world.select(kind.name, "all", "")
            if (resource := world.cache.shown(key)) is not None and resource.is_being_deleted
            for stored in (resource.values().metadata.finalizers,)
            if len(left := [name for name in stored if name not in kind.finalizers]) < len(stored)
        ]
        if entries:
            await self.offline.server.sync(entries)
        return bool(entries)

    async def carry_out(self, work: Callable[[Connection], Awaitable[Result]]) -> Result:
        """Run ``work`` against the API server over the copy, before any compiler sees the changes."""
        connection = in_process(create_app(self.offline.server))
        try:
            return await work(connection)
        finally:
            await connection.aclose()

    def outputs(self) -> list[dict[str, Any]]:
        """Return the lower-level resources of now, by kind, then fq_name."""
        engine = self.engine
        return [shown(resource) for resource in in_order(lower_level(engine.world, engine.planner))]

    async def moment(self) -> Moment:
        """Return the present moment."""
        revision = await self.revision()
        world, planner = self.engine.world, self.engine.planner
        names = (resource.name for key in world.cache if (resource := world.cache.shown(key)) is not None)
        owners = {name: frozenset(planner.book.on(name)) for name in names if name in planner.book}
        return Moment(
            revision,
            self.offline.problems(),
            owners,
            self._contributors({key for keys in owners.values() for key in keys}),
            {kind: len(found) for kind, found in planner.guard.withheld.items() if found},
            await self.allocations(revision),
            read_for_each(world, planner, holders_of_secrets(world)),
            unmade(self.engine),
        )

    def _contributors(self, intents: Iterable[Key]) -> dict[Key, frozenset[Key]]:
        """Return intent of a fact → its contributors, for ``intents`` and, recursively, the contributors."""

        def contributors(key: Key) -> frozenset[Key]:
            return frozenset(origin for origin, _ in self.engine.world.contributions(key.kind, key.uuid))

        return {key: found for key in reached(intents, contributors) if (found := contributors(key))}

    async def revision(self) -> int:
        """Return the copy's present revision; it starts at the live world's."""
        return (await self.store.range("/")).revision

    async def changed(self, since: int, until: int) -> list[Changed]:
        """Return the resources that differ between two revisions of the copy, by key. The earliest is ``start``."""
        keys = {
            event.item.key
            for batch in self.store.batches(f"/{LAYOUT.path}/", since)
            if batch.revision <= until
            for event in batch.events
        }
        found = []
        for key in sorted(keys):
            kind, uuid = key.rsplit("/", 2)[1:]
            before, after = await self._at(key, since), await self._at(key, until)
            if (before and before.value) != (after and after.value):
                found.append(Changed(Key(kind, uuid), before, after))
        return found

    async def name_of(self, key: Key) -> str:
        """Return the joined fq_name of a resource, also of a deleted one; if it is unknown its uuid, which for a fact
        is the name."""
        known = self.engine.world.name_of(key)
        if known != key.uuid:
            return known
        resource = self.resource(key, await self._at(LAYOUT.value(key), self.start))
        return ":".join(resource.fq_name) if resource is not None else known

    def resource(self, key: Key, item: KeyValue | None) -> Resource | None:
        """Return the resource in a value of the copy; None if it is absent, unreadable, or of an unknown kind."""
        if item is None or key.kind not in self.loaded.schema:
            return None
        stored = Stored(key.kind, key.uuid, item.value, item.create_revision, item.mod_revision)
        try:
            return self.loaded.schema.kind(key.kind).decode(stored)
        except InvalidInput:
            return None

    def document(self, key: Key, item: KeyValue | None) -> Document | None:
        """Return the same as plain JSON in its stored form."""
        if item is None or key.kind not in self.loaded.schema:
            return None
        try:
            return decode(self.loaded.schema.kind(key.kind), item.value, str(key), key.uuid)
        except Malformed:
            return None

    async def identity(self, uuid: str) -> Name | None:
        """Return the name of the resource with this uuid, now or at the start; None if none can be read."""
        for revision in (0, self.start):
            item = await self._at(LAYOUT.identity(uuid), revision)
            if item is not None:
                with suppress(BrokenEntry):
                    return decode_entry(item.value, Name, item.key)
        return None

    async def shown_name(self, uuid: str) -> str | None:
        """Return the joined name of the resource with this uuid, as a placeholder contains it."""
        name = await self.identity(uuid)
        return self.drawn.shown(":".join(name.fq_name)) if name is not None else None

    async def stored(self, name: Name, uuid: str) -> Document | None:
        """Return the resource of this name and uuid as it is now; if it was deleted, as at the start."""
        key, where = Key(name.kind, uuid), LAYOUT.value(Key(name.kind, uuid))
        return self.document(key, await self._at(where, 0) or await self._at(where, self.start))

    def intent_of(self, origin: str) -> Iterable[Key]:
        """Return the intents that an object's mark may mean."""
        keys = (Key(kind, origin) for kind in sorted(self.engine.world.intent_kinds))
        return (key for key in keys if self.engine.world.exists(key))

    async def values(self) -> dict[str, KeyValue]:
        """Return the present resources by their keys in the copy."""
        prefix = f"/{LAYOUT.path}/"
        return {item.key: item for item in (await self.store.range(prefix, prefix_end(prefix))).items}

    async def _at(self, key: str, revision: int) -> KeyValue | None:
        found = (await self.store.range(key, revision=revision)).items
        return found[0] if found else None

    async def allocations(self, revision: int) -> dict[tuple[str, int], str]:
        """Return (pool, number) → its owner at a revision of the copy, without addresses."""
        taken = await self._taken(revision)
        return {place: owner for place, owner in taken.items() if not place[0].startswith(ADDRESS_POOLS)}

    async def owners_of_addresses(self, revision: int) -> frozenset[str]:
        """Return the uuids of the resources that have an address at a revision of the copy."""
        taken = await self._taken(revision)
        return frozenset(owner for (pool, _), owner in taken.items() if pool.startswith(ADDRESS_POOLS))

    async def _taken(self, revision: int) -> dict[tuple[str, int], str]:
        prefix = LAYOUT.pool_values("")[:-1]
        found = {}
        for item in (await self.store.range(prefix, prefix_end(prefix), revision=revision)).items:
            pool, _, number = item.key.removeprefix(prefix).rpartition("/")
            found[pool, int(number)] = item.value.decode()
        return found
