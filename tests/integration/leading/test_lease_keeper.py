"""The thread that keeps the lease: alive beside a busy loop, through fail-over, tokens and certificates, and ended."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.etcd import EtcdStore
from intentc.watch.etcd_connections import Tls
from intentc.watch.lease_keeper import EtcdLeaseKeeper, EtcdLeaseKeepers
from intentc.watch.protocol import Put
from tests.integration.leading.lease_server import PASSWORD, LeaseServer
from tests.support.certificates import write_certificate
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio

TTL = 2
LONG_TTL = 600
"""Of leases that no machine is too slow for."""


@asynccontextmanager
async def running(keeper: EtcdLeaseKeeper) -> AsyncIterator[anyio.Event]:
    """The keeper at work; the event is set when it says that the lease is lost."""
    gone = anyio.Event()

    async def run() -> None:
        await keeper.run()
        gone.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        yield gone
        group.cancel_scope.cancel()


def lease_threads() -> int:
    return sum(thread.name == "lease" for thread in threading.enumerate())


@pytest.fixture
def server() -> Iterator[LeaseServer]:
    server = LeaseServer(TTL)
    yield server
    server.stop()


@pytest.mark.etcd
async def test_a_busy_event_loop_does_not_cost_the_lease(etcd: Etcd, etcd_store: EtcdStore) -> None:
    lease = await etcd_store.grant_lease(LONG_TTL)
    # As often as if it were a short one, which a slow machine would lose.
    keeper = EtcdLeaseKeepers([etcd.endpoint])(lease, TTL, time.monotonic())
    async with running(keeper):
        await until(lambda: keeper.held_until() > time.monotonic())
        first, end = keeper.held_until(), time.monotonic() + PATIENCE
        while keeper.held_until() == first and time.monotonic() < end:
            sum(range(10_000))  # the loop is held, and so is the interpreter
        assert keeper.held_until() > first
    await etcd_store.revoke_lease(lease)


@pytest.mark.etcd
async def test_without_its_keeper_a_lease_goes_within_its_ttl(etcd: Etcd, etcd_store: EtcdStore) -> None:
    lease = await etcd_store.grant_lease(TTL)
    written = await etcd_store.transaction([], [Put("/left/key", b"", lease)])
    keeper = EtcdLeaseKeepers([etcd.endpoint])(lease, TTL, time.monotonic())
    async with running(keeper):
        await until(lambda: keeper.held_until() > time.monotonic())
    async with etcd_store.watch(["/left/"], written.revision + 1) as watch:
        await anext(aiter(watch))
    # Never before its time; how soon after it is etcd's affair.
    assert keeper.held_until() <= time.monotonic()


@pytest.mark.etcd
async def test_a_revoked_lease_is_reported(etcd: Etcd, etcd_store: EtcdStore) -> None:
    lease = await etcd_store.grant_lease(LONG_TTL)
    keeper = EtcdLeaseKeepers([etcd.endpoint])(lease, TTL, time.monotonic() + LONG_TTL)
    async with running(keeper) as gone:
        await etcd_store.revoke_lease(lease)
        with anyio.fail_after(PATIENCE):
            await gone.wait()
        assert keeper.held_until() == -math.inf


@pytest.mark.etcd
async def test_a_dead_member_is_left_for_the_next(etcd: Etcd, etcd_store: EtcdStore, dead_endpoint: str) -> None:
    lease = await etcd_store.grant_lease(LONG_TTL)
    keeper = EtcdLeaseKeepers([dead_endpoint, etcd.endpoint])(lease, TTL, -math.inf)
    async with running(keeper):
        await until(lambda: keeper.held_until() > time.monotonic())


@pytest.mark.etcd
async def test_a_frozen_member_prolongs_nothing_and_delays_no_end(
    fresh_etcd: Etcd, fresh_etcd_store: EtcdStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    ttl = 2 * TTL
    lease = await fresh_etcd_store.grant_lease(ttl)
    keeper = EtcdLeaseKeepers([fresh_etcd.endpoint])(lease, ttl, -math.inf)
    async with running(keeper):
        await until(lambda: keeper.held_until() > time.monotonic())
        fresh_etcd.suspend()
        frozen = time.monotonic()
        await until(lambda: keeper.held_until() < time.monotonic())
        assert keeper.held_until() <= frozen + ttl
        await until(lambda: "can't be renewed" in caplog.text)
    assert lease_threads() == 0
    assert caplog.text.count("can't be renewed") == caplog.text.count("renewed again") + 1
    # Nor does a call that would wait for much longer than this test does.
    patient = EtcdLeaseKeepers([fresh_etcd.endpoint])(lease, 9 * round(PATIENCE), -math.inf)
    with anyio.fail_after(PATIENCE):
        async with running(patient):
            await until(lambda: lease_threads() == 1)
    assert lease_threads() == 0
    fresh_etcd.resume()


@pytest.mark.etcd
async def test_a_restarted_etcd_with_users_is_used_again(etcd_with_users: Etcd) -> None:
    store = EtcdStore([etcd_with_users.endpoint], username="root", password=lambda: "secret")
    lease = await store.grant_lease(30)
    keeper = EtcdLeaseKeepers([etcd_with_users.endpoint], username="root", password=lambda: "secret")(
        lease, 3, -math.inf
    )
    async with running(keeper) as gone:
        await until(lambda: keeper.held_until() > time.monotonic())
        await anyio.to_thread.run_sync(etcd_with_users.kill)
        held_until = keeper.held_until()
        await anyio.to_thread.run_sync(etcd_with_users.start)
        await until(lambda: keeper.held_until() > held_until)
        assert not gone.is_set()
    await store.close()


async def test_the_time_counts_from_when_the_request_was_sent(server: LeaseServer) -> None:
    keeper = EtcdLeaseKeepers([server.address])(1, TTL, -math.inf)
    before = time.monotonic()
    async with running(keeper):
        await until(lambda: keeper.held_until() > 0)
        assert before + TTL <= keeper.held_until() <= time.monotonic() + TTL


class Pauses(threading.Event):
    """Notes how long the keeper wants to wait, and does not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.noted.append(timeout)
        return super().wait(0.001)


