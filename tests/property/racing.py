"""A laboratory whose engine works in its own tasks, as in service: users' changes and its writes race.

Where a request waits, and how long, is drawn, so that examples differ in more than their steps. A race can't be
replayed exactly; what must hold in the end holds in every one.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from intentc.assembly import assemble
from intentc.watch.source import Source
from tests.property.laboratory import INSTALLATION, LAYOUT, LOADED, CountingService, Laboratory

_LONGEST = 30.0
"""Seconds in which everything must be settled, however busy the machine is."""


class SlowService(CountingService):
    """Lets others run before and after each request, so many turns of the loop as ``pauses`` say, over and over."""

    def __init__(self, *args: Any, pauses: Sequence[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pauses = itertools.cycle(pauses)

    async def _counted(self, call: Any) -> Any:
        try:
            await turns(next(self._pauses))
        except BaseException:
            call.close()
            raise
        answer = await super()._counted(call)
        await turns(next(self._pauses))
        return answer


class RacingLaboratory(Laboratory):
    """Use ``racing`` to get one; its engine is at work while you do what you like."""

    def __init__(self, group: TaskGroup, pauses: Sequence[int]) -> None:
        self._group = group
        self._pauses = pauses
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        super().__init__()

    async def start(self) -> None:
        await super().start()
        self._begin()

    async def restart(self) -> None:
        await self.end()
        self._renew()
        self._begin()

    async def end(self) -> None:
        """The compiler is told to end; what it has begun to write it may end."""
        self._scope.cancel()
        await self._ended.wait()

    async def settle(self) -> None:
        with anyio.fail_after(_LONGEST):
            await self._settled()

    async def settle_until_killed(self, requests: int, *, after_sending: bool) -> None:
        """Here the process is only ended, after so many turns of the loop."""
        await turns(requests)
        await self.restart()

    async def _settled(self) -> None:
        """Return once all that is stored is applied, the engine is quiet, and nothing backs off."""
        parts = self.engine.parts
        while True:
            await parts.jobs.wait_settled()
            await parts.objects.wait_settled()
            batches = self.store.batches(LAYOUT.prefix, parts.logic.revision)
            await self.engine.settled(batches[-1].revision if batches else 0)
            if not batches and parts.jobs.settled and parts.objects.settled:
                return

    def _renew(self) -> None:
        self.service = SlowService(self.server, pools=LOADED.pools, pauses=self._pauses)
        self.engine = assemble(LOADED, self.service, self.service, installation=INSTALLATION)

    def _begin(self) -> None:
        self._scope, self._ended = anyio.CancelScope(), anyio.Event()
        self._group.start_soon(self._serve, self._scope, self._ended)

    async def _serve(self, scope: anyio.CancelScope, ended: anyio.Event) -> None:
        try:
            with scope:
                await self.engine.numbers.load()
                async with aclosing(Source(self.store, LAYOUT.prefix).events()) as events:
                    await self.engine.run(events)
        finally:
            self.engine.parts.jobs.close()
            self.engine.parts.objects.close()
            ended.set()


@asynccontextmanager
async def racing(pauses: Sequence[int]) -> AsyncIterator[RacingLaboratory]:
    """A laboratory with an engine at work, ended in the end."""
    async with anyio.create_task_group() as group:
        lab = RacingLaboratory(group, pauses)
        await lab.start()
        yield lab
        await lab.end()


async def turns(count: int) -> None:
    """Let the other tasks run so many times."""
    for _ in range(count):
        await anyio.lowlevel.checkpoint()
