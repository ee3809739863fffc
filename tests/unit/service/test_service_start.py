"""The service before its first pass: it waits for the allocations, and says so once an outage."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from pytest_mock import MockerFixture

from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Intentc
from intentc.plugins import installed
from intentc.reconcile.backoff import Backoff, Retries
from intentc.reconcile.failures import Throttled, Unavailable
from intentc.service import service as service_module
from intentc.watch.memory import MemoryStore
from tests.support.box_system import POOL, BoxSystem
from tests.support.waiting import PATIENCE, until
from tests.unit.service.compiler_service import service_of, serving

pytestmark = pytest.mark.anyio


async def test_unreadable_allocations_are_waited_for_and_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    box_system = BoxSystem()
    await box_system.offline.server.ensure_pool(POOL, 1, 1000)
    tries: list[int] = []
    load = box_system.engine.allocations.load

    async def failing() -> None:
        tries.append(len(tries))
        if len(tries) <= 5:
            raise Unavailable("connection refused")
        await load()

    monkeypatch.setattr("intentc.reconcile.loop.Retries", partial(Retries, Backoff(0.001, 0.01)))
    monkeypatch.setattr(box_system.engine.allocations, "load", failing)
    service = service_of(box_system)
    async with serving(service):
        await until(lambda: bool(service.status()["first_pass_complete"]))
    assert len(tries) == 6
    assert [
        record.message for record in caplog.records if "allocations" in record.message and record.levelname == "WARNING"
    ] == ["the allocations can't be read yet: connection refused; trying again"]
    box_system.close()


async def test_while_the_allocations_are_waited_for_the_service_is_healthy_and_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    box_system = BoxSystem()
    service = service_of(box_system)
    tried = anyio.Event()

    async def failing() -> None:
        tried.set()
        raise Unavailable("connection refused")

    monkeypatch.setattr(box_system.engine.allocations, "load", failing)
    async with anyio.create_task_group() as group:
        group.start_soon(service.run)
        with anyio.fail_after(PATIENCE):
            await tried.wait()
        assert service.healthy()
        assert not service.ready()[0]
        group.cancel_scope.cancel()
    assert not service.healthy()
    box_system.close()


async def test_an_etcd_that_is_away_is_named_before_what_lies_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server asks for a pause then: that is no reason, but what follows from it."""
    box_system = BoxSystem()
    service = service_of(box_system, etcd="127.0.0.1:2379")
    asked = anyio.Event()

    async def load() -> None:
        raise Throttled(1.0, "etcd can't be reached")

    async def away(*where: object, **how: object) -> None:
        if service.status()["pending_work"][0].startswith("etcd at"):
            asked.set()
        raise Unavailable("etcd Range: connection refused")

    monkeypatch.setattr("intentc.reconcile.loop.Retries", partial(Retries, Backoff(0.001, 0.01)))
    monkeypatch.setattr(box_system.engine.allocations, "load", load)
    monkeypatch.setattr(box_system.offline.store, "range", away)
    async with anyio.create_task_group() as group:
        group.start_soon(service.run)
        with anyio.fail_after(PATIENCE):
            await asked.wait()
        status = service.status()
        group.cancel_scope.cancel()
    assert status["pending_work"][0] == "etcd at 127.0.0.1:2379 can't be asked yet: etcd Range: connection refused"
    assert not status["converged"]
    assert service._rates.busy_since is not None
    box_system.close()


@pytest.mark.parametrize(("compiler", "has_reports"), [("contrail", False), ("ambassador", True)])
async def test_only_a_compiler_of_kinds_that_can_be_mirrored_stores_reports_of_problems(
    mocker: MockerFixture, compiler: str, has_reports: bool
) -> None:
    """Others would ask an operator for a permission that they don't need."""
    configuration = Configuration(intentc=Intentc(compilers=(compiler,)))
    made = mocker.patch.object(service_module, "ProblemReports")
    service = service_module.build_service(
        configuration, installed(configuration), MemoryStore(), mocker.Mock(), mocker.Mock()
    )
    service.engine.close()
    assert made.called == has_reports