async def test_it_renews_three_times_in_a_ttl(server: LeaseServer, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper, pauses = EtcdLeaseKeepers([server.address])(1, 9_000, -math.inf), Pauses()
    monkeypatch.setattr(keeper, "_stop", pauses)
    async with running(keeper):
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 4)
        noted = pauses.noted[:3]  # before the end, which cuts a renewal short
    assert len(noted) == 3
    assert all(3_000 - PATIENCE < pause <= 3_000 for pause in noted), "less what the renewal took"


async def test_a_stale_token_is_asked_for_anew(server: LeaseServer, caplog: pytest.LogCaptureFixture) -> None:
    server.token = "first"
    keeper = EtcdLeaseKeepers([server.address], username="leader", password=lambda: PASSWORD)(1, TTL, -math.inf)
    async with running(keeper):
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 1)
        server.token = "second"
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 2)
    assert server.users == ["leader", "leader"]
    assert caplog.text == ""


async def test_a_rotated_password_heals_without_a_restart(
    server: LeaseServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    server.token = "first"
    passwords = ["canary-of-old"]
    keeper = EtcdLeaseKeepers([server.address], username="leader", password=lambda: passwords[-1])(1, TTL, -math.inf)
    async with running(keeper):
        await until(lambda: "check etcd.username" in caplog.text)
        assert server.renewed == 0
        passwords.append(PASSWORD)
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 1)
        await until(lambda: "renewed again" in caplog.text)
    assert "canary" not in caplog.text


async def test_a_password_is_no_harm_where_nobody_asks_for_one(server: LeaseServer) -> None:
    keeper = EtcdLeaseKeepers([server.address], username="leader", password=lambda: PASSWORD)(1, TTL, -math.inf)
    async with running(keeper):
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 2)


async def test_both_sides_show_their_certificates_also_after_a_rotation(tmp_path: Path, certificate: Tls) -> None:
    server = LeaseServer(TTL, certificate)
    keeper = EtcdLeaseKeepers([f"https://{server.address}"], tls=certificate)(1, TTL, -math.inf)
    stranger = EtcdLeaseKeepers([server.address], tls=Tls(ca=certificate.ca))(2, TTL, -math.inf)
    async with running(keeper), running(stranger):
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 3)
        assert stranger.held_until() == -math.inf
        await anyio.to_thread.run_sync(server.stop)
        write_certificate(tmp_path)
        rotated = LeaseServer(TTL, certificate, server.address)
        try:
            assert await anyio.to_thread.run_sync(rotated.wait_for_renewals, 1)
        finally:
            await anyio.to_thread.run_sync(rotated.stop)


async def test_a_missing_tls_file_is_named(
    tmp_path: Path, server: LeaseServer, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = EtcdLeaseKeepers([server.address], tls=Tls(ca=tmp_path / "missing.pem"))(1, TTL, -math.inf)
    async with running(keeper):
        await until(lambda: "missing.pem" in caplog.text)


async def test_when_it_ends_neither_thread_nor_connection_is_left(server: LeaseServer) -> None:
    keeper = EtcdLeaseKeepers([server.address])(1, TTL, -math.inf)
    async with running(keeper):
        assert await anyio.to_thread.run_sync(server.wait_for_renewals, 1)
        assert lease_threads() == 1
    assert lease_threads() == 0
    assert keeper._connection._channel is None
