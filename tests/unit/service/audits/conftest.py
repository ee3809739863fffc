"""What tests of the service's audits may use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from tests.support.audited_system import AuditedSystem, Start
from tests.support.box_system import POOL, plugins


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts worlds of the plant: boxes with parts. They end with the test."""
    async with AsyncExitStack() as stack:

        async def begin(*, healing: bool) -> AuditedSystem:
            beside = AuditedSystem(plugins(), healing=healing)
            await beside.offline.server.ensure_pool(POOL, 1, 1000)
            await stack.enter_async_context(beside.running())
            await beside.settled()
            return beside

        yield begin
