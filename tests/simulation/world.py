"""A simulated system whose compiler runs as processes, while users, other programs and faults act.

Histories of the step-driven ``SimulatedSystem`` apply here, too; here no step waits for the one before.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence

from intentc.engine.engine import Engine
from intentc.watch.protocol import Compacted
from tests.simulation.process import DistantService, Process
from tests.simulation.simulated_clock import now
from tests.simulation.simulated_system import LAYOUT, SimulatedSystem
from tests.simulation.subjects import CONTRAIL, Subject

_LONGEST = 900.0
"""Seconds after the last fault in which everything must have come to rest; back-offs grow up to a minute."""
_AUDITED = 30.0
"""Seconds in which the background relist has read everything at least once, with some to spare."""
_A_WHILE = 20.0
_PAUSES = (0.002,)


class Simulation(SimulatedSystem):
    """``processes``: how many compile; one of them leads. ``trace`` has what happened, and when: the same history
    with the same seed leaves the same trace."""

    def __init__(self, processes: int = 1, subject: Subject = CONTRAIL) -> None:
        self.trace: list[str] = []
        self._pauses: Sequence[float] = _PAUSES
        self._over = self._audited = False
        self._names = itertools.count(1)
        self._count = processes
        self._processes: list[Process] = []
        self._restore: Callable[[], None] | None = None
        self._subject = subject
        super().__init__(subject.loaded)

    def _renew(self) -> None:
        """Processes begin with ``start``, since they need the running loop."""

    @property
    def process(self) -> Process:
        """The one that leads; if none does, the oldest."""
        return next((process for process in self._processes if process.leads), self._processes[0])

    @property
    def service(self) -> DistantService:  # type: ignore[override]
        return self.process.write

    @property
    def engine(self) -> Engine:  # type: ignore[override]
        return self.process.engine

    async def start(self) -> None:
        await super().start()
        for _ in range(self._count):
            self._begin()

    async def restart(self) -> None:
        """End the leader and start another process; at the end of a history all processes, so that the next leader
        remembers nothing."""
        for process in list(self._processes) if self._over else [self.process]:
            await process.end()
            self._processes.remove(process)
            self._begin()

    async def end(self) -> None:
        """End all processes."""
        for process in self._processes:
            await process.end()

    def kill(self) -> None:
        """The leader dies at once, and another process is started."""
        process = self.process
        process.kill()
        self._processes.remove(process)
        self._begin()

    async def settle(self) -> None:
        """In the midst of a history, let some time pass: what is spoilt keeps the engine busy. After it, return when
        all is done and audited. Raises ``AssertionError`` if that does not come about."""
        if not self._over:
            await asyncio.sleep(_A_WHILE)
            return
        await self._rest()
        if not self._audited:
            self._audited = True
            await asyncio.sleep(_AUDITED)
            await self._rest()

    async def settle_until_killed(self, requests: int, *, after_sending: bool) -> None:
        """The process dies at that request, if it comes to it before long."""
        process = self.process
        process.write.limit = process.write.requests + requests
        process.write.after_sending = after_sending
        await asyncio.sleep(requests)
        process.write.limit = None
        if process.ended:
            self._processes.remove(process)
            self._begin()

    async def deliver_again(self, batches: int) -> None:
        self.store.faults.replay(batches)

    async def compact(self) -> None:
        try:
            await self.store.compact((await self.store.range(LAYOUT.prefix)).revision)
        except Compacted:
            self.note("nothing to compact")

    def back_up(self) -> None:
        """Keep the store's state for ``restore``."""
        put_back, spoilt = self.store.faults.backup(), dict(self.spoilt)

        def restore() -> None:
            put_back()
            self.spoilt = dict(spoilt)

        self._restore = restore

    def restore(self) -> None:
        """Put the store back to what was kept, if anything was: revisions go back."""
        if self._restore is not None:
            self._restore()

    async def end_faults(self) -> None:
        self._over = True
        for process in self._processes:
            process.link.heal()
        self.store.faults.lose_next(0)
        await super().end_faults()
        # The background relist reads at the last applied revision: a loss of the very last event shows with the next.
        await self._subject.touch(self)

    def set_pauses(self, pauses: Sequence[float]) -> None:
        """How long requests take from now on, in seconds, over and over."""
        self._pauses = pauses
        for process in self._processes:
            process.write.pauses = itertools.cycle(pauses)

    def note(self, what: str) -> None:
        """Add a line to the trace."""
        self.trace.append(f"{now():.6f} {what}")

    async def _rest(self) -> None:
        """Return once all that is stored is applied, and nobody has anything left to do."""
        latest = now() + _LONGEST
        while not self._at_rest():
            assert now() < latest, f"no rest after {_LONGEST:g} s: {self.process.service.status()}"
            await asyncio.sleep(0.25)

    def _at_rest(self) -> bool:
        for process in self._processes:
            assert not process.ended
        engine = self.engine
        settled = engine.jobs.settled and engine.objects.settled
        if not (self.process.leads and engine.converged and settled):
            return False
        try:
            return not any(self.store.batches(LAYOUT.prefix, process.engine.revision) for process in self._processes)
        except Compacted:
            return False

    def _begin(self) -> None:
        name = f"process-{next(self._names)}"
        process = Process(name, self._loaded, self.store, self.server, self.weather, self._pauses, self.note)
        self._processes.append(process)
