"""One process of the compiler in the simulation: its service, its link to the store, its way to the API server.

It can be ended, as by SIGTERM, or killed, as by SIGKILL: then what it has sent may or may not have arrived, and it does
nothing any more. Histories draw its other faults.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NoReturn
from unittest.mock import patch

from intentc.apiserver.api_server import ApiServer
from intentc.engine.assembly import assemble
from intentc.leading import Election
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Etcd, Intentc
from intentc.plugins import Loaded
from intentc.service.service import build_service
from intentc.watch.keys import leader_key
from tests.simulation.link import Link, nothing
from tests.simulation.request_faults import RequestFaults
from tests.simulation.simulated_clock import now
from tests.simulation.simulated_system import INSTALLATION, LAYOUT, CountingService
from tests.support.faulty_store import FaultyStore

CONFIGURATION = Configuration(etcd=Etcd(path=LAYOUT.prefix.strip("/")), intentc=Intentc(installation=INSTALLATION))
_WITH_CLOCKS: tuple[Callable[..., Any], ...] = (assemble, Election.__init__)


class DistantService(CountingService):
    """Each request takes its time, as ``pauses`` (seconds) say over and over, half of it on the way there."""

    def __init__(
        self,
        pools: tuple[str, ...],
        store: FaultyStore,
        server: ApiServer,
        weather: RequestFaults,
        pauses: Sequence[float],
        note: Callable[[str], None],
        on_death: Callable[[], None],
    ) -> None:
        super().__init__(server, pools=pools, weather=weather)
        self.pauses = itertools.cycle(pauses)
        self.dead = False
        self._numbers = itertools.count(1)
        self._store = store
        self._note = note
        self._on_death = on_death

    async def _counted(self, name: str, call: Coroutine[Any, Any, Any], fence: str | None) -> Any:
        title, pause = f"{next(self._numbers)} {name}", next(self.pauses) / 2
        self._note(f"asks {title}")
        try:
            await asyncio.sleep(pause)
            await self._lives()
            former = await self._leading()
            answer = await super()._counted(name, call, fence)
            assert fence in {former, await self._leading()}, f"{fence} wrote while {former} led"
        except Exception as error:
            self._note(f"gets {title}: {type(error).__name__}")
            raise
        finally:
            call.close()
        await asyncio.sleep(pause)
        await self._lives()
        self._note(f"gets {title}: {answer}")
        return answer

    async def _lives(self) -> None:
        """Nothing happens any more once the process is dead."""
        if self.dead:
            await nothing()

    async def _leading(self) -> str | None:
        """The fence of whoever leads now."""
        found = (await self._store.range(leader_key(INSTALLATION))).items
        return f"{INSTALLATION}/{found[0].create_revision}" if found else None

    async def _die(self) -> NoReturn:
        self._on_death()
        await nothing()


class Process:
    """Runs from the moment it is made. ``write.requests`` counts what it asked of the API server."""

    def __init__(
        self,
        name: str,
        loaded: Loaded,
        store: FaultyStore,
        server: ApiServer,
        weather: RequestFaults,
        pauses: Sequence[float],
        note: Callable[[str], None],
    ) -> None:
        def note_ours(what: str) -> None:
            note(f"{name} {what}")

        self.link = Link(store)
        self.write = DistantService(loaded.pools, store, server, weather, pauses, note_ours, self.kill)
        with ExitStack() as patches:
            for function in _WITH_CLOCKS:
                patches.enter_context(patch.dict(function.__kwdefaults__, clock=now))
            patches.enter_context(patch("intentc.service.service.process_name", lambda: name))
            self.service = build_service(CONFIGURATION, loaded, self.link, self.write, self.write)
        self.engine = self.service.engine
        self._task = asyncio.get_running_loop().create_task(self.service.run())
        note_ours("starts")

    @property
    def ended(self) -> bool:
        """Whether it is gone. Raises what made it end, if ``end`` did not."""
        if self.write.dead:
            return True
        if self._task.done() and not self._task.cancelled():
            self._task.result()
        return self._task.done()

    @property
    def leads(self) -> bool:
        """Whether it may write."""
        return not self.ended and self.engine.may_write

    async def end(self) -> None:
        """End it as SIGTERM does: it finishes the writes that it has begun."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def kill(self) -> None:
        """It is gone, in the midst of whatever it was about."""
        self.write.dead = True
        self.link.die()
        self._task.cancel()
