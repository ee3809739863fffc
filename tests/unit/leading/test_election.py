"""Which process leads, and when another takes over (docs/engine.md §9)."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from intentc import crashpoints
from intentc.leading import Election
from intentc.watch.protocol import Delete, Put
from tests.support.faulty_store import FaultyStore
from tests.unit.leading.candidates import KEY, TTL, Candidate, leader_item, standing, until
from tests.unit.leading.virtual_time import now

pytestmark = pytest.mark.anyio


async def test_exactly_one_of_two_candidates_leads(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        await anyio.sleep(10 * TTL)
        assert first.leads
        assert not second.leads
        assert (len(first.won), len(second.won), first.lost) == (1, 0, [])


async def test_the_fence_is_the_create_revision_of_the_leaders_key(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        item = await leader_item(store)
        assert item is not None
        assert first.election.fence() == f"test/{item.create_revision}"
        assert first.won[0].revision == item.create_revision


async def test_everybody_knows_who_leads(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        assert [first.election.leader(), second.election.leader()] == ["a", "a"]
        await first.election.resign()
        await until(lambda: second.leads)
        assert second.election.leader() == "b"


async def test_a_killed_leader_is_replaced_when_its_lease_ends(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        await anyio.sleep(TTL)
        first.kill()
        waited = await until(lambda: second.leads)
        assert TTL / 2 < waited < TTL + 0.5
        assert second.won[0].revision > first.won[0].revision


async def test_a_leader_that_resigns_is_replaced_at_once(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        await first.election.resign()
        assert not first.leads
        assert await until(lambda: second.leads) < 0.1
        assert first.lost == ["resigned"]


async def test_resigning_takes_two_seconds_at_most_though_the_store_is_slower(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        first.line.slow = True
        begun = now()
        await first.election.resign()
        assert 1.9 < now() - begun < 2.1
        assert first.lost == ["resigned"]
        first.line.slow = False


async def test_a_resigned_leader_does_not_stand_again(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        await first.election.resign()
        await first.election.resign()
        await anyio.sleep(3 * TTL)
        assert len(first.won) == 1
        assert first.lost == ["resigned"]
        assert await leader_item(store) is None


async def test_a_candidate_that_resigns_before_it_runs_never_leads(store: FaultyStore) -> None:
    candidate = Candidate(store, "a")
    await candidate.election.resign()
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        await anyio.sleep(TTL)
        assert candidate.won == []
        group.cancel_scope.cancel()


@pytest.mark.parametrize("call", [1, 2, 3, 4, 5])
async def test_resigning_at_any_call_of_the_campaign_leaves_no_leader(store: FaultyStore, call: int) -> None:
    candidate = Candidate(store, "a")  # reads, grants, puts, watches and renews
    async with anyio.create_task_group() as group:

        def resign_at_call() -> None:
            if candidate.line.calls == call:
                group.start_soon(candidate.election.resign)

        candidate.line.before_call = resign_at_call
        group.start_soon(candidate.live)
        await anyio.sleep(1)
        assert candidate.line.calls >= call
        assert not candidate.leads
        assert len(candidate.won) == len(candidate.lost)
        assert await leader_item(store) is None
        group.cancel_scope.cancel()


async def test_on_won_is_not_called_after_a_resignation_during_the_answer(store: FaultyStore) -> None:
    candidate = Candidate(store, "a")
    answer = candidate.line.gate = asyncio.get_running_loop().create_future()
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        await until(lambda: candidate.line.calls == 1)
        answer.set_result(None)
        candidate.line.gate = answer = asyncio.get_running_loop().create_future()
        await until(lambda: candidate.line.calls == 3)
        answer.set_result(None)
        await candidate.election.resign()
        await anyio.sleep(1)
        assert candidate.won == []
        assert await leader_item(store) is None
        group.cancel_scope.cancel()


async def test_processes_of_one_name_are_distinguished(store: FaultyStore) -> None:
    async with standing(store, "a", "a", "a") as (first, second, third):
        await first.election.resign()
        await anyio.sleep(3 * TTL)
        assert sorted([second.leads, third.leads]) == [False, True]
        assert len(second.won) + len(third.won) == 1


async def test_an_election_that_its_task_group_ended_reports_once_and_can_resign(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        first.kill()
        await until(lambda: bool(first.lost))
        assert await leader_item(store) is not None
        await first.election.resign()
        assert await leader_item(store) is None
        assert first.lost == ["the election was ended"]


async def test_a_leader_whose_key_is_deleted_loses_and_wins_with_a_newer_fence(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        fence = first.election.fence()
        await store.transaction([], [Delete(KEY)])
        assert await until(lambda: bool(first.lost)) < 0.1
        assert first.lost == [f"{KEY} is not ours any more"]
        await until(lambda: first.leads)
        assert first.won[1].revision > first.won[0].revision
        assert first.election.fence() != fence


async def test_a_key_put_by_another_hand_is_not_taken_for_our_own(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with standing(store, "a") as (first,):
        await store.transaction([], [Delete(KEY)])
        await store.transaction([], [Put(KEY, b"by hand")])
        await until(lambda: first.election.leader() == "unknown")
        await anyio.sleep(3 * TTL)
        assert (len(first.won), len(first.lost), first.leads) == (1, 1, False)
        assert f"{KEY} has no lease" in caplog.text


async def test_winning_and_losing_are_crash_points(store: FaultyStore) -> None:
    reached: list[tuple[str, int]] = []
    crashpoints.install(lambda point: reached.append((point, len(candidate.won))))
    candidate = Candidate(store, "a")
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(candidate.live)
            await until(lambda: candidate.leads)
            await candidate.election.resign()
            group.cancel_scope.cancel()
    finally:
        crashpoints.install(None)
    assert reached == [("lease.won", 0), ("lease.lost", 1)]


async def test_the_leaders_key_has_a_lease_and_says_who_leads_since_when(store: FaultyStore) -> None:
    async with standing(store, "a"):
        item = await leader_item(store)
        assert item is not None
        assert item.lease
        assert b'"process": "a"' in item.value
        assert b'"versions": {"contrail": "1"}' in item.value


async def test_a_lease_too_short_to_be_kept_is_rejected(store: FaultyStore) -> None:
    with pytest.raises(ValueError, match="too short"):
        Election(store, "test", "a", ttl=1, versions={}, on_won=print, on_lost=print, clock=now)
