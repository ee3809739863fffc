"""Runs the whole engine and the whole API server in one process, over a store in memory, without a network.

``intentc compile``, ``plan`` and ``check --reads`` run on it, and the tests of intents. Everything happens in the
caller's task in a fixed order. By default the uuids that a live server chooses are derived from names, and its time
stands still, so that the same input gives the same bytes; a caller may pass another ``Source``. Numbers that owners
already have can be given to them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from intentc.apiserver.admission import RULES
from intentc.apiserver.admission.rules import Allocation, Change
from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.local import LocalWriteService
from intentc.apiserver.sources import DerivedSource, Source
from intentc.apiserver.startup import write_seeds
from intentc.engine.applier import LastGoodValues
from intentc.engine.assembly import assemble
from intentc.inspection.shown_resources import in_order, lower_level, shown, statuses
from intentc.model import Batch, Key, Name, Problem
from intentc.planning import DeleteGuard
from intentc.plugins import Loaded
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.memory import MemoryStore
from intentc.writing import ReadService, WriteService

PATH = "contrail"
"""The path of resources in the store."""
_WHOLE_POOLS = 100.0
_UNLIMITED = 10_000_000

GivenAllocations = Mapping[str, Mapping[str, int]]
"""Pool → fq_name of the owner joined by ``:`` → number."""


class Offline:
    """One engine, one API server, one store. ``settings``: the values of ``intentc.settings``; ``write``/``read``:
    services that replace the server's own (mocks); ``healing``: whether recorded reads run intents that the map misses;
    ``given``: allocations that owners already have; ``store``: the store of an earlier instance, as after a restart;
    ``observe``: plan and write nothing; ``guard``: limits mass deletions; ``source``: chooses uuids and times for the
    server; ``last_good``: last good values of held resources; ``clock``: of the engine, in seconds."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        installation: str = "default",
        settings: Mapping[str, Any] | None = None,
        write: WriteService | None = None,
        read: ReadService | None = None,
        given: GivenAllocations | None = None,
        store: MemoryStore | None = None,
        observe: bool = False,
        healing: bool = True,
        guard: DeleteGuard | None = None,
        source: Source | None = None,
        last_good: LastGoodValues | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.installation = installation
        self.store = store or MemoryStore(max_txn_ops=_UNLIMITED)
        source = source or DerivedSource()
        self._source = source
        self._given = given or {}
        self.server = ApiServer(
            self.store, loaded.schema, path=PATH, max_txn_ops=_UNLIMITED, source=source, pool_share=_WHOLE_POOLS
        )
        self.local = _NumberingWriteService(self, loaded.pools, given or {})
        """Writes to, and reads from, this server."""
        self.engine = assemble(
            loaded,
            write or self.local,
            read or self.local,
            installation=installation,
            settings=settings,
            healing=healing,
            observe=observe,
            guard=guard,
            last_good=last_good,
            clock=clock,
        )
        self._layout = Layout.of(f"/{PATH}/")
        self._before: dict[Key, bytes] = {}
        self._seeds: dict[Name, str] = {}

    async def seed(self) -> None:
        """Create the objects that every API server has from its start, and compile them; ``outputs`` omits them."""
        await write_seeds(self.server)
        await self.settle()
        world = self.engine.world
        found = (world.cache.shown(key) for key in world.cache)
        self._seeds = {resource.name: resource.key.uuid for resource in found if resource is not None}
        self._before = {resource.key: resource.raw for resource in lower_level(world, self.engine.planner)}

    async def apply(self, changes: Iterable[Mapping[str, Any]]) -> None:
        """Apply ``{"kind", "operation", "data"}`` entries in one transaction, then compile.

        An entry without a uuid that has the name of a seed changes the seed. Raises subclasses of ``ApiError`` that
        name the entry."""
        entries = [dict(change) for change in changes]
        for entry in entries:
            fq_name = entry["data"].get("fq_name")
            if isinstance(fq_name, list) and not entry["data"].get("uuid"):
                seed = self._seeds.get(Name(str(entry["kind"]), tuple(map(str, fq_name))))
                entry["data"] = {**entry["data"], **({"uuid": seed} if seed else {})}
        await self._number(entries)
        await self.server.sync(entries)
        await self.settle()

    async def _number(self, entries: Iterable[Mapping[str, Any]]) -> None:
        """Give new resources their known numbers, which the API server would otherwise choose (``security_group_id``).
        A number may be given as in the pool or as in the resource."""
        for entry in entries:
            fq_name, kind = entry["data"].get("fq_name"), str(entry["kind"])
            if not isinstance(fq_name, list) or kind not in RULES:
                continue
            uuid = entry["data"].get("uuid") or self._source.uuid(Name(kind, tuple(map(str, fq_name))))
            for number in RULES[kind].allocations(Change(uuid, None, dict(entry["data"]))):
                known = self._given.get(number.pool, {}).get(":".join(map(str, fq_name)))
                if isinstance(number, Allocation) and number.value is None and known is not None:
                    value = known - number.offset if number.offset and known > number.offset else known
                    await self.server.allocate(number.pool, number.owner, value)

    async def settle(self) -> None:
        """Work until nothing is left to do."""
        engine = self.engine
        if not engine.world.listed:
            await engine.load_allocations()
            await engine.step([(await list_all(self.store, self._layout)).snapshot])
        while True:
            batches = self.store.batches(self._layout.prefix, engine.revision)
            worked = await engine.step([Batch(batch.revision, self._layout.changes(batch.events)) for batch in batches])
            if not (worked or batches):
                return

    def outputs(self) -> list[dict[str, Any]]:
        """Return the lower-level resources that follow from the input, by kind, then fq_name (docs/engine.md §12).
        These are the objects that compilers made, and those on which they wrote a field."""
        found = (r for r in lower_level(self.engine.world, self.engine.planner) if self._before.get(r.key) != r.raw)
        return [shown(resource) for resource in in_order(found)]

    def statuses(self) -> list[dict[str, Any]]:
        """Return the statuses in which compilers claim something, by kind, then fq_name."""
        return statuses(self.engine.world, self.engine.planner)

    def problems(self) -> tuple[Problem, ...]:
        """Return the problems that people must fix."""
        world, states = self.engine.world, self.engine.states
        return states.problems(world.held.values())


class _NumberingWriteService(LocalWriteService):
    """Allocates known numbers to their owners, and to others the lowest number without a known owner."""

    def __init__(self, offline: Offline, pools: tuple[str, ...], given: GivenAllocations) -> None:
        super().__init__(offline.server, pools=pools)
        self._offline = offline
        self._given = given
        self._kept: set[str] = set()

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        names = self._given.get(pool)
        if names:
            await self._keep(pool, names)
            server, world = self._offline.server, self._offline.engine.world
            for kind in world.intent_kinds:
                resource = world.cache.shown(Key(kind, owner.partition("/")[2].rpartition("/")[0]))
                if resource is not None and (name := ":".join(resource.fq_name)) in names:
                    await server.free(pool, value=names[name], owner=_place(name))
                    value, _ = await server.allocate(pool, owner, names[name])
                    return value
        return await super().allocate(pool, owner, fence)

    async def _keep(self, pool: str, names: Mapping[str, int]) -> None:
        """Reserve the known numbers of a pool before its first allocation."""
        if pool not in self._kept:
            self._kept.add(pool)
            for name, value in names.items():
                await self._offline.server.allocate(pool, _place(name), value)


def _place(name: str) -> str:
    """Return the placeholder that owns the number of an owner that doesn't exist yet."""
    return f"given/{name}"
