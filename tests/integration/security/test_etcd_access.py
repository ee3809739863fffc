"""Getting at a real etcd that asks who we are: certificates both ways, names checked, passwords; all rotated under a
running store."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.authorization import Mode, Policy
from intentc.dev.etcd_server import Etcd, path_binary, wheel_binary
from intentc.loading import load_schema
from intentc.loading.configuration import Secret
from intentc.reconcile.failures import Denied, Failure, Unavailable, Untrusted
from intentc.retained import KnownFields
from intentc.watch.etcd import EtcdStore
from intentc.watch.etcd_connections import Tls
from intentc.watch.protocol import Put
from tests.integration.security.controlled_etcd import Control, asking_for_certificates, etcd_with
from tests.support.api_server import served
from tests.support.certificates import Authority, Issued

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]

TOKENS = "/keystone/v3/auth/tokens"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def tls(authority: Authority, client: Issued | None) -> Tls:
    return Tls(authority.certificate, *(client or (None, None)))


@pytest.fixture
async def secured(authority: Authority) -> AsyncIterator[Etcd]:
    """Asks for certificates that ``authority`` signed."""
    async with etcd_with(*asking_for_certificates(authority.issue("etcd"), authority), scheme="https") as etcd:
        yield etcd


async def test_both_sides_show_who_they_are(authority: Authority, secured: Etcd) -> None:
    store = EtcdStore([secured.endpoint], tls=tls(authority, authority.issue("client")))
    written = await store.transaction([], [Put("/a", b"1")])
    async with store.watch(["/a"], written.revision) as watch:
        assert await anext(aiter(watch))
    await store.close()


@pytest.mark.parametrize("binary", list(filter(None, (path_binary(), wheel_binary()))), ids=str)
@pytest.mark.parametrize("shown", ["none", "of another authority"])
async def test_without_a_certificate_that_etcd_trusts_nobody_is_let_in(
    authority: Authority, tmp_path: Path, binary: Path, shown: str
) -> None:
    """Each etcd rejects it at another moment of the handshake."""
    client = None if shown == "none" else Authority(tmp_path / "other").issue("client")
    flags = asking_for_certificates(authority.issue("etcd"), authority)
    async with etcd_with(*flags, scheme="https", binary=binary) as etcd:
        store = EtcdStore([etcd.endpoint], tls=tls(authority, client))
        with pytest.raises(Untrusted, match=r"does not take our certificate: check etcd\.tls"):
            await store.range("/a")
        with pytest.raises(Untrusted, match=r"does not take our certificate: check etcd\.tls"):
            async with store.watch(["/a"], 1) as watch:
                await anext(aiter(watch))
        await store.close()


async def test_a_server_that_another_authority_signed_is_not_talked_to(
    authority: Authority, secured: Etcd, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "other")
    store = EtcdStore([secured.endpoint], tls=tls(other, authority.issue("client")))
    with pytest.raises(Untrusted, match=r"not trusted: check etcd\.tls\.trusted_ca_path"):
        await store.range("/a")
    await store.close()


async def test_a_server_whose_certificate_names_another_host_is_not_talked_to(authority: Authority) -> None:
    server = authority.issue("etcd", alternative="DNS:etcd.example.org")
    async with etcd_with(*asking_for_certificates(server, authority), scheme="https") as etcd:
        store = EtcdStore([etcd.endpoint], tls=tls(authority, authority.issue("client")))
        with pytest.raises(Untrusted, match="for other names than"):
            await store.range("/a")
        await store.close()


async def test_a_client_certificate_is_rotated_under_a_running_store_and_its_watch(
    authority: Authority, tmp_path: Path
) -> None:
    """etcd trusts a new authority from its restart on: what we have is rejected until our files are replaced."""
    successor = Authority(tmp_path / "successor")
    trusted, client = tmp_path / "trusted.pem", authority.issue("client")
    shutil.copy(authority.certificate, trusted)
    async with etcd_with(*asking_for_certificates(authority.issue("etcd"), trusted), scheme="https") as etcd:
        store = EtcdStore([etcd.endpoint], tls=tls(authority, client))
        written = await store.transaction([], [Put("/a", b"1")])
        shutil.copy(successor.certificate, trusted)
        await anyio.to_thread.run_sync(etcd.stop)
        await anyio.to_thread.run_sync(etcd.start)
        for _ in range(2):
            with pytest.raises(Unavailable):
                await store.range("/a")
        client.replace_by(successor.issue("client"))
        await store.range("/a")
        async with store.watch(["/a"], written.revision) as watch:
            assert await anext(aiter(watch))
        await store.close()


async def test_half_replaced_files_are_read_again_once_they_are_complete(authority: Authority, secured: Etcd) -> None:
    client, successor = authority.issue("client"), authority.issue("successor")
    shutil.copy(successor.key, client.key)
    store = EtcdStore([secured.endpoint], tls=tls(authority, client))
    with pytest.raises(Failure):
        await store.range("/a")
    shutil.copy(successor.certificate, client.certificate)
    await store.range("/a")
    await store.close()


async def test_a_password_is_rotated_under_a_running_store_and_its_watch(fresh_etcd: Etcd, tmp_path: Path) -> None:
    control, file = Control(fresh_etcd), tmp_path / "password"
    control.grant_roles("open", "test")
    control.add_user("compiler", "first", "intentc-test")
    control.enable()
    file.write_text("first\n")
    store = EtcdStore([fresh_etcd.endpoint], username="compiler", password=Secret.of_file(file).reveal)
    await store.range("/open/a")

    control.change_password("compiler", "second")
    with pytest.raises(Denied, match=r"check etcd\.username, etcd\.password"):
        await store.range("/open/a")
    with pytest.raises(Denied, match="authentication failed"):
        async with store.watch(["/open/"], 1):
            pass
    file.write_text("second\n")
    revision = (await store.range("/open/a")).revision
    async with store.watch(["/open/"], revision):
        pass
    assert await store.keep_lease_alive(await store.grant_lease(60)) == 60
    await store.close()


async def test_the_shipped_roles_let_each_process_do_what_it_must_and_nothing_else(fresh_etcd: Etcd) -> None:
    control = Control(fresh_etcd)
    control.grant_roles("open", "test")
    control.grant_roles("open", "test")  # again, as after an upgrade
    control.add_user("compiler", "c", "intentc-test")
    control.add_user("server", "s", "intentc-apiserver-open")
    control.enable()
    compiler = EtcdStore([fresh_etcd.endpoint], username="compiler", password=lambda: "c")
    server = EtcdStore([fresh_etcd.endpoint], username="server", password=lambda: "s")

    async def may(store: EtcdStore, key: str) -> str:
        allowed = ""
        for sort, call in (("r", store.range(key)), ("w", store.transaction([], [Put(key, b"")]))):
            try:
                await call
                allowed += sort
            except Denied:
                allowed += "-"
        return allowed

    keys = ("/open/kind/u", "/open-backup/a", "/intentc/test/leader", "/intentc/test/heartbeat/p",
            "/intentc/test2/leader", "/intentc/apiserver/open/uuid/u", "/a",
            "/intentc/claims/open", "/intentc/claims/open2")  # fmt: skip
    assert [await may(compiler, key) for key in keys] == ["r-", "--", "rw", "rw", "--", "--", "--", "rw", "--"]
    assert [await may(server, key) for key in keys] == ["rw", "--", "r-", "--", "--", "rw", "--", "--", "--"]
    await compiler.close()
    await server.close()


async def test_the_shipped_role_of_a_server_covers_log_ins_shares_and_large_commits(fresh_etcd: Etcd) -> None:
    control, limit = Control(fresh_etcd), 64
    control.grant_roles("open", "test")
    control.add_user("server", "s", "intentc-apiserver-open")
    control.enable()
    store = EtcdStore([fresh_etcd.endpoint], username="server", password=lambda: "s")
    alice = StaticUser("alice", "alice", lambda: "secret", roles=(StaticRole("admin", "p", "p"),))
    options = {"max_txn_ops": limit, "keystone": Keystone([alice]), "policy": Policy(Mode.CLOUD_ADMIN)}
    async with served(store, load_schema("contrail"), "open", **options) as client:
        password = {"user": {"id": "alice", "password": "secret"}}
        body = {"auth": {"identity": {"methods": ["password"], "password": password}}}
        client.headers["X-Auth-Token"] = (await client.post(TOKENS, json=body)).headers["X-Subject-Token"]

        async def create(kind: str, name: str, **fields: Any) -> str:
            document = {"fq_name": ["default-domain", "default-project", name], **fields}
            answer = await client.post(f"/{kind}s", json={kind: document})
            assert answer.status_code == 200, answer.text
            return str(answer.json()[kind]["uuid"])

        groups = [await create("security-group", f"g{number}") for number in range(limit)]
        network = await create("virtual-network", "n")
        references = {
            "virtual_network_refs": [{"uuid": network}],
            "security_group_refs": [{"uuid": group} for group in groups],
        }
        port = await create("virtual-machine-interface", "port", parent_type="project", **references)
        assert (await client.delete(f"/virtual-machine-interface/{port}")).status_code == 200
        ended = {"X-Subject-Token": client.headers["X-Auth-Token"]}
        answer = await client.delete(TOKENS, headers=ended)
        assert answer.status_code == 204
    written = {
        key.split("/")[4] for key in control("get", "--prefix", "--keys-only", "/intentc/apiserver/open/").split()
    }
    assert {"name", "uuid", "pool-share"} <= written
    await store.close()


async def test_the_shipped_role_of_a_compiler_covers_the_fields_that_its_schemas_have_declared(
    fresh_etcd: Etcd, caplog: pytest.LogCaptureFixture
) -> None:
    control = Control(fresh_etcd)
    control.grant_roles("open", "test")
    control.add_user("compiler", "c", "intentc-test")
    control.enable()
    store = EtcdStore([fresh_etcd.endpoint], username="compiler", password=lambda: "c")
    await KnownFields(store, load_schema("contrail"), installation="test").load_and_record()
    assert not caplog.records
    assert (
        "/intentc/test/known-fields/virtual_network" in control("get", "--prefix", "--keys-only", "/intentc/").split()
    )
    await store.close()
