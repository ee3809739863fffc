"""The effects of a fence that the API server rejects, and what a leader records for the next."""

from __future__ import annotations

import anyio
import pytest

from intentc.leading import caught_up
from intentc.watch.keys import versions_key
from intentc.watch.protocol import Delete, Put
from tests.support.faulty_store import FaultyStore
from tests.unit.leading.candidates import KEY, TTL, Candidate, standing, until

pytestmark = pytest.mark.anyio


async def test_a_rejected_fence_ends_the_lead_at_once_and_is_logged(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with standing(store, "a", "b") as (first, second):
        fence = first.election.fence()
        assert fence is not None
        first.election.invalidate(fence)
        assert first.election.fence() is None
        assert first.lost == ["the API server rejected the fence"]
        assert await until(lambda: second.leads) < 0.1
        assert f"rejects fence {fence}" in caplog.text
        assert "etcd.endpoints" in caplog.text


async def test_after_a_rejection_nobody_stands_here_for_a_ttl(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        first.election.invalidate(first.election.fence() or "")
        assert TTL <= await until(lambda: first.leads) < TTL + 1


async def test_a_fence_that_is_no_longer_current_is_passed_over(store: FaultyStore) -> None:
    async with standing(store, "a") as (first,):
        old = first.election.fence()
        assert old is not None
        await store.transaction([], [Delete(KEY)])
        await until(lambda: len(first.won) == 2)
        first.election.invalidate(old)
        await anyio.sleep(1)
        assert first.leads


async def test_a_fence_that_was_rejected_rightly_is_stood_for_again_soon(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with standing(store, "a") as (first,):
        store.faults.silence_watches()  # so that the rejection is the first that is heard of it
        await store.transaction([], [Delete(KEY)])
        first.election.invalidate(first.election.fence() or "")
        assert await until(lambda: first.leads) < 1
        assert "etcd.endpoints" not in caplog.text


async def test_a_leader_gets_the_versions_that_the_last_one_recorded(store: FaultyStore) -> None:
    first, second = Candidate(store, "a", version="1"), Candidate(store, "b", version="2")
    async with anyio.create_task_group() as group:
        group.start_soon(first.live)
        await until(lambda: first.leads)
        assert first.won[0].previous_versions is None
        assert await first.election.record_versions(first.won[0])
        group.start_soon(second.live)
        await first.election.resign()
        await until(lambda: second.leads)
        assert second.won[0].previous_versions == {"contrail": "1"}
        group.cancel_scope.cancel()


async def test_a_former_leader_records_no_versions(store: FaultyStore) -> None:
    async with standing(store, "a", "b") as (first, second):
        await first.election.resign()
        await until(lambda: second.leads)
        assert not await first.election.record_versions(first.won[0])
        assert not (await store.range(versions_key("test"))).items


@pytest.mark.parametrize("value", [b"no json", b"[]"])
async def test_versions_that_nobody_can_read_count_as_never_recorded(store: FaultyStore, value: bytes) -> None:
    await store.transaction([], [Put(versions_key("test"), value)])
    async with standing(store, "a") as (first,):
        assert first.won[0].previous_versions is None


async def test_caught_up_is_who_has_applied_the_last_write_under_the_prefix(store: FaultyStore) -> None:
    written = (await store.transaction([], [Put("/contrail/a", b"")])).revision
    last = (await store.transaction([], [Put("/contrail/b", b"")])).revision
    assert await caught_up(store, "/contrail/", written) == last
    assert await caught_up(store, "/contrail/", last) == 0


async def test_writes_below_other_prefixes_leave_nobody_behind(store: FaultyStore) -> None:
    last = (await store.transaction([], [Put("/contrail/a", b"")])).revision
    await store.transaction([], [Put("/intentc/test/heartbeat/a", b"")])
    assert await caught_up(store, "/contrail/", last) == 0
