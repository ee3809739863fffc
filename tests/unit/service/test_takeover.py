"""From standby to leader and back (docs/engine.md §9), over the memory store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio
import pytest
from pytest_mock import MockerFixture

from intentc.engine.permission import STANDING_BY, UPGRADE
from intentc.leading import OtherLeader, PathClaimed, claim_path
from intentc.reconcile.failures import Fenced
from intentc.service.service import CompilerService
from intentc.service.takeover import TakeOver
from intentc.watch.keys import leader_key
from intentc.watch.protocol import Delete, Put
from tests.support.box_system import POOL, BoxSystem
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE
from tests.unit.service.compiler_service import service_of, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[FaultyStore]:
    box_system = BoxSystem()
    await box_system.offline.server.ensure_pool(POOL, 1, 1000)
    assert isinstance(box_system.store, FaultyStore)
    yield box_system.store


async def soon(condition: Callable[[], bool]) -> None:
    """Leases of two seconds end in real time."""
    with anyio.fail_after(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await anyio.sleep(0.01)


def leads(service: CompilerService) -> bool:
    return service.engine.may_write


async def test_one_of_two_leads_and_writes_and_the_other_plans_nothing_that_is_done(store: FaultyStore) -> None:
    first, second = BoxSystem(store), BoxSystem(store)
    async with serving(service_of(first, "one", elected=True)) as one:
        await soon(lambda: leads(one))
        async with serving(service_of(second, "two", elected=True)) as two:
            await first.boxes("a", "b", settle=False)
            await soon(lambda: one.engine.converged and two.engine.converged and two.engine.first_pass_complete)
            assert await first.contents() == {"a": "hello", "b": "hello"}
            assert second.write.log == []
            assert two.status()["leading"]["leader"] == "one"
            assert two.ready() == (True, ())


async def test_a_standby_takes_over_from_an_ended_leader_without_a_relist(
    store: FaultyStore,
) -> None:
    first, second = BoxSystem(store), BoxSystem(store)
    async with serving(service_of(second, "two", elected=True)) as two:
        async with serving(service_of(first, "one", elected=True)) as one:
            await soon(lambda: leads(one) or leads(two))
            await first.boxes("a", text="number", settle=False)
            await soon(lambda: one.engine.converged and two.engine.converged)
        await soon(lambda: leads(two))
        await first.boxes("b", text="number", settle=False)
        await first.boxes("c", settle=False)
        await soon(lambda: bool(second.write.log) and two.engine.converged)
        assert sorted((await first.numbers()).values()) == [1, 2]
        assert dict(two._source.counters.lists) == {"first": 1}


async def test_the_allocations_are_read_before_the_first_write_of_a_new_leader(store: FaultyStore) -> None:
    """A standby has not seen the numbers that the leader was given: it must not wish for others."""
    first, second = BoxSystem(store), BoxSystem(store)
    async with serving(service_of(second, "two", elected=True)) as two:
        await soon(lambda: leads(two))
        async with serving(service_of(first, "one", elected=True)):
            await first.boxes("a", "b", text="number", settle=False)
            await soon(lambda: two.engine.converged and len(second.write.log) == 4)
        again = BoxSystem(store)
        async with serving(service_of(again, "three", elected=True)) as three:
            await soon(lambda: three.engine.first_pass_complete)
            await second.boxes("c", text="number", settle=False)
            await soon(lambda: two.engine.converged and len(second.write.log) == 6)
            await two.takeover.end()  # type: ignore[union-attr]
            await soon(lambda: leads(three) and three.engine.converged)
            assert again.write.log == [], "everything was there, numbers included"


async def test_when_the_lease_is_gone_nothing_is_written_until_it_is_won_again(store: FaultyStore) -> None:
    box_system = BoxSystem(store)
    async with serving(service_of(box_system, "one", elected=True)) as one:
        await soon(lambda: leads(one))
        store.faults.unreachable = True
        await soon(lambda: STANDING_BY in box_system.engine.permission.withheld_for)
        assert not leads(one)
        store.faults.unreachable = False
        await soon(lambda: leads(one))
        await box_system.boxes("a", settle=False)
        await soon(lambda: one.engine.converged and bool(box_system.write.log))
        assert await box_system.contents() == {"a": "hello"}


async def test_another_version_with_too_many_planned_writes_waits_for_approval(store: FaultyStore) -> None:
    box_system = BoxSystem(store)
    async with serving(service_of(box_system, "one", elected=True)) as one:
        await soon(lambda: leads(one) and one.takeover is not None and one.takeover.takeovers == 1)
        await box_system.boxes("a", settle=False)
        await soon(lambda: one.engine.converged and bool(box_system.write.log))
    await box_system.boxes("b", "c", settle=False)
    newer = BoxSystem(store)
    async with serving(service_of(newer, "two", elected=True, most=1, version="2")) as two:
        await soon(lambda: UPGRADE in newer.engine.permission.withheld_for)
        assert not two.ready()[0]
        assert "max_writes_on_upgrade" in two.ready()[1][-1]
    assert newer.write.log == []


async def test_a_leadership_that_is_lost_before_the_upgrade_is_judged_withholds_nothing(
    store: FaultyStore, mocker: MockerFixture
) -> None:
    """The next one is judged: otherwise the process would lead, and never write."""
    box_system = BoxSystem(store)
    async with serving(service_of(box_system, "one", elected=True)) as one:
        await soon(lambda: leads(one) and one.takeover is not None and one.takeover.takeovers == 1)
    newer = BoxSystem(store)
    quiet = mocker.patch.object(type(newer.engine), "quiet", new_callable=mocker.PropertyMock, return_value=False)
    judging = mocker.spy(TakeOver, "_is_too_much")
    async with serving(service_of(newer, "two", elected=True, most=1, version="2")) as two:
        # Others ask whether it is quiet as well, also before it leads.
        await soon(lambda: judging.call_count > 0)
        store.faults.unreachable = True
        await soon(lambda: newer.engine.permission.withheld_for[STANDING_BY].startswith("not leading"))
        mocker.stop(quiet)
        store.faults.unreachable = False
        await soon(lambda: two.takeover is not None and two.takeover.takeovers == 1)
        assert UPGRADE not in newer.engine.permission.withheld_for
        assert newer.engine.may_write


async def test_another_version_with_few_planned_writes_takes_over(store: FaultyStore) -> None:
    box_system = BoxSystem(store)
    async with serving(service_of(box_system, "one", elected=True)) as one:
        await soon(lambda: leads(one) and one.takeover is not None and one.takeover.takeovers == 1)
    await box_system.boxes("b", settle=False)
    newer = BoxSystem(store)
    async with serving(service_of(newer, "two", elected=True, most=1, version="2")) as two:
        await soon(lambda: two.engine.converged and bool(newer.write.log))
    assert newer.write.log == ["create b"]


async def test_a_key_of_no_meaning_under_the_prefix_keeps_nobody_from_taking_over(store: FaultyStore) -> None:
    first, second = BoxSystem(store), BoxSystem(store)
    async with serving(service_of(second, "two", elected=True)) as two:
        async with serving(service_of(first, "one", elected=True)) as one:
            await soon(lambda: leads(one) or leads(two))
            await soon(lambda: two.engine.first_pass_complete)
            await store.transaction([], [Put("/contrail/x", b"")])
        await soon(lambda: leads(two))
        await first.boxes("a", settle=False)
        await soon(lambda: two.engine.converged and bool(second.write.log or first.write.log))


async def test_a_server_that_rejects_the_fence_of_a_leader_shows_in_readyz(store: FaultyStore) -> None:
    box_system = BoxSystem(store)
    async with serving(service_of(box_system, "one", elected=True)) as one:
        await soon(lambda: leads(one))
        box_system.write.failures["*"] = [Fenced(412, "fence is over")]
        await box_system.boxes("a", settle=False)
        await soon(lambda: not leads(one))
        assert any("rejects our fence" in reason for reason in one.ready()[1])
        await soon(lambda: one.engine.converged and "create a" in box_system.write.log[1:])
        assert one.ready() == (True, ())


async def test_the_name_of_an_installation_says_nothing_about_its_fence(store: FaultyStore) -> None:
    """The reason for which a leadership ends names the leader's key, and with it the installation."""
    box_system = BoxSystem(store)
    async with serving(service_of(box_system, "one", elected=True, installation="rejected-lab")) as one:
        takeover = one.takeover
        assert takeover is not None
        await soon(lambda: leads(one))
        await store.transaction([], [Delete(leader_key("rejected-lab"))])
        await soon(lambda: takeover.takeovers == 2 and leads(one))
        assert takeover.hindered == ""
        assert one.ready() == (True, ())


