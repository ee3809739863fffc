"""A simulated system: a memory store, the API server over it, and engines that are killed and restarted.

Use it for random histories: all that users, other programs and faults do to a live system is a method here. What a
property demands of the outcome is left to the tests. Requests are counted at the server, the compiler's apart from the
users'. Its time is simulated (``simulated_clock.py``): back-offs and pauses pass at once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Container, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

import msgspec

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import ApiError, Malformed
from intentc.apiserver.local import LocalWriteService
from intentc.apiserver.startup import write_seeds
from intentc.engine.assembly import assemble
from intentc.engine.engine import Engine
from intentc.model import AddReference, Batch, Create, Delete, Key, Name, RemoveReference, Snapshot, Update
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.retained import ALL, Keeper, RetainedValues
from intentc.watch import protocol
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import KeyValue
from intentc.writing.interfaces import Allocation, Written
from tests.oracle.contrail import Expected, Json, World, actual, expected, mark
from tests.property.resources import Put
from tests.simulation.request_faults import RequestFaults
from tests.simulation.simulated_clock import now
from tests.support.engine_status import engine_status
from tests.support.faulty_store import FaultyStore

INSTALLATION = "lab"
POOL = "route_target_number"
PORT_POOL = "bgpaas_port"
VLAN_POOLS = "service_chain_vlan:"
LAYOUT = Layout.of("/contrail/")
LOADED: Loaded = load_all(find_compilers(["contrail"]))
_ROUNDS = 200
"""Passes after which an engine that still finds something to do is called restless."""
_PATIENCE = 2
"""How often, once nothing else is left, the time of back-offs passes."""
_LONGEST_PAUSE = 61.0
"""Seconds after which every back-off is over, and every pause that a server asked for."""
_REMEMBERED = 20
"""Batches that can be delivered again."""


class Killed(BaseException):
    """The process of the compiler ends here, like by SIGKILL: nothing that would catch an error may catch it."""


class CountingService(LocalWriteService):
    """The way in for compilers. ``requests`` counts everything that could change something; after ``limit`` more of
    them (None: never) the process dies: before the request is sent, or, if ``after_sending``, before it is answered."""

    requests = 0
    limit: int | None = None
    after_sending = False

    def __init__(self, *args: Any, weather: RequestFaults, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._weather = weather

    async def _counted(self, name: str, call: Coroutine[Any, Any, Any], fence: str | None) -> Any:
        self.requests += 1
        dies = self.limit is not None and self.requests > self.limit
        if dies and not self.after_sending:
            call.close()
            await self._die()
        answer = await self._weather.through(call)
        # Who set the limit may have withdrawn it since, and would not notice the death.
        if dies and self.limit is not None:
            await self._die()
        return answer

    async def _die(self) -> NoReturn:
        raise Killed

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        return await self._counted("create", super().create(operation, fence), fence)  # type: ignore[no-any-return]

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        return await self._counted("update", super().update(operation, fence), fence)  # type: ignore[no-any-return]

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        return await self._counted("delete", super().delete(operation, fence), fence)  # type: ignore[no-any-return]

    async def add_ref(self, operation: AddReference, fence: str | None = None, /) -> Written:
        return await self._counted("add_ref", super().add_ref(operation, fence), fence)  # type: ignore[no-any-return]

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None, /) -> Written:
        call = super().remove_ref(operation, fence)
        return await self._counted("remove_ref", call, fence)  # type: ignore[no-any-return]

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        call = super().allocate(pool, owner, fence)
        return await self._counted("allocate", call, fence)  # type: ignore[no-any-return]

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        await self._counted("free", super().free(pool, owner, value, fence), fence)


class CountingUuids:
    """``Source`` of uuids that are new every time, and the same in every run of the example."""

    is_random = False

    def __init__(self, given: int = 0) -> None:
        self.given = given

    def uuid(self, name: Name, purpose: str = "") -> str:
        self.given += 1
        return f"00000000-0000-4000-8000-{self.given:012x}"

    def now(self) -> str:
        return "1970-01-01T00:00:00.000000"


class _Leader:
    """An engine whose process leads, whatever withholds its writes."""

    may_write = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def first_pass_complete(self) -> bool:
        return self._engine.first_pass_complete


class Saved(NamedTuple):
    """What a store held, and how many uuids its server had given: other systems may begin with it."""

    items: tuple[KeyValue, ...]
    revision: int
    uuids: int


class SimulatedSystem:
    """``engine`` is the one at work; ``restart`` replaces it. ``await start()`` first, unless it begins with what an
    earlier system ``saved``."""

    def __init__(self, loaded: Loaded = LOADED, *, healing: bool = True, begins: Saved | None = None) -> None:
        items, revision, uuids = begins or ((), 1, 0)
        self.store = FaultyStore.holding(items, revision, max_txn_ops=10_000, clock=now)
        self._uuids = CountingUuids(uuids)
        self.server = ApiServer(self.store, loaded.schema, max_txn_ops=10_000, source=self._uuids)
        self._loaded = loaded
        self._healing = healing
        self.weather = RequestFaults()
        """What becomes of the compiler's requests."""
        self.spoilt: dict[str, bytes] = {}
        """Keys whose values were made unreadable → the value that was there."""
        self._delivered: deque[Batch] = deque(maxlen=_REMEMBERED)
        self._gap = False
        self._renew()

    async def start(self) -> None:
        """The seeds, as every API server writes them."""
        await write_seeds(self.server)

    async def saved(self) -> Saved:
        """What another system may begin with."""
        found = await self.store.range("\0", "\0")
        return Saved(found.items, found.revision, self._uuids.given)

    async def restart(self) -> None:
        """Another process takes over; what the last one had not written is lost."""
        self._renew()

    def _renew(self) -> None:
        self.service = CountingService(self.server, pools=self._loaded.pools, weather=self.weather)
        values = RetainedValues(self.store, self._loaded.schema, path="contrail", installation=INSTALLATION)
        self.engine: Engine = assemble(
            self._loaded,
            self.service,
            self.service,
            installation=INSTALLATION,
            healing=self._healing,
            last_good=values,
        )
        engine = self.engine
        self._retaining: list[Keeper[Any]] = [
            Keeper(values, engine.last_good_values, cast(Engine, _Leader(engine)), "values"),
            Keeper(values.facts, engine.held_facts, cast(Engine, _Leader(engine)), "facts"),
        ]
        self._delivered.clear()

    async def settle(self) -> None:
        """Let the engine work until nothing is left to do, and what backs off has been tried again."""
        for _ in range(_PATIENCE):
            await self._work()
            await asyncio.sleep(_LONGEST_PAUSE)
        await self._work()

    async def _work(self) -> None:
        engine = self.engine
        if not engine.world.listed:
            await engine.load_allocations()
        if self._gap or not engine.world.listed:
            self._gap = False
            await engine.step([await self._snapshot()])
        for _ in range(_ROUNDS):
            batches = self._batches()
            self._delivered.extend(batches)
            if not (await engine.step(list[Snapshot | Batch](batches)) or batches):
                for keeper in self._retaining:
                    keeper.loop.add(ALL)
                    while await keeper.loop.step():
                        pass
                return
        raise AssertionError(f"no end after {_ROUNDS} passes: {engine_status(engine)['queue']}")

    async def _snapshot(self) -> Snapshot:
        return (await list_all(self.store, LAYOUT, _foreign)).snapshot

    def _batches(self) -> list[Batch]:
        """What the engine has not seen yet."""
        return [
            Batch(batch.revision, LAYOUT.changes(batch.events, _foreign))
            for batch in self.store.batches(LAYOUT.prefix, self.engine.revision)
        ]

    async def deliver_again(self, batches: int) -> None:
        """The watch delivers the last so many batches again, as etcd before 3.4.24 may."""
        if self.engine.world.listed:
            again: list[Snapshot | Batch] = [*self._delivered]
            await self.engine.step(again[-batches:])

    async def compact(self) -> None:
        """What the engine has not seen by now it can only see by listing everything."""
        self._gap = True

    async def settle_until_killed(self, requests: int, *, after_sending: bool) -> None:
        """As ``settle``, but the process dies at that request; another one takes over."""
        self.service.limit = self.service.requests + requests
        self.service.after_sending = after_sending
        try:
            await self.settle()
        except Killed:
            await self.restart()
        self.service.limit = None

    # What users do

    async def put(self, kind: str, fq_name: tuple[str, ...], fields: Mapping[str, Any]) -> bool:
        """Create the resource, or give these fields new values. False if the server rejects."""
        try:
            uuid = await self.uuid(kind, fq_name)
            if uuid is None:
                await self.server.create(kind, {"fq_name": list(fq_name), **fields})
            else:
                changes = {field: value for field, value in fields.items() if field != "parent_type"}
                await self.server.update(Key(kind, uuid), changes)
        except ApiError as error:
            return self._rejected(error)
        return True

    async def put_all(self, puts: Iterable[Put]) -> list[Put]:
        """Put them in this order; what is rejected since something that it refers to is not there comes again later.
        What is rejected for good."""
        waiting = list(puts)
        while waiting:
            rejected = [put for put in waiting if not await self.put(*put)]
            if len(rejected) == len(waiting):
                break
            waiting = rejected
        return waiting

    async def delete(self, kind: str, fq_name: tuple[str, ...]) -> bool:
        """Delete the resource. False if there is none or the server rejects."""
        uuid = await self.uuid(kind, fq_name)
        return uuid is not None and await self.delete_key(Key(kind, uuid))

    async def delete_key(self, key: Key) -> bool:
        """Delete what lies under a key. False if the server rejects."""
        try:
            await self.server.delete(key)
        except ApiError as error:
            return self._rejected(error)
        return True

    async def replace(self, kind: str, fq_name: tuple[str, ...], fields: Mapping[str, Any]) -> bool:
        """Delete and create in one transaction: another resource of the same name."""
        uuid = await self.uuid(kind, fq_name)
        elements = [{"kind": kind, "operation": "CREATE", "data": {"fq_name": list(fq_name), **fields}}]
        if uuid is not None:
            elements.insert(0, {"kind": kind, "operation": "DELETE", "data": {"uuid": uuid}})
        return await self.sync(elements)

    async def sync(self, elements: Sequence[Json]) -> bool:
        """Carry out all of ``{"kind", "operation", "data"}`` in one transaction. False if the server rejects."""
        try:
            await self.server.sync(list(elements))
        except ApiError as error:
            return self._rejected(error)
        return True

    async def update(self, key: Key, fields: Mapping[str, Any]) -> bool:
        """Write fields of any resource, a compiler's, too. False if the server rejects."""
        try:
            await self.server.update(key, fields)
        except ApiError as error:
            return self._rejected(error)
        return True

    async def uuid(self, kind: str, fq_name: tuple[str, ...]) -> str | None:
        try:
            return await self.server.identify(kind, fq_name)
        except ApiError:
            return None

    async def spoil(self, key: str, value: bytes = b'{"fq_name": 7') -> None:
        """Put something unreadable under a key of the prefix, past the API server."""
        self.spoilt.setdefault(key, await self._value(key))
        await self.store.transaction([], [protocol.Put(key, value)])

    async def end_faults(self) -> None:
        """All faults end."""
        self.weather.clear()
        await self.repair()

    async def repair(self) -> None:
        """Put back what was spoilt, unless somebody deleted it meanwhile."""
        for key, value in self.spoilt.items():
            if (await self.store.range(key)).items:
                await self.store.transaction([], [protocol.Put(key, value)])
        self.spoilt.clear()

    # What is there

    async def revisions(self) -> dict[str, int]:
        """Key → the revision at which it was last written, of all resources: whoever writes anything changes it."""
        found = await self.store.range(LAYOUT.prefix, protocol.prefix_end(LAYOUT.prefix), keys_only=True)
        return {item.key: item.mod_revision for item in found.items}

    async def world(self) -> World:
        """Everything readable: kind → uuid → resource."""
        return await stored_world(self.store, self.spoilt)

    async def numbers(self) -> dict[str, int]:
        """Owner → route target number, as they are allocated."""
        return {held.owner: held.value for held in await self.server.held(POOL, "")}

    async def outcome(self) -> tuple[Expected, Expected]:
        """What is there, and what should be there according to the oracle."""
        world = await self.world()
        return actual(world), expected(world, {one.owner: one.value for one in await self.allocations()})

    async def owned(self) -> list[tuple[Key, Json]]:
        """The objects that the compiler made, sorted by kind and name."""
        world = await self.world()
        found = [(Key(kind, uuid), data) for kind in world for uuid, data in world[kind].items() if mark(data)]
        return sorted(found, key=lambda item: (item[0].kind, item[1]["fq_name"]))

    async def allocations(self) -> tuple[Allocation, ...]:
        return await self.service.all_allocations(f"{INSTALLATION}/")

    async def _value(self, key: str) -> bytes:
        return (await self.store.range(key)).items[0].value

    def _rejected(self, error: ApiError) -> bool:
        # What is unreadable the server can't change either, and says so.
        unreadable = isinstance(error, Malformed) and self.spoilt
        assert error.status < 500 or unreadable, f"the API server fails: {error.status} {error.message}"
        return False


async def stored_world(store: MemoryStore, unreadable: Container[str] = ()) -> World:
    """kind → uuid → resource."""
    found: World = {}
    for item in (await store.range(LAYOUT.prefix, protocol.prefix_end(LAYOUT.prefix))).items:
        kind, uuid = item.key.removeprefix(LAYOUT.prefix).split("/")
        if item.key not in unreadable:
            found.setdefault(kind, {})[uuid] = msgspec.json.decode(item.value)
    return found


def _foreign(key: str) -> None:
    raise AssertionError(f"{key} is no key of a resource")
