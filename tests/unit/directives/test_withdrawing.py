"""Directives that are done are withdrawn, by the leader only."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from pytest_mock import MockerFixture

from intentc.directives import AllowDeletes, Book, Drop, Pause, Retry, Suspect
from intentc.model import Key
from intentc.reconcile.failures import Denied
from tests.simulation.simulated_clock import SimulatedLoop, now
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import until
from tests.unit.directives.recorded_actions import INSTALLATION, Process

pytestmark = pytest.mark.anyio

U = Key("net", "u")
SUSPECT = Suspect(kind="net", uuid="u", mod_revision=3)
DROP = Drop(kind="net", uuid="u", mod_revision=3)


class Left:
    """The sorts of the directives that are left, asked without disturbing anybody."""

    def __init__(self, store: FaultyStore) -> None:
        self._store = store

    def __call__(self) -> list[str]:
        found: dict[str, bool] = {}
        for batch in self._store.batches(f"/intentc/{INSTALLATION}/directives/", 0):
            for item, deleted in batch.events:
                found[item.key.split("/")[4]] = not deleted
        return [sort for sort, there in found.items() if there]


@pytest.fixture
def left(store: FaultyStore) -> Left:
    return Left(store)


async def test_an_approval_of_deletions_is_carried_out_once_and_withdrawn(
    store: FaultyStore, book: Book, left: Left
) -> None:
    process = Process(store)
    process.actions.withheld = {"net": 70}
    async with process.obeying():
        await book.put(AllowDeletes(kind="net"))
        await until(lambda: process.actions.withheld == {} and left() == [])
        assert process.actions.calls == [("allow_deletes", "net")]


async def test_an_approval_of_deletions_waits_for_the_first_pass(store: FaultyStore, book: Book, left: Left) -> None:
    process = Process(store, settled=False)
    await book.put(AllowDeletes(kind="net"))
    await book.put(Retry())
    async with process.obeying():
        await until(lambda: left() == ["allow-deletes"])
        assert process.actions.calls == [("retry", None)]
        process.actions.withheld = {"net": 70}
        process.first_pass_complete = True
        await until(lambda: process.actions.withheld == {} and left() == [])


async def test_an_approval_without_withheld_deletions_has_no_later_effect(
    store: FaultyStore, book: Book, left: Left
) -> None:
    async with Process(store).obeying():
        await book.put(AllowDeletes(kind="net"))
        await until(lambda: left() == [])


async def test_a_retry_is_pulled_once_and_withdrawn(store: FaultyStore, book: Book, left: Left) -> None:
    async with Process(store).obeying() as process:
        await book.put(Retry(kind="net", uuid="u"))
        await until(lambda: ("retry", U) in process.actions.calls and left() == [])
        assert process.actions.calls.count(("retry", U)) == 1


async def test_what_a_retry_ended_is_withdrawn_with_it(store: FaultyStore, book: Book, left: Left) -> None:
    await book.put(SUSPECT)
    async with Process(store).obeying() as process:
        await book.put(Retry())
        await until(lambda: left() == [])
        assert process.actions.suspected == {}


@pytest.mark.parametrize("directive", [SUSPECT, DROP])
async def test_a_hold_until_a_change_is_withdrawn_after_the_change(
    store: FaultyStore, book: Book, left: Left, directive: Suspect | Drop
) -> None:
    await book.put(directive)
    async with Process(store).obeying() as process:
        process.actions.newest[U] = 3
        await until(lambda: process.changes >= 1)
        assert left() == [directive.sort]
        process.actions.newest[U] = 9
        await until(lambda: left() == [])
        await until(lambda: not (process.actions.suspected or process.actions.dropped))


async def test_whether_a_resource_changed_is_asked_only_when_the_world_is_known(
    store: FaultyStore, book: Book, left: Left
) -> None:
    await book.put(SUSPECT)
    await book.put(Retry(kind="net", uuid="other"))
    process = Process(store, settled=False)
    process.actions.newest[U] = 9
    async with process.obeying():
        await until(lambda: left() == ["suspect"])
        process.first_pass_complete = True
        await until(lambda: left() == [])


async def test_a_standby_obeys_and_withdraws_nothing_until_it_leads(store: FaultyStore, book: Book, left: Left) -> None:
    standby = Process(store, leads=False)
    standby.actions.withheld = {"net": 70}
    standby.actions.newest[U] = 9
    for directive in (Pause(kind="net", uuid="u"), SUSPECT, AllowDeletes(kind="net"), Retry()):
        await book.put(directive)
    async with standby.obeying():
        await until(lambda: standby.actions.withheld == {} and standby.changes >= 1)
        assert left() == ["pause", "suspect", "allow-deletes", "retry"]
        standby.may_write = True
        await until(lambda: left() == ["pause"])


async def test_a_directive_stored_again_during_its_withdrawal_is_obeyed(
    store: FaultyStore, book: Book, left: Left
) -> None:
    process = Process(store, leads=False)
    async with process.obeying():
        await book.put(Retry())
        await until(lambda: process.actions.calls == [("retry", None)])
        await book.put(Retry())
        process.may_write = True
        await until(lambda: left() == [])
        assert process.actions.calls == [("retry", None)] * 2


async def test_a_store_that_accepts_no_writes_is_logged_once_and_tried_again(
    store: FaultyStore, book: Book, left: Left, caplog: pytest.LogCaptureFixture
) -> None:
    process = Process(store, leads=False)
    async with process.obeying():
        await book.put(Retry())
        await until(lambda: process.actions.calls == [("retry", None)])
        store.faults.unreachable = True
        process.may_write = True
        await until(lambda: "can't be withdrawn" in caplog.text)
        store.faults.unreachable = False
        await until(lambda: left() == [])
        assert caplog.text.count("can't be withdrawn") == 1


async def test_two_processes_come_to_the_same(store: FaultyStore, book: Book, left: Left) -> None:
    leader, standby = Process(store), Process(store, leads=False)
    await book.put(Pause(kind="net", uuid="v"))
    await book.put(SUSPECT)
    async with leader.obeying(), standby.obeying():
        await book.put(Retry(kind="net", uuid="u"))
        await until(lambda: left() == ["pause"] and not standby.actions.suspected)
        assert leader.actions.paused == standby.actions.paused != {}
        assert leader.actions.suspected == {}


@pytest.mark.parametrize("anyio_backend", [("asyncio", {"loop_factory": SimulatedLoop})], ids=["simulated time"])
async def test_a_denied_withdrawal_delays_no_approval(
    store: FaultyStore, book: Book, mocker: MockerFixture, anyio_backend: tuple[str, dict[str, Any]]
) -> None:
    denied = mocker.patch.object(Book, "withdraw", side_effect=Denied("permission denied"))
    process = Process(store, settled=False)
    await book.put(AllowDeletes(kind="net"))
    await book.put(Retry())
    async with process.obeying():
        await anyio.sleep(100)
        assert denied.call_count > 5
        process.actions.withheld = {"net": 70}
        process.first_pass_complete, began = True, now()
        while process.actions.withheld:  # noqa: ASYNC110 - in simulated time
            await anyio.sleep(0.01)
        assert now() - began < 1