async def test_a_new_leader_whose_path_was_claimed_meanwhile_writes_nothing_and_ends(store: FaultyStore) -> None:
    """The store was put back to a time before the claim, say, and another installation was faster."""
    box_system = BoxSystem(store)
    await box_system.boxes("a", settle=False)

    async def claim() -> None:
        await claim_path(store, "contrail", "default", ["c"], "one")

    await claim_path(store, "contrail", "other", ["c"], "theirs")
    with pytest.raises(BaseExceptionGroup) as ended:
        with anyio.fail_after(60):
            await service_of(box_system, "one", elected=True, claim=claim).run()
    assert ended.group_contains(PathClaimed)
    assert box_system.write.log == []


async def test_a_new_leader_waits_while_another_installation_leads_that_has_claimed_no_path(store: FaultyStore) -> None:
    box_system = BoxSystem(store)
    await box_system.boxes("a", settle=False)
    tries: list[OtherLeader] = []

    async def claim() -> None:
        try:
            await claim_path(store, "contrail", "default", ["c"], "one")
        except OtherLeader as error:
            tries.append(error)
            raise

    lease = await store.grant_lease(600)
    await store.transaction([], [Put(leader_key("other"), b"{}", lease)])
    async with serving(service_of(box_system, "one", elected=True, claim=claim)) as one:
        await soon(lambda: len(tries) >= 2)
        assert box_system.write.log == []
        await store.revoke_lease(lease)
        await soon(lambda: leads(one) and "create a" in box_system.write.log)
