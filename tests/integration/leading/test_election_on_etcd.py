"""The election over a real etcd: restarted, frozen, compacted; and the fence as the API server has it compared."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.leading import Election, Leadership, caught_up
from intentc.watch.etcd import EtcdStore
from intentc.watch.keys import leader_key
from intentc.watch.lease_keeper import EtcdLeaseKeepers
from intentc.watch.protocol import Compare, Put, Relation, Target
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]

TTL = 60
"""No machine is too slow for that; tests that wait for the end of a lease take a shorter one."""
SHORT_TTL = 4


class Candidate:
    """One process, with the callbacks that it received."""

    def __init__(self, etcd: Etcd, installation: str, name: str, ttl: int = TTL, timeout: float = SHORT_TTL) -> None:
        self.store = EtcdStore([etcd.endpoint], timeout=timeout)
        self.won: list[Leadership] = []
        self.lost: list[str] = []
        self.election = Election(
            self.store,
            installation,
            name,
            ttl=ttl,
            versions={"contrail": "1"},
            on_won=self.won.append,
            on_lost=self.lost.append,
            keepers=EtcdLeaseKeepers([etcd.endpoint]),
        )

    @property
    def leads(self) -> bool:
        return self.election.fence() is not None


@asynccontextmanager
async def standing(*candidates: Candidate) -> AsyncIterator[None]:
    """All at work; the first one leads."""
    async with anyio.create_task_group() as group:
        for candidate in candidates:
            group.start_soon(candidate.election.run)
            await until(lambda: candidates[0].leads)
        yield
        group.cancel_scope.cancel()
    for candidate in candidates:
        await candidate.election.resign()
        await candidate.store.close()


@pytest.fixture
def installation() -> str:
    """Of this test alone: the etcd is shared."""
    return f"test-{uuid.uuid4()}"


async def fenced_write(store: EtcdStore, installation: str, fence: str) -> bool:
    """Whether a write with ``fence`` is taken, as the API server asks the store."""
    holds = Compare(leader_key(installation), Target.CREATE_REVISION, Relation.EQUAL, int(fence.rpartition("/")[2]))
    return (await store.transaction([holds], [Put(f"/{installation}/resource", b"")])).succeeded


async def test_only_the_present_leaders_fence_lets_a_write_in(
    etcd: Etcd, etcd_store: EtcdStore, installation: str
) -> None:
    first, second = (Candidate(etcd, installation, name) for name in "ab")
    async with standing(first, second):
        old = first.election.fence()
        assert old is not None
        assert await fenced_write(etcd_store, installation, old)
        await first.election.resign()
        await until(lambda: second.leads)
        assert not await fenced_write(etcd_store, installation, old)
        assert await fenced_write(etcd_store, installation, second.election.fence() or "")


async def test_a_leadership_outlasts_its_ttl(etcd: Etcd, installation: str) -> None:
    first, second = (Candidate(etcd, installation, name, ttl=SHORT_TTL) for name in "ab")
    async with standing(first, second):
        end = anyio.current_time() + 1.5 * SHORT_TTL
        while anyio.current_time() < end:  # the lapse of time is what is tried
            assert first.leads
            assert not second.leads
            await anyio.sleep(0.05)
        assert (len(first.won), first.lost) == (1, [])


async def test_a_restarted_etcd_leaves_the_leadership_or_ends_it_cleanly(fresh_etcd: Etcd) -> None:
    candidate = Candidate(fresh_etcd, "test", "a")
    async with standing(candidate):
        await anyio.to_thread.run_sync(fresh_etcd.kill)
        await anyio.to_thread.run_sync(fresh_etcd.start)
        await until(lambda: candidate.leads)
        assert len(candidate.lost) == len(candidate.won) - 1
        assert await fenced_write(candidate.store, "test", candidate.election.fence() or "")


async def test_while_etcd_is_frozen_the_leader_steps_down_and_leads_again_afterwards(fresh_etcd: Etcd) -> None:
    candidate = Candidate(fresh_etcd, "test", "a", ttl=SHORT_TTL)
    async with standing(candidate):
        fresh_etcd.suspend()
        await until(lambda: bool(candidate.lost))
        assert candidate.lost[-1] == "the lease could not be renewed in time"
        fresh_etcd.resume()
        await until(lambda: candidate.leads)
        assert candidate.won[-1].revision > candidate.won[0].revision


async def test_resigning_does_not_wait_for_an_etcd_that_says_nothing(fresh_etcd: Etcd) -> None:
    """How long it may take is proved in virtual time (``tests/unit/leading``)."""
    candidate = Candidate(fresh_etcd, "test", "a", timeout=9 * PATIENCE)
    async with standing(candidate):
        fresh_etcd.suspend()
        with anyio.fail_after(PATIENCE):
            await candidate.election.resign()
        assert candidate.lost == ["resigned"]
        fresh_etcd.resume()


async def test_a_standby_misses_nothing_when_the_end_of_the_key_is_compacted_away(fresh_etcd: Etcd) -> None:
    first, second = (Candidate(fresh_etcd, "test", name, ttl=9 * round(PATIENCE)) for name in "ab")
    store = EtcdStore([fresh_etcd.endpoint])
    async with standing(first, second):
        await until(lambda: second.election.leader() == "a")
        await first.election.resign()
        revision = (await store.transaction([], [Put("/other", b"")])).revision
        await store.compact(revision)
        await until(lambda: second.leads)
    await store.close()


async def test_caught_up_is_asked_of_the_store_as_it_is_now(etcd_store: EtcdStore, installation: str) -> None:
    first = (await etcd_store.transaction([], [Put(f"/{installation}/a", b"")])).revision
    last = (await etcd_store.transaction([], [Put(f"/{installation}/b", b"")])).revision
    assert await caught_up(etcd_store, f"/{installation}/", first) >= last
    assert await caught_up(etcd_store, f"/{installation}/", last) == 0
