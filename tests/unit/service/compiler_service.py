"""A whole ``CompilerService`` over a box system: with directives, election and audits as a test asks for them.

Use it where the parts of a service meet: taking over, directives that arrive, what ``/status`` shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from intentc.directives import DirectiveWatch
from intentc.service.audits import PeriodicAudit
from intentc.service.compiler_status import Parts
from intentc.service.service import CompilerService, Step, tasks_of
from intentc.service.takeover import TakeOver
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.source import Source
from tests.support.box_system import BoxSystem

INSTALLATION = "default"
PREFIX = "/contrail/"


def service_of(
    box_system: BoxSystem, process: str = "one", *, elected: bool = False, auditing: PeriodicAudit | None = None,
    most: int = 1000, version: str = "1", etcd: str = "", installation: str = INSTALLATION,
    claim: Callable[[], Awaitable[None]] | None = None, synced: Callable[[], Awaitable[None]] | None = None,
) -> CompilerService:  # fmt: skip
    """``elected``: it stands for election. ``most``: ``max_writes_on_upgrade``. ``version``: of its compiler."""
    store, engine = box_system.offline.store, box_system.engine
    heartbeat = Heartbeat(installation, process)
    source = Source(store, PREFIX, heartbeat=heartbeat)
    engine.permission.require_watch(source)
    directives = DirectiveWatch(
        store,
        installation,
        engine.operator_actions,
        engine,
        heartbeat=heartbeat,
    )
    takeover = TakeOver(
        engine, store, PREFIX, installation=installation, process=process, ttl=2, versions={"boxes": version},
        max_writes_on_upgrade=most, resources=source, directives=directives, claim=claim,
    ) if elected else None  # fmt: skip

    steps = [Step(f"etcd{etcd and f' at {etcd}'} can't be asked", source.ask)]
    if synced is not None:
        steps.append(Step("kinds of the cluster are not mirrored", synced))
    steps.append(Step("the allocations can't be read", engine.load_allocations))
    parts = Parts(directives, takeover, auditing)
    return CompilerService(engine, source, parts, steps=steps, tasks=tasks_of(engine, source, parts, relist_slice=1.0))


@asynccontextmanager
async def serving(service: CompilerService) -> AsyncIterator[CompilerService]:
    """At work until the block ends; then it drains."""
    async with anyio.create_task_group() as group:
        group.start_soon(service.run)
        try:
            yield service
        finally:
            group.cancel_scope.cancel()
    service.engine.close()
