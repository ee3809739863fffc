"""A successor on the same machine does not wait for the lease of a leader that has died, and never deposes another."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from intentc.leading.process_identity import ProcessIdentity
from intentc.watch.protocol import Put
from tests.support.faulty_store import FaultyStore
from tests.unit.leading.candidates import KEY, TTL, Candidate, leader_item, process_on, until

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def led_by(store: FaultyStore, identity: ProcessIdentity | None) -> AsyncIterator[Candidate]:
    """A leader of this identity, at work."""
    leader = Candidate(store, "first", identity=identity)
    async with anyio.create_task_group() as group:
        group.start_soon(leader.live)
        await until(lambda: leader.leads)
        yield leader
        group.cancel_scope.cancel()


@asynccontextmanager
async def successor(store: FaultyStore, identity: ProcessIdentity) -> AsyncIterator[Candidate]:
    candidate = Candidate(store, "second", identity=identity)
    async with anyio.create_task_group() as group:
        group.start_soon(candidate.live)
        yield candidate
        group.cancel_scope.cancel()


async def test_a_successor_on_the_same_machine_leads_at_once_after_a_crash(store: FaultyStore) -> None:
    async with led_by(store, process_on("west")) as first:
        dead = await leader_item(store)
        first.kill()
        async with successor(store, process_on("west")) as second:
            assert await until(lambda: second.leads) < 0.1
            assert dead is not None
            assert second.won[0].revision > dead.create_revision
            assert await store.keep_lease_alive(dead.lease) == 0


async def test_a_standby_on_the_same_machine_notices_the_crash_by_itself(store: FaultyStore) -> None:
    async with led_by(store, process_on("west")) as first, successor(store, process_on("west")) as second:
        await anyio.sleep(TTL)
        first.kill()
        assert await until(lambda: second.leads) < 1


@pytest.mark.parametrize("known", [True, False])
async def test_a_crash_elsewhere_or_of_an_unknown_process_is_noticed_by_the_lease(
    store: FaultyStore, known: bool
) -> None:
    async with led_by(store, process_on("east") if known else None) as first:
        first.kill()
        async with successor(store, process_on("west")) as second:
            assert await until(lambda: second.leads) > TTL / 2


async def test_a_leader_that_lives_is_never_deposed(store: FaultyStore) -> None:
    async with led_by(store, process_on("west")) as first, successor(store, process_on("west")) as second:
        await anyio.sleep(10 * TTL)
        assert (first.leads, second.won, first.lost) == (True, [], [])


async def test_a_key_that_changed_after_the_proof_is_left_alone(store: FaultyStore) -> None:
    """The dead leader's key goes by its lease, another process takes it, and the successor acts on what it knew."""
    async with led_by(store, process_on("west")) as first:
        dead = await leader_item(store)
        assert dead is not None
        first.kill()
        await store.revoke_lease(dead.lease)
        async with led_by(store, process_on("east")) as other:
            late = Candidate(store, "late", identity=process_on("west"))
            await late.election._key.remove(dead)
            await anyio.sleep(TTL)
            assert (other.leads, other.lost) == (True, [])


async def test_a_store_that_fails_during_the_deletion_is_waited_out(store: FaultyStore) -> None:
    async with led_by(store, process_on("west")) as first:
        first.kill()
        second = Candidate(store, "second", identity=process_on("west"))
        second.line.hold_back = 1
        async with anyio.create_task_group() as group:
            group.start_soon(second.live)
            await until(lambda: second.leads)
            await second.line.deliver()
            await anyio.sleep(TTL)
            assert (second.leads, second.lost) == (True, [])
            group.cancel_scope.cancel()


@pytest.mark.parametrize("identity", [None, "x", [], {"pid": 1}, {"boot": "", "pid": "1"}, 5])
async def test_a_key_whose_identity_cannot_be_read_is_left_to_its_lease(store: FaultyStore, identity: object) -> None:
    lease = await store.grant_lease(TTL)
    await store.transaction([], [Put(KEY, json.dumps({"process": "odd", "identity": identity}).encode(), lease)])
    async with successor(store, process_on("west")) as second:
        assert await until(lambda: second.leads) > TTL / 2
