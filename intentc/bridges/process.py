"""What the process of every bridge does: follow etcd, lead or stand by, and say whether it is ready.

``diagnostics`` serves it. Several processes of a bridge may run: all follow etcd, and the one that leads writes; at its
end it resigns, so that another takes over at once. Callers handle commands and signals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Container, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup

from intentc.leading import DEFAULT_TTL_SECONDS, Election, KeeperFactory, Leadership
from intentc.model.events import Batch, Change, Snapshot
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.protocol import Store
from intentc.watch.source import Source


class Follower(ABC):
    """A process that follows ``source``."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.listed = anyio.Event()
        """Set once everything in etcd is taken."""

    @abstractmethod
    def take(self, item: Snapshot | Batch) -> None:
        """Take a delivery."""

    async def follow(self) -> None:
        """Take what changes in etcd until cancelled."""
        async with aclosing(self.source.events()) as events:
            async for item in events:
                self.take(item)
                self.listed.set()

    def healthy(self) -> bool:
        """Whether the process works."""
        return self.listed.is_set()

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Whether all that the process needs is watched; and the reasons if not."""
        reasons = tuple(self.lacks())
        return not reasons, reasons

    def lacks(self) -> Iterable[str]:
        """What is not watched."""
        state = self.source.state
        if not (state.ready and self.listed.is_set()):
            yield f"etcd: {state.phase.value}" + (f" ({state.last_error})" if state.last_error else "")

    def pending(self) -> list[dict[str, str]]:
        """The references whose target does not exist."""
        return []


def with_deletions(item: Snapshot | Batch, kinds: Container[str], known: Iterable[tuple[str, str]]) -> list[Change]:
    """The changes of ``kinds`` in a delivery; in a snapshot also the deletion of each ``known`` resource (kind, uuid)
    that it lacks."""
    changes = [change for change in item.changes if change.kind in kinds]
    if isinstance(item, Snapshot):
        lost = set(known).difference((change.kind, change.uuid) for change in changes)
        changes += [Change(kind, uuid, None, 0, item.revision) for kind, uuid in sorted(lost)]
    return changes


@dataclass(frozen=True)
class ProcessSettings:
    """``path``: of resources in etcd; ``process``: this one, for people; ``ttl``: of the leader's lease, in seconds."""

    path: str
    installation: str
    process: str
    ttl: int = DEFAULT_TTL_SECONDS
    heartbeat_seconds: float = 5.0


class LeadingProcess(Follower):
    """A process of several, of which one leads. ``name``: under which they elect it."""

    def __init__(self, store: Store, settings: ProcessSettings, name: str, keepers: KeeperFactory | None) -> None:
        self.heartbeat = Heartbeat(settings.installation, settings.process, interval=settings.heartbeat_seconds)
        super().__init__(Source(store, f"/{settings.path.strip('/')}/", heartbeat=self.heartbeat))
        self.election = Election(
            store,
            name,
            settings.process,
            ttl=settings.ttl,
            versions={},
            on_won=self.on_won,
            on_lost=self.on_lost,
            keepers=keepers,
        )

    @abstractmethod
    def on_won(self, leadership: Leadership) -> None:
        """This process leads from now on."""

    @abstractmethod
    def on_lost(self, reason: str) -> None:
        """This process no longer leads."""

    @abstractmethod
    async def work(self, group: TaskGroup) -> None:
        """Work until cancelled, or have that done in ``group``. Everything in etcd is known."""

    async def run(self) -> None:
        """Follow etcd and work until cancelled; then resign."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.follow)
                group.start_soon(self.source.run_heartbeat)
                await self.listed.wait()
                # A leader begins with what a former one left in etcd.
                group.start_soon(self.election.run)
                await self.work(group)
        finally:
            with anyio.CancelScope(shield=True):
                await self.election.resign()


Running = TypeVar("Running", bound=LeadingProcess)


@asynccontextmanager
async def running(process: Running) -> AsyncIterator[Running]:
    """A process at work until the block is left."""
    async with anyio.create_task_group() as group:
        group.start_soon(process.run)
        try:
            yield process
        finally:
            group.cancel_scope.cancel()
