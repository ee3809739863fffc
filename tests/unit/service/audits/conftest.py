"""What tests of the service's audits may use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.support.box_system import POOL, boxes_and_parts
from tests.unit.service.audits.audited_system import AuditedSystem, Start


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts systems of boxes with parts. They end with the test."""
    async with AsyncExitStack() as stack:

        async def begin(*, healing: bool) -> AuditedSystem:
            system = AuditedSystem(boxes_and_parts(), healing=healing)
            await system.offline.server.ensure_pool(POOL, 1, 1000)
            await stack.enter_async_context(system.running())
            await system.settled()
            return system

        yield begin
