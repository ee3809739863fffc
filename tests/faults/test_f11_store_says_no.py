"""F11: etcd says no: its space is used up, it doesn't know us any more, or it forbids one prefix.

Expected: not ready, with the cause named in ``/readyz`` and once in the log; what goes on without etcd's leave goes on;
once the cause is gone everything heals, in the same process.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from intentc.watch.etcd_connections import Tls
from intentc.watch.protocol import Put, StoreFull
from tests.integration.security.controlled_etcd import Control, asking_for_certificates, etcd_with
from tests.support.certificates import Authority
from tests.support.contrail_content import network, tenant
from tests.support.live_system import LiveSystem, counted_world
from tests.support.processes import Process, start
from tests.support.waiting import PATIENCE, pauses

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

HEARTBEAT = "300ms"
SMALL = 16 * 1024 * 1024
"""Bytes of an etcd that is soon full: its files grow in steps, and four are more than the smallest."""
PASSWORD = "compiler-password"


class Case:
    """A compiler as a process, beside an API server and a person in this one."""

    def __init__(self, world: LiveSystem, compiler: Process) -> None:
        self.world = world
        self.compiler = compiler

    async def converged(self) -> None:
        """All that the person asked for is compiled, by the process that was started first."""
        await self.compiler.quiet(self.world.revision, PATIENCE)
        await self.compiler.until_ready(True, PATIENCE)
        await self.world.assert_compiled()

    async def not_ready_for(self, cause: str) -> None:
        """Wait until ``/readyz`` names ``cause``; the log does so, too, and not again and again."""
        with anyio.fail_after(PATIENCE):
            for pause in pauses():
                if any(cause in reason for reason in (await self.compiler.ready())[1]):
                    break
                await anyio.sleep(pause)
        logged = [line for line in self.compiler.log.splitlines() if cause in line and '"warning"' in line]
        # Once by each of those who talk to etcd: the watch, the heartbeat, the election with its lease, directives.
        assert 1 <= len(logged) <= 6, logged


@asynccontextmanager
async def case(
    world: LiveSystem, etcd: Etcd, folder: Path, settings: dict[str, Any] | None = None
) -> AsyncIterator[Case]:
    """``settings``: of the section ``etcd``, beside the endpoint."""
    configuration = folder / "compiler.yml"
    async with world.serving():
        write(
            configuration,
            {
                "etcd": {"endpoints": [etcd.endpoint], "path": world.path, "dial_timeout": "2s", **(settings or {})},
                "client": {"endpoint": world.url},
                "compilation": {"msg_queue_lock_time": "5s"},
                "intentc": {
                    "installation": world.path,
                    "diagnostics": {"address": "127.0.0.1:0"},
                    "watch": {"heartbeat": HEARTBEAT},
                },
            },
        )
        compiler = start(["--config-file", str(configuration), "run"], folder / "compiler.log", {})
        try:
            yield Case(world, compiler)
        finally:
            compiler.kill()


def write(path: Path, settings: dict[str, Any]) -> None:
    path.write_bytes(msgspec.json.encode(settings))  # JSON is YAML


@asynccontextmanager
async def world_on(store: EtcdStore, loaded: Loaded, patch: pytest.MonkeyPatch) -> AsyncIterator[LiveSystem]:
    try:
        async with counted_world(store, loaded, patch) as world:
            yield world
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def fill(store: EtcdStore) -> None:
    """Put until etcd takes no more."""
    with pytest.raises(StoreFull, match="alarm NOSPACE: compact, defragment"):
        for number in range(1000):
            await store.transaction([], [Put(f"/fill/{number}", b"x" * 1_000_000)])


async def test_a_store_without_space_is_named_and_heals_when_there_is_some(
    tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        etcd_with(f"--quota-backend-bytes={SMALL}") as etcd,
        world_on(EtcdStore([etcd.endpoint]), loaded, monkeypatch) as world,
        case(world, etcd, tmp_path) as found,
    ):
        await tenant(world, 3)
        await found.converged()

        await fill(world.store)
        await found.not_ready_for("database space exceeded")
        # A user gets the same answer, as a condition that ends.
        answer = await world.person.post(
            f"{world.url}/virtual-networks",
            json={"virtual-network": {"fq_name": ["default-domain", "default-project", "late"]}},
        )
        assert answer.status_code == 503
        assert "alarm NOSPACE" in answer.json()["message"]
        assert answer.headers["Retry-After"]

        control = Control(etcd)
        control("del", "--prefix", "/fill/")
        revision = (await world.store.range("/fill/")).revision
        control("compact", str(revision))
        control("defrag")
        control("alarm", "disarm")
        await found.compiler.until_ready(True, PATIENCE)
        await network(world, "late")
        await found.converged()


async def users(etcd: Etcd, world_path: str) -> Control:
    """The shipped roles, one user each, and auth on."""
    control = Control(etcd)
    control.grant_roles(world_path, world_path)
    control.add_user("compiler", PASSWORD, f"intentc-{world_path}")
    control.add_user("server", "server-password", f"intentc-apiserver-{world_path}")
    control.enable()
    return control


def as_server(etcd: Etcd) -> EtcdStore:
    return EtcdStore([etcd.endpoint], username="server", password=lambda: "server-password")


async def test_a_changed_password_is_named_and_heals_when_our_file_follows(
    fresh_etcd: Etcd, tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    password.chmod(0o600)
    async with world_on(as_server(fresh_etcd), loaded, monkeypatch) as world:
        control = await users(fresh_etcd, world.path)
        settings = {"username": "compiler", "password_file": str(password)}
        async with case(world, fresh_etcd, tmp_path, settings) as found:
            await tenant(world, 3)
            await found.converged()

            control.change_password("compiler", "another-password")
            await found.not_ready_for("authentication failed")
            await network(world, "meanwhile")
            password.write_text("another-password")
            await found.converged()
            assert PASSWORD not in found.compiler.log
            assert "another-password" not in found.compiler.log


async def test_auth_enabled_at_run_time_costs_nothing_if_a_password_is_configured(
    fresh_etcd: Etcd, tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    async with world_on(as_server(fresh_etcd), loaded, monkeypatch) as world:
        settings = {"username": "compiler", "password_file": str(password)}
        async with case(world, fresh_etcd, tmp_path, settings) as found:
            await tenant(world, 3)
            await found.converged()
            await users(fresh_etcd, world.path)
            await network(world, "afterwards")
            await found.converged()


async def test_authentication_switched_on_in_etcd_is_reported_until_it_is_off(
    fresh_etcd: Etcd, tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        world_on(as_server(fresh_etcd), loaded, monkeypatch) as world,
        case(world, fresh_etcd, tmp_path) as found,
    ):
        await tenant(world, 3)
        await found.converged()
        control = await users(fresh_etcd, world.path)
        await found.not_ready_for("user name is empty")
        await network(world, "meanwhile")
        control("auth", "disable")
        await found.converged()


async def test_a_forbidden_prefix_is_named_and_works_once_it_is_allowed(
    fresh_etcd: Etcd, tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    async with world_on(as_server(fresh_etcd), loaded, monkeypatch) as world:
        control = await users(fresh_etcd, world.path)
        role, own = f"intentc-{world.path}", (f"/intentc/{world.path}/", f"/intentc/{world.path}0")
        settings = {"username": "compiler", "password_file": str(password)}
        async with case(world, fresh_etcd, tmp_path, settings) as found:
            await tenant(world, 3)
            await found.converged()
            control("role", "revoke-permission", role, *own)
            control("role", "grant-permission", role, "read", *own)
            await found.not_ready_for("permission denied")
            control("role", "grant-permission", role, "readwrite", *own)
            await network(world, "afterwards")
            await found.converged()


async def test_forbidden_resources_are_named_from_the_start_and_read_once_they_are_allowed(
    fresh_etcd: Etcd, tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    async with world_on(as_server(fresh_etcd), loaded, monkeypatch) as world:
        control = await users(fresh_etcd, world.path)
        role, resources = f"intentc-{world.path}", (f"/{world.path}/", f"/{world.path}0")
        control("role", "revoke-permission", role, *resources)
        settings = {"username": "compiler", "password_file": str(password)}
        async with case(world, fresh_etcd, tmp_path, settings) as found:
            await tenant(world, 3)
            await found.not_ready_for("permission denied")
            control("role", "grant-permission", role, "read", *resources)
            await found.converged()


async def test_a_rejected_certificate_is_replaced_from_its_files(
    tmp_path: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """etcd trusts another authority from its restart on."""
    authority, successor = Authority(tmp_path / "authority"), Authority(tmp_path / "successor")
    trusted, client = tmp_path / "trusted.pem", authority.issue("client")
    shutil.copy(authority.certificate, trusted)
    tls = Tls(authority.certificate, *client)
    settings = {
        "tls": {
            "enabled": True,
            "trusted_ca_path": str(authority.certificate),
            "certificate_path": str(client.certificate),
            "key_path": str(client.key),
        }
    }
    async with (
        etcd_with(*asking_for_certificates(authority.issue("etcd"), trusted), scheme="https") as etcd,
        world_on(EtcdStore([etcd.endpoint], tls=tls, timeout=5), loaded, monkeypatch) as world,
        case(world, etcd, tmp_path, settings) as found,
    ):
        await tenant(world, 3)
        await found.converged()
        shutil.copy(successor.certificate, trusted)
        await anyio.to_thread.run_sync(etcd.stop)
        await anyio.to_thread.run_sync(etcd.start)
        await found.not_ready_for("etcd.tls")
        client.replace_by(successor.issue("client"))
        await found.compiler.until_ready(True, PATIENCE)
        await network(world, "afterwards")
        await found.converged()
