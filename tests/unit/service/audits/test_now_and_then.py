"""When audits are made: every period, on demand, one at a time; and what becomes of one that fails."""

from __future__ import annotations

import anyio
import msgspec
import pytest

from intentc import crashpoints
from intentc.loading.configuration.setting_types import Seconds
from intentc.offline.audit import Report
from intentc.service.audits import AuditFailed, PeriodicAudit
from tests.support.box_system import BoxSystem
from tests.support.waiting import until
from tests.unit.service.audits.audited_system import Start

pytestmark = pytest.mark.anyio


class Audits:
    """A ``Spawn`` that answers what the test wants: as many failures first as ``failing``."""

    def __init__(self, failing: int = 0) -> None:
        self.failing = failing
        self.began = 0
        self.at_once = 0
        self.most_at_once = 0

    async def __call__(self) -> Report:
        self.began += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await anyio.lowlevel.checkpoint()
        self.at_once -= 1
        if self.began <= self.failing:
            raise AuditFailed("as the test asked for")
        return Report(revision=7)


def auditing(audits: Audits, *, period: float) -> PeriodicAudit:
    return PeriodicAudit(BoxSystem().engine, audits, period=period, chance=lambda: 0.5)


async def test_an_audit_is_made_every_period_and_one_that_fails_is_not_the_last() -> None:
    audits = Audits(failing=1)
    periodic = auditing(audits, period=0.001)
    async with anyio.create_task_group() as group:
        group.start_soon(periodic.run)
        await until(lambda: periodic.figures()["runs"] >= 2)
        group.cancel_scope.cancel()
    figures = periodic.figures()
    assert figures["failures"] == 1
    assert figures["last_result"] == "equal"
    assert figures["last_revision"] == 7


async def test_the_first_one_is_made_a_part_of_a_period_after_the_start() -> None:
    audits = Audits()
    with anyio.move_on_after(0.05):
        await auditing(audits, period=3600.0).run()
    assert audits.began == 0


async def test_with_a_period_of_0_there_are_none_but_those_on_demand() -> None:
    audits = Audits()
    periodic = auditing(audits, period=0.0)
    async with anyio.create_task_group() as group:
        group.start_soon(periodic.run)
        await anyio.wait_all_tasks_blocked()
        assert audits.began == 0
        assert (await periodic.once("a test")).revision == 7
        group.cancel_scope.cancel()


def test_its_figures_can_be_reported_as_json_with_the_period_of_a_configuration() -> None:
    figures = msgspec.json.decode(msgspec.json.encode(auditing(Audits(), period=Seconds.parse("90m")).figures()))
    assert figures["period"] == 5400.0


async def test_audits_that_are_asked_for_at_once_are_made_one_after_the_other() -> None:
    audits = Audits()
    periodic = auditing(audits, period=0.0)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(periodic.once, "a test")
    assert (audits.began, audits.most_at_once) == (3, 1)


async def test_one_that_fails_says_so() -> None:
    periodic = auditing(Audits(failing=1), period=0.0)
    with pytest.raises(AuditFailed, match="as the test asked for"):
        await periodic.once("a test")
    figures = periodic.figures()
    assert (figures["runs"], figures["failures"], figures["last_result"]) == (0, 1, "failed")
    assert figures["last_error"] == "as the test asked for"
    await periodic.once("a test")
    assert (periodic.figures()["last_result"], periodic.figures()["last_error"]) == ("equal", None)


async def test_its_beginning_is_a_crash_point(start: Start) -> None:
    reached: list[str] = []
    system = await start(healing=True)
    crashpoints.install(reached.append)
    try:
        await system.auditing.once("a test")
    finally:
        crashpoints.install(None)
    assert "audit.begun" in reached
