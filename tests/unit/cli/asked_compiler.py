"""A compiler over memory that answers for its diagnostics over HTTP, as commands ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal

from intentc.diagnostics.serving import running_diagnostics
from intentc.evaluation import Compiler as Package
from intentc.inspection import Reader
from intentc.testing import MemoryService, service_for
from tests.unit.diagnostics.answered import ObservedCompiler


@contextmanager
def answering(package: str | Package, *resources: Any) -> Iterator[str]:
    """The address of one that has compiled these resources."""

    async def compiled() -> MemoryService:
        service = service_for(package)
        await service.create(*resources)
        return service

    with start_blocking_portal() as portal:
        answers = Reader(portal.call(compiled).offline.engine)
        serving = running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=answers)
        with portal.wrap_async_context_manager(serving) as url:
            yield url.removeprefix("http://")
