"""Elections through cuts, lost answers, stopped processes and restored stores."""

from __future__ import annotations

import time
from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from intentc.leading import StoreKeeper
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Compare, Delete, LeaseNotFound, Operation, Put, TransactionResult
from tests.support.faulty_store import FaultyStore
from tests.unit.leading.candidates import KEY, TTL, Candidate, leader_item, standing, until
from tests.unit.leading.line import SLOW_SECONDS, Line
from tests.unit.leading.virtual_time import jump, now

pytestmark = pytest.mark.anyio

MARGIN = 2.0
"""A fifth of the ttl."""


async def test_a_process_that_was_stopped_has_no_fence_before_anything_of_it_has_run(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        assert first.election.fence()
        jump(3 * TTL)
        assert first.election.fence() is None
        assert first.election.expires_in() == 0
        assert first.lost == []  # nothing has run yet
        await until(lambda: bool(first.lost))


async def test_a_process_that_was_stopped_finds_the_one_that_took_over(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        first.line.renewals_cut = True
        await until(lambda: second.leads)
        first.line.renewals_cut = False
        await anyio.sleep(TTL)
        assert (first.leads, second.leads, first.election.leader()) == (False, True, "b")
        assert len(first.lost) == 1


async def test_without_renewals_the_leader_steps_down_before_its_lease_ends(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        await anyio.sleep(TTL)
        left = first.election.expires_in()
        begun = now()
        first.line.cut = True
        await until(lambda: not first.leads)
        assert first.lost == ["the lease could not be renewed in time"]
        assert now() - begun == pytest.approx(left, abs=0.02)
        assert await leader_item(store) is not None
        await anyio.sleep(MARGIN + 0.1)
        assert await leader_item(store) is None


async def test_a_store_that_answers_nothing_is_reported_until_it_answers_again(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        await anyio.sleep(TTL)
        assert first.election.unanswered_since() is None
        first.line.cut = True
        await until(lambda: not first.leads)
        since = first.election.unanswered_since()
        assert since is not None
        assert time.time() - since == pytest.approx(TTL - MARGIN, abs=0.5)
        await anyio.sleep(3 * TTL)
        assert first.election.unanswered_since() == since
        first.line.cut = False
        await until(lambda: first.leads)
        assert first.election.unanswered_since() is None


async def test_a_leader_whose_lease_is_gone_has_lost_at_once(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        item = await leader_item(store)
        assert item is not None
        store.faults.silence_watches()
        await store.revoke_lease(item.lease)
        assert await until(lambda: bool(first.lost)) < TTL / 2
        assert first.lost == ["the lease is lost"]


async def test_a_short_cut_costs_no_leadership(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        for _ in range(20):
            first.line.cut = True
            store.faults.cut_watches()
            await anyio.sleep(TTL / 3)
            first.line.cut = False
            await anyio.sleep(TTL)
        assert first.leads
        assert (first.lost, second.won) == ([], [])


async def test_a_standby_whose_watch_is_cut_takes_over_all_the_same(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        second.line.cut = True
        store.faults.cut_watches()
        await anyio.sleep(1)
        await first.election.resign()
        await anyio.sleep(1)
        second.line.cut = False
        assert await until(lambda: second.leads) < 5


async def test_a_standby_misses_nothing_when_the_end_of_the_key_is_compacted_away(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        second.line.cut = True
        store.faults.cut_watches()
        await first.election.resign()
        revision = 0
        for _ in range(10):
            revision = (await store.transaction([], [Put("/other", b"")])).revision
        await store.compact(revision)
        second.line.cut = False
        assert await until(lambda: second.leads) < 5


async def test_a_watch_that_hangs_costs_a_standby_no_more_than_its_patience(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        store.faults.silence_watches()
        await first.election.resign()
        assert await until(lambda: second.leads) <= TTL + 0.1


async def test_a_watch_that_loses_the_event_costs_no_more_either(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        store.faults.lose_next()
        await first.election.resign()
        assert await until(lambda: second.leads) <= TTL + 0.1


async def test_another_key_in_its_place_shows_the_end_that_was_missed(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        store.faults.lose_next()
        await store.transaction([], [Delete(KEY)])
        await store.transaction([], [Put(KEY, b"by hand")])
        assert await until(lambda: bool(first.lost)) < 0.1


async def test_the_time_that_an_answer_took_is_not_counted_as_held(store: FaultyStore) -> None:
    line = Line(store)
    line.slow = True
    sent = now()
    keeper = StoreKeeper(line, now, await store.grant_lease(TTL), TTL, sent)
    async with anyio.create_task_group() as group:
        group.start_soon(keeper.run)
        await until(lambda: keeper.held_until() > sent)
        assert now() == pytest.approx(sent + SLOW_SECONDS, abs=0.1)
        assert keeper.held_until() == pytest.approx(sent + TTL, abs=0.1)
        group.cancel_scope.cancel()


async def test_a_leader_that_another_replaced_while_its_watch_was_cut_has_lost(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        first.line.cut = True
        store.faults.cut_watches()
        await store.transaction([], [Delete(KEY)])
        await store.transaction([], [Put(KEY, b'{"process": "stranger"}')])
        first.line.cut = False
        await until(lambda: first.election.leader() == "stranger")
        assert len(first.lost) == 1


async def test_a_store_put_back_to_before_the_leadership_ends_it(store: FaultyStore) -> None:
    restore = store.faults.backup()
    for _ in range(20):
        await store.transaction([], [Put("/other", b"")])
    async with standing(store, "a") as (first,):
        restore()
        assert await until(lambda: bool(first.lost)) < 1
        await until(lambda: first.leads)
        assert len(first.won) == 2


@pytest.mark.parametrize("call", [2, 3], ids=["grant", "transaction"])
async def test_a_campaign_whose_answer_was_lost_is_won_all_the_same(store: FaultyStore, call: int) -> None:
    candidate = Candidate(store, "a")

    def lose_the_answer() -> None:
        candidate.line.lose_answers = candidate.line.calls == call

    candidate.line.before_call = lose_the_answer
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        assert await until(lambda: candidate.leads) < 1
        item = await leader_item(store)
        assert item is not None
        assert candidate.won[0].revision == item.create_revision
        await anyio.sleep(3 * TTL)
        assert candidate.lost == []
        group.cancel_scope.cancel()


async def test_an_unknown_campaign_is_read_back_until_the_store_answers(store: FaultyStore) -> None:
    candidate = Candidate(store, "a")
    line = candidate.line

    def cut_after_the_transaction() -> None:
        line.lose_answers = line.calls == 3
        line.cut = line.calls > 3 and now() < TTL / 2

    line.before_call = cut_after_the_transaction
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        await until(lambda: candidate.leads)
        assert len(candidate.won) == 1
        assert TTL / 2 < now() < TTL - MARGIN
        group.cancel_scope.cancel()


async def test_a_campaign_that_arrives_late_finds_its_lease_revoked(store: FaultyStore) -> None:
    candidate = Candidate(store, "a")
    candidate.line.hold_back = 1
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        await until(lambda: candidate.leads)
        await candidate.election.resign()
        with pytest.raises(LeaseNotFound):
            await candidate.line.deliver()
        assert await leader_item(store) is None
        group.cancel_scope.cancel()


async def test_a_store_that_rejects_to_write_is_not_filled_with_leases(
    store: FaultyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate = Candidate(store, "a")
    transaction, rejected = candidate.line.transaction, 0

    async def rejecting(compares: Sequence[Compare], *branches: Sequence[Operation]) -> TransactionResult:
        nonlocal rejected
        if not compares:
            return await transaction(compares, *branches)
        rejected += 1
        raise Failure("database space exceeded")

    monkeypatch.setattr(candidate.line, "transaction", rejecting)
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        await until(lambda: rejected == 10)
        await anyio.lowlevel.checkpoint()
        assert len(store._leases) <= 1
        group.cancel_scope.cancel()


async def test_an_outage_is_logged_once_and_its_end_too(store: FaultyStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "intentc.leading")
    store.faults.unreachable = True
    candidate = Candidate(store, "a")
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        await anyio.sleep(300)
        assert 80 < candidate.line.calls < 300  # at most each 3 s, cut by chance to three quarters
        store.faults.unreachable = False
        await until(lambda: candidate.leads)
        group.cancel_scope.cancel()
    levels = [record.levelname for record in caplog.records if "etcd" in record.message]
    assert levels == ["WARNING", "INFO"]


async def test_a_key_that_somebody_keeps_deleting_does_not_keep_a_core_busy(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        for _ in range(1_000):
            await store.transaction([], [Delete(KEY)])
            await anyio.sleep(0.1)
        assert len(first.won) < 100
        assert first.lost == [f"{KEY} is not ours any more"] * len(first.lost)
