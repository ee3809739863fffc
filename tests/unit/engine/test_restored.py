"""After a store was restored to an older state, nothing is written before everything is evaluated (F10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import pytest
from pytest_mock import MockerFixture

from intentc.engine.permission import RESTORED
from intentc.model import Batch, Change
from intentc.offline.audit import Difference, Report
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Unavailable
from intentc.service.audits import AuditFailed, PeriodicAudit
from tests.support.box_system import BoxSystem
from tests.support.engine_status import engine_status
from tests.support.faulty_store import faults_of
from tests.support.waiting import PATIENCE
from tests.unit.service.compiler_service import service_of, serving

pytestmark = pytest.mark.anyio


async def soon(condition: Callable[[], bool]) -> None:
    """Back-offs pass in real time."""
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.005)


async def test_writes_that_a_backup_lacks_are_repeated_after_a_full_pass(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    restore()
    box_system.write.log.clear()
    await box_system.relist()
    assert box_system.write.log == ["create a"]
    assert box_system.engine.restore_guard.times == 1
    assert box_system.engine.may_write


async def test_nothing_is_written_until_whoever_audits_gives_permission(box_system: BoxSystem) -> None:
    box_system.engine.restore_guard.require_confirmation()
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    restore()
    box_system.write.log.clear()
    await box_system.relist()
    assert box_system.write.log == []
    with anyio.fail_after(PATIENCE):
        await box_system.engine.restore_guard.wait_until_evaluated()
    assert box_system.engine.first_pass_complete, "compared is what is evaluated"
    assert not engine_status(box_system.engine)["healthy"]
    box_system.engine.lift(RESTORED)
    await box_system.offline.settle()
    assert box_system.write.log == ["create a"]


async def test_the_audit_is_notified_although_the_next_change_arrives_at_once(box_system: BoxSystem) -> None:
    """In a store that always changes, everything is evaluated only for moments."""
    box_system.engine.restore_guard.require_confirmation()
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    compared = asyncio.create_task(box_system.engine.restore_guard.wait_until_evaluated())
    await anyio.wait_all_tasks_blocked()
    key = await box_system.key("box", "a")
    restore()
    await box_system.relist(settle=False)
    change = Change(key.kind, key.uuid, b'{"fq_name":["a"],"text":"other"}', 1, box_system.engine.revision + 1)
    await box_system.engine.apply_item(Batch(box_system.engine.revision + 1, (change,)))
    assert not compared.done(), "no other task had a turn since"
    await anyio.wait_all_tasks_blocked()
    assert compared.done()


async def test_the_audit_is_notified_again_only_after_the_next_restore(box_system: BoxSystem) -> None:
    box_system.engine.restore_guard.require_confirmation()
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    for restores in (1, 2):
        compared = asyncio.create_task(box_system.engine.restore_guard.wait_until_evaluated())
        await anyio.wait_all_tasks_blocked()
        assert not compared.done()
        restore()
        await box_system.relist()
        await anyio.wait_all_tasks_blocked()
        assert compared.done()
        assert box_system.engine.restore_guard.times == restores
        with anyio.fail_after(PATIENCE):
            await box_system.engine.restore_guard.wait_until_evaluated()  # as long as nobody has allowed writes
        box_system.engine.lift(RESTORED)
        await box_system.offline.settle()


async def test_nothing_is_written_while_the_allocations_of_a_restored_store_cannot_be_read(
    mocker: MockerFixture,
) -> None:
    """Those of before the restore would give one number to two owners. A failed read backs off, and is idle then."""
    box_system = await BoxSystem().begin()
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    async with serving(service_of(box_system)):
        await soon(lambda: box_system.engine.world.named("part", ("a", "one")) is not None)
        failing = mocker.patch.object(
            type(box_system.offline.local), "all_allocations", side_effect=Unavailable("it restarts as well")
        )
        restore()
        faults_of(box_system.offline.store).cut_watches()
        await soon(lambda: failing.await_count > 1)
        assert RESTORED in box_system.engine.permission.withheld_for
        assert box_system.write.log == ["create a"]
        mocker.stop(failing)
        await soon(lambda: box_system.write.log == ["create a", "create a"])


async def test_a_restore_is_noticed_although_others_have_written_past_our_revision_since(box_system: BoxSystem) -> None:
    """By a key whose last write is older than the one that we have seen: revisions of a key never go back."""
    await box_system.boxes("a")
    restore = faults_of(box_system.offline.store).backup()
    await box_system.change("a", text="bye")
    seen = box_system.engine.revision
    restore()
    for number in range(20):
        await box_system.boxes(f"box-{number}", settle=False)
    await box_system.relist()
    assert box_system.engine.revision > seen
    assert box_system.engine.restore_guard.times == 1
    assert (await box_system.contents())["a"] == "hello"


async def test_a_listing_after_a_gap_is_no_restore(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="bye", settle=False)
    await box_system.relist()
    assert box_system.engine.restore_guard.times == 0


async def test_a_service_audits_a_restored_store_before_it_writes() -> None:
    box_system = await BoxSystem().begin()
    audited, may_end = anyio.Event(), anyio.Event()

    async def spawn() -> Report:
        audited.set()
        await may_end.wait()
        return Report(revision=box_system.engine.revision)

    service = service_of(box_system, auditing=PeriodicAudit(box_system.engine, spawn, period=0.0))
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    async with serving(service):
        with anyio.fail_after(PATIENCE):
            # Asked for is not made: what the restore takes back must have been seen first.
            await soon(lambda: box_system.engine.world.named("part", ("a", "one")) is not None)
            assert box_system.write.log == ["create a"]
            restore()
            faults_of(box_system.offline.store).cut_watches()
            await audited.wait()
        assert box_system.write.log == ["create a"]
        assert not service.ready()[0]
        may_end.set()
        await soon(lambda: RESTORED not in box_system.engine.permission.withheld_for)
        with anyio.fail_after(PATIENCE):
            await box_system.engine.settled()
    assert box_system.write.log == ["create a", "create a"]


async def test_a_second_restore_during_the_audit_of_the_first_is_audited_too() -> None:
    box_system = await BoxSystem().begin()
    audits: list[anyio.Event] = []

    async def spawn() -> Report:
        audits.append(anyio.Event())
        await audits[-1].wait()
        return Report(revision=box_system.engine.revision)

    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    async with serving(service_of(box_system, auditing=PeriodicAudit(box_system.engine, spawn, period=0.0))):
        # Asked for is not made: what a restore should take back must have been seen first.
        await soon(lambda: box_system.engine.world.named("part", ("a", "one")) is not None)
        restore()
        await soon(lambda: len(audits) == 1)
        await box_system.boxes("b", settle=False)
        b = await box_system.key("box", "b")
        await soon(lambda: box_system.engine.world.exists(b))
        restore()
        await soon(lambda: box_system.engine.restore_guard.times == 2)
        audits[0].set()
        await soon(lambda: len(audits) == 2)
        assert RESTORED in box_system.engine.permission.withheld_for
        audits[1].set()
        await soon(lambda: RESTORED not in box_system.engine.permission.withheld_for)


async def test_the_journal_holds_nothing_of_the_future_that_never_was(box_system: BoxSystem) -> None:
    """Its revisions will be given out again; an audit that compared with them would never come to a verdict."""
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    for number in range(10):
        await box_system.boxes(f"box-{number}")
    restore()
    await box_system.relist()
    assert len(box_system.engine.journal)
    assert all(line.revision <= box_system.engine.revision for line in box_system.engine.journal)


@pytest.mark.parametrize("result", [None, Report(revision=1_000, differences=(Difference("part", "a", (), (), ()),))])
async def test_an_audit_of_a_restored_store_that_fails_or_judges_nothing_is_made_again(
    result: Report | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.service.audits.periodic._AGAIN", Backoff(0.001, 0.01))
    box_system = await BoxSystem().begin()
    audits = 0

    async def spawn() -> Report:
        nonlocal audits
        audits += 1
        assert RESTORED in box_system.engine.permission.withheld_for
        if audits == 3:
            return Report(revision=box_system.engine.revision)
        if result is None:
            raise AuditFailed("no memory left")
        return result

    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    auditing = PeriodicAudit(box_system.engine, spawn, period=0.0, patience=0.01)
    async with serving(service_of(box_system, auditing=auditing)):
        await soon(lambda: box_system.engine.world.named("part", ("a", "one")) is not None)
        restore()
        faults_of(box_system.offline.store).cut_watches()
        await soon(lambda: audits == 3 and RESTORED not in box_system.engine.permission.withheld_for)
