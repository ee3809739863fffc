"""One world to experiment on: a memory store, the API server over it, and engines that come and go.

Everything that a person or another program could do to a live system is a method here; what a property demands of the
outcome is left to the tests. Requests are counted at the server, the compiler's apart from the users'.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Container, Iterable, Mapping
from typing import Any

from intentc.apiserver.errors import ApiError, Malformed
from intentc.apiserver.local import LocalWriteService
from intentc.apiserver.seeds import write_seeds
from intentc.apiserver.service import ApiServer
from intentc.assembly import assemble
from intentc.engine import Engine
from intentc.model import Batch, Key, Name, Snapshot
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.watch import protocol
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.memory import MemoryStore
from intentc.writing.service import Allocation, Written
from tests.oracle.contrail import Expected, Json, World, actual, expected, mark
from tests.property.resources import Put

INSTALLATION = "lab"
POOL = "route_target_number"
LAYOUT = Layout.of("/contrail/")
LOADED: Loaded = load_all(find_compilers(["contrail"]))
_ROUNDS = 200
"""Passes after which an engine that still finds something to do is called restless."""
_PATIENCE = 2
"""How often, once nothing else is left, the time of back-offs passes."""


class Killed(BaseException):
    """The process of the compiler ends here, like by SIGKILL: nothing that would catch an error may catch it."""


class CountingService(LocalWriteService):
    """The way in for compilers. ``requests`` counts everything that could change something; after ``limit`` more of
    them (None: never) the process dies: before the request is sent, or, if ``after_sending``, before it is answered."""

    requests = 0
    limit: int | None = None
    after_sending = False

    async def _counted(self, call: Any) -> Any:
        self.requests += 1
        dies = self.limit is not None and self.requests > self.limit
        if dies and not self.after_sending:
            call.close()
            raise Killed
        answer = await call
        if dies:
            raise Killed
        return answer

    async def create(self, *args: Any) -> Written:
        return await self._counted(super().create(*args))  # type: ignore[no-any-return]

    async def update(self, *args: Any) -> Written:
        return await self._counted(super().update(*args))  # type: ignore[no-any-return]

    async def delete(self, *args: Any) -> Written:
        return await self._counted(super().delete(*args))  # type: ignore[no-any-return]

    async def add_ref(self, *args: Any) -> Written:
        return await self._counted(super().add_ref(*args))  # type: ignore[no-any-return]

    async def remove_ref(self, *args: Any) -> Written:
        return await self._counted(super().remove_ref(*args))  # type: ignore[no-any-return]

    async def allocate(self, *args: Any) -> int:
        return await self._counted(super().allocate(*args))  # type: ignore[no-any-return]

    async def free(self, *args: Any) -> None:
        await self._counted(super().free(*args))


class CountingUuids:
    """``Source`` of uuids that are new every time, and the same in every run of the example."""

    def __init__(self) -> None:
        self._count = itertools.count(1)

    def uuid(self, name: Name, purpose: str = "") -> str:
        return f"00000000-0000-4000-8000-{next(self._count):012x}"

    def now(self) -> str:
        return "1970-01-01T00:00:00.000000"


class Laboratory:
    """``engine`` is the one at work; ``restart`` replaces it. ``await start()`` first."""

    def __init__(self) -> None:
        self.store = MemoryStore(max_txn_ops=10_000)
        self.server = ApiServer(self.store, LOADED.schema, max_txn_ops=10_000, source=CountingUuids())
        self.spoilt: dict[str, bytes] = {}
        """Keys whose values were made unreadable → the value that was there."""
        self._renew()

    async def start(self) -> None:
        """The seeds, as every API server writes them."""
        await write_seeds(self.server)

    async def restart(self) -> None:
        """Another process takes over; what the last one had not written is lost."""
        self._renew()

    def _renew(self) -> None:
        self.service = CountingService(self.server, pools=LOADED.pools)
        self.engine: Engine = assemble(LOADED, self.service, self.service, installation=INSTALLATION)

    async def settle(self) -> None:
        """Let the engine work until nothing is left to do, and what backs off has been tried again."""
        for _ in range(_PATIENCE):
            await self._work()
            parts = self.engine.parts
            for key in sorted(parts.jobs.delayed()):
                parts.jobs.add(key)
            for name in sorted(parts.objects.delayed()):
                parts.objects.add(name)
        await self._work()

    async def _work(self) -> None:
        engine = self.engine
        if not engine.intake.listed:
            await engine.numbers.load()
            await engine.step([(await list_all(self.store, LAYOUT, _foreign)).snapshot])
        for _ in range(_ROUNDS):
            batches = self.store.batches(LAYOUT.prefix, engine.parts.logic.revision)
            items: list[Snapshot | Batch] = [
                Batch(batch.revision, LAYOUT.changes(batch.events, _foreign)) for batch in batches
            ]
            if not (await engine.step(items) or batches):
                return
        raise AssertionError(f"no end after {_ROUNDS} passes: {engine.status()['queue']}")

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
        """Create the resource, or give these fields new values. False if the server refuses."""
        try:
            uuid = await self.uuid(kind, fq_name)
            if uuid is None:
                await self.server.create(kind, {"fq_name": list(fq_name), **fields})
            else:
                changes = {field: value for field, value in fields.items() if field != "parent_type"}
                await self.server.update(Key(kind, uuid), changes)
        except ApiError as error:
            return self._refused(error)
        return True

    async def put_all(self, puts: Iterable[Put]) -> list[Put]:
        """Put them in this order; what is refused since something that it refers to is not there comes again later.
        What is refused for good."""
        waiting = list(puts)
        while waiting:
            refused = [put for put in waiting if not await self.put(*put)]
            if len(refused) == len(waiting):
                break
            waiting = refused
        return waiting

    async def delete(self, kind: str, fq_name: tuple[str, ...]) -> bool:
        """Delete the resource. False if there is none or the server refuses."""
        uuid = await self.uuid(kind, fq_name)
        return uuid is not None and await self.delete_key(Key(kind, uuid))

    async def delete_key(self, key: Key) -> bool:
        """Delete what lies under a key. False if the server refuses."""
        try:
            await self.server.delete(key)
        except ApiError as error:
            return self._refused(error)
        return True

    async def replace(self, kind: str, fq_name: tuple[str, ...], fields: Mapping[str, Any]) -> bool:
        """Delete and create in one transaction: another resource of the same name."""
        uuid = await self.uuid(kind, fq_name)
        elements = [{"kind": kind, "operation": "CREATE", "data": {"fq_name": list(fq_name), **fields}}]
        if uuid is not None:
            elements.insert(0, {"kind": kind, "operation": "DELETE", "data": {"uuid": uuid}})
        try:
            await self.server.sync(elements)
        except ApiError as error:
            return self._refused(error)
        return True

    async def update(self, key: Key, fields: Mapping[str, Any]) -> bool:
        """Write fields of any resource, a compiler's, too. False if the server refuses."""
        try:
            await self.server.update(key, fields)
        except ApiError as error:
            return self._refused(error)
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

    async def mend(self) -> None:
        """Put back what was spoilt, unless somebody deleted it meanwhile."""
        for key, value in self.spoilt.items():
            if (await self.store.range(key)).items:
                await self.store.transaction([], [protocol.Put(key, value)])
        self.spoilt.clear()

    # What is there

    async def revision(self) -> int:
        """The store's: it moves with every change, whoever made it."""
        return (await self.store.range(LAYOUT.prefix)).revision

    async def world(self) -> World:
        """Everything readable: kind → uuid → resource."""
        return await stored_world(self.store, self.spoilt)

    async def numbers(self) -> dict[str, int]:
        """Owner → number, as the ledger has them."""
        return dict(await self.server.allocations(POOL, ""))

    async def outcome(self) -> tuple[Expected, Expected]:
        """What is there, and what should be there according to the oracle."""
        world = await self.world()
        return actual(world), expected(world, await self.numbers())

    async def owned(self) -> list[tuple[Key, Json]]:
        """The objects that the compiler made, sorted by kind and name."""
        world = await self.world()
        found = [(Key(kind, uuid), data) for kind in world for uuid, data in world[kind].items() if mark(data)]
        return sorted(found, key=lambda item: (item[0].kind, item[1]["fq_name"]))

    async def ledger(self) -> tuple[Allocation, ...]:
        return await self.service.ledger(f"{INSTALLATION}/")

    async def _value(self, key: str) -> bytes:
        return (await self.store.range(key)).items[0].value

    def _refused(self, error: ApiError) -> bool:
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
            found.setdefault(kind, {})[uuid] = json.loads(item.value)
    return found


def _foreign(key: str) -> None:
    raise AssertionError(f"{key} is no key of a resource")
