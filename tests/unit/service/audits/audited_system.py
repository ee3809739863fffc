"""A memory system whose engine runs as a task, with audits of its store on demand.

Use it where a change must arrive while an audit is under way, or a reaction is missing from the map.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from intentc.logic.dependencies.reactions import ReactionMap
from intentc.model import Batch, Key, Snapshot
from intentc.offline.audit import Report, audit
from intentc.plugins import Loaded
from intentc.service.audits import PeriodicAudit
from tests.support.box_system import Failing
from tests.support.memory_system import MemorySystem
from tests.support.waiting import PATIENCE

PATH = "contrail"
ROUTE: dict[str, Any] = {"hostname": "a.example", "match": {"prefix": "/"}, "service": "http://web:80"}


class Start(Protocol):
    """Starts a world whose engine is at work."""

    async def __call__(self, *, healing: bool) -> AuditedSystem: ...


class AuditedSystem(MemorySystem):
    """``healing`` off: recorded reads run no intent that the map does not name. ``meanwhile`` runs when an audit has
    compiled, before its report is examined. While it is ``deaf`` the engine gets no batches, as if they were lost."""

    write: Failing

    def __init__(self, loaded: Loaded, *, healing: bool) -> None:
        super().__init__(loaded, write=Failing(), healing=healing)
        self.deaf = False
        self.hold = asyncio.Event()
        """While it is not set, the store's events are held back."""
        self.hold.set()
        self.heard = 0
        """The last revision that the engine got, or was too deaf to get."""
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        self.auditing = self.auditor()

    def auditor(self, patience: float = PATIENCE) -> PeriodicAudit:
        """Audits of this engine on demand."""
        return PeriodicAudit(self.engine, self.spawn, patience=patience)

    async def spawn(self) -> Report:
        """What an audit of the store says."""
        report = await audit(self.loaded, self.store, self.offline.local, path=PATH, installation="default")
        if self.meanwhile is not None:
            await self.meanwhile()
        return report

    async def received(self, events: AsyncIterator[Snapshot | Batch]) -> AsyncIterator[Snapshot | Batch]:
        async for item in events:
            await self.hold.wait()
            if not self.deaf:
                yield item
            self.heard = item.revision

    async def settle(self) -> None:
        """The engine runs as a task: wait for it."""
        await self.settled()

    async def create(self, kind: str, *fq_name: str, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.create(kind, {"fq_name": list(fq_name), **fields})
        if settle:
            await self.settle()

    async def change(self, kind: str, *fq_name: str, settle: bool = True, **fields: Any) -> None:
        await self.offline.server.update(await self.key(kind, *fq_name), fields)
        if settle:
            await self.settle()

    async def manifest(self, kind: str, name: str, labels: dict[str, str] | None = None, **fields: Any) -> None:
        """Put a resource of a Kubernetes-shaped kind, past the server."""
        uuid = f"uid-{kind}-{name}"
        document = {
            "apiVersion": "toy.intentc.io/v1",
            "kind": "".join(map(str.title, kind.split("_"))),
            "metadata": {"name": name, "uid": uuid, "labels": labels or {}},
            "spec": fields,
        }
        await self.put(Key(kind, uuid), document)

    async def shop(self) -> None:
        """A gateway that serves a route to a service with one pod."""
        await self.manifest("toy_pod", "pod", {"app": "web"}, address="10.0.0.1")
        await self.manifest("toy_service", "web", selector={"app": "web"})
        await self.manifest("toy_route", "route", **ROUTE)
        await self.manifest("toy_gateway", "front", hostname="*.example")

    async def content(self, box: str) -> str:
        """What the part of a box holds in the store."""
        key = await self.key("part", box, "one")
        (item,) = (await self.store.range(f"/{PATH}/part/{key.uuid}")).items
        return str(self.engine.world.schema.kind("part").decode_values(item.value).content)


def without(reactions: ReactionMap, kind: str, cause: str, *visited: str) -> ReactionMap:
    """The map without these visits of one reaction; they must be there."""
    reduced = []
    for reaction in reactions:
        if (reaction.kind, reaction.cause) == (kind, cause):
            kept = tuple(visit for visit in reaction.visits if visit.kind not in visited)
            assert len(reaction.visits) - len(kept) == len(visited)
            reaction = reaction._replace(visits=kept)
        reduced.append(reaction)
    return ReactionMap(reduced)
