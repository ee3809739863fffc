"""A faulty system: a live system whose API server misbehaves on demand, and what must hold after that.

Use it for faults between compiler and API server inside this process; ``process_system`` is for kills and broken wires.
What is demanded: etcd holds what the naive oracle compiles, a further pass (a restart) writes nothing, and the compiler
that writes nothing is alive.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from intentc.apiserver import serving
from intentc.apiserver.app import create_app
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.server_faults import ServerFaults
from tests.oracle.contrail import mark
from tests.support.live_system import LiveSystem, counted_world

MANY = 20
"""Objects that the compiler must have made before its silence says something (docs/engine.md §10)."""


class FaultySystem(LiveSystem):
    """``faults``: what its API server does to compilers' requests."""

    def __init__(self, store: EtcdStore, loaded: Loaded) -> None:
        super().__init__(store, loaded)
        self.faults = ServerFaults()

    async def check(self) -> None:
        """What is there is right, a restart writes nothing, and a repair shows that the compiler is alive."""
        await self.assert_compiled()
        assert len(await self.owned()) >= MANY
        before, numbers = await self.values(), await self.numbers()
        self.calls.seen.clear()
        async with self.compiling() as again:
            await self.settle(again)
            assert again.engine.evaluator.runs >= MANY
            assert self.calls.mutations == {}
            assert await self.values() == before
            assert await self.numbers() == numbers
            lists = (await self.stored())["access_control_list"]
            victim = next(uuid for uuid, found in lists.items() if mark(found))
            await self.delete("access_control_list", victim)
            await self.settle(again)
            assert (await self.stored())["access_control_list"].keys() == lists.keys()
            assert sum(self.calls.mutations.values()) == 1
        await self.assert_compiled()


@asynccontextmanager
async def faulty_system(
    store: EtcdStore, loaded: Loaded, patch: Any, before: Callable[[LiveSystem], Awaitable[None]] | None = None
) -> AsyncIterator[FaultySystem]:
    """A faulty system with its server running. ``patch``: pytest's ``monkeypatch``. ``before``: what is done to it
    ahead of the server's start."""
    made = FaultySystem(store, loaded)
    async with counted_world(store, loaded, patch, made):

        def wrapped(*args: Any, **named: Any) -> Any:
            return made.calls.around(made.faults.around(create_app(*args, **named)))

        patch.setattr(serving, "create_app", wrapped)
        if before is not None:
            await before(made)
        async with made.serving():
            yield made
