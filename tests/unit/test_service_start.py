"""The service before its first pass: it waits for the ledger, and says so once an outage."""

from __future__ import annotations

import anyio
import pytest

from intentc import service as service_module
from intentc.writing import Unreachable
from tests.unit.pipeline.plant import POOL, Plant
from tests.unit.serving import service_of

pytestmark = pytest.mark.anyio


async def test_an_unreadable_ledger_is_waited_for_and_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plant = Plant()
    await plant.offline.server.ensure_pool(POOL, 1, 1000)
    tries: list[int] = []
    load = plant.engine.numbers.load

    async def failing() -> None:
        tries.append(len(tries))
        if len(tries) <= 5:
            raise Unreachable("connection refused")
        await load()

    monkeypatch.setattr(service_module, "_RETRY", 0.0)
    monkeypatch.setattr(plant.engine.numbers, "load", failing)
    await service_of(plant)._until_done("the ledger can't be read", plant.engine.numbers.load)
    assert len(tries) == 6
    assert [
        record.message for record in caplog.records if "ledger" in record.message and record.levelname == "WARNING"
    ] == ["the ledger can't be read yet: connection refused; trying again until it works"]
    plant.parts.jobs.close()
    plant.parts.objects.close()


async def test_while_the_ledger_is_waited_for_the_service_is_healthy_and_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant = Plant()
    service = service_of(plant)
    tried = anyio.Event()

    async def failing() -> None:
        tried.set()
        raise Unreachable("connection refused")

    monkeypatch.setattr(plant.engine.numbers, "load", failing)
    async with anyio.create_task_group() as group:
        group.start_soon(service.run)
        with anyio.fail_after(10):
            await tried.wait()
        assert service.healthy()
        assert not service.ready()[0]
        group.cancel_scope.cancel()
    assert not service.healthy()
    plant.parts.jobs.close()
    plant.parts.objects.close()
