"""Processes that run for one installation's leadership, as many as a test needs."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from intentc.leading import Election, Leadership
from intentc.leading.process_identity import ProcessIdentity
from intentc.reconcile.backoff import Retries
from intentc.watch.keys import leader_key
from intentc.watch.protocol import KeyValue
from tests.support.faulty_store import FaultyStore
from tests.unit.leading.line import Line
from tests.unit.leading.virtual_time import now

INSTALLATION = "test"
KEY = leader_key(INSTALLATION)
TTL = 10
_KILLED: set[ProcessIdentity] = set()
"""As the kernel of every machine knows."""
_PROCESS_IDS = itertools.count(1)


def process_on(machine: str) -> ProcessIdentity:
    """The identity of a process that has just begun there."""
    return ProcessIdentity(machine, pid_namespace=1, time_namespace=1, pid=next(_PROCESS_IDS), started=7)


class Candidate:
    """One process, with the callbacks that it received."""

    def __init__(
        self, store: FaultyStore, name: str, version: str = "1", identity: ProcessIdentity | None = None
    ) -> None:
        self.name = name
        self.identity = identity
        self.line = Line(store)
        self.won: list[Leadership] = []
        self.lost: list[str] = []
        self.lost_at: list[float] = []
        self.alive = anyio.CancelScope()
        self.election = Election(
            self.line,
            INSTALLATION,
            name,
            ttl=TTL,
            versions={"contrail": version},
            on_won=self.won.append,
            on_lost=self._on_lost,
            clock=now,
            new_retries=lambda: Retries(clock=now, chance=lambda: 0.5),
            identity=identity,
            is_dead=lambda other, own: other in _KILLED,
        )

    @property
    def leads(self) -> bool:
        return self.election.fence() is not None and not self.alive.cancel_called

    async def live(self) -> None:
        """Run until killed."""
        with self.alive:
            await self.election.run()

    def kill(self) -> None:
        """As SIGKILL: nothing is given back."""
        self.alive.cancel()
        if self.identity is not None:
            _KILLED.add(self.identity)

    def _on_lost(self, reason: str) -> None:
        self.lost.append(reason)
        self.lost_at.append(now())


@asynccontextmanager
async def standing(store: FaultyStore, *names: str) -> AsyncIterator[list[Candidate]]:
    """Candidates at work; the first one leads when the block is entered, the others stand by."""
    candidates = [Candidate(store, name) for name in names]
    async with anyio.create_task_group() as group:
        for candidate in candidates:
            group.start_soon(candidate.live)
            await until(lambda: candidates[0].leads)
        await until(lambda: all(candidate.election.leader() == names[0] for candidate in candidates))
        yield candidates
        group.cancel_scope.cancel()


async def until(condition: Callable[[], bool], within: float = 100.0) -> float:
    """Wait until it holds; how many (virtual) seconds that took. Raises ``TimeoutError``."""
    begun = now()
    with anyio.fail_after(within):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event, and the time is virtual
            await anyio.sleep(0.01)
    return now() - begun


async def leader_item(store: FaultyStore) -> KeyValue | None:
    """The leader's key as it stands."""
    items = (await store.range(KEY)).items
    return items[0] if items else None
