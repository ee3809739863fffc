"""Secrets that are easy to find again are put wherever secrets may stand; then everything that can fail is made to
fail, and whatever the programs print, log, serve or answer is searched for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import msgspec
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Put
from tests.integration.security.canaries import CANARY, PATH, Place
from tests.integration.security.controlled_etcd import ROOT_PASSWORD, Control
from tests.support.processes import Process, start
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

PROJECT = ["default-domain", "default-project"]


@pytest.fixture(params=["json", "text"])
def place(request: pytest.FixtureRequest, fresh_etcd: Etcd, tmp_path: Path) -> Place:
    return Place(tmp_path, fresh_etcd, request.param)


@asynccontextmanager
async def person(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Logged in as alice."""
    login = {"auth": {"identity": {"methods": ["password"], "password": {"user": {
        "id": "alice", "password": f"{CANARY}-alice"}}}, "scope": {"project": {"id": "admin"}}}}  # fmt: skip
    async with httpx2.AsyncClient(timeout=PATIENCE, base_url=url, trust_env=False) as client:
        answer = await client.post("/keystone/v3/auth/tokens", json=login)
        assert answer.status_code == 201, answer.text
        client.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
        yield client


async def until_said(process: Process, text: str) -> None:
    """Wait for a line in a process's log."""
    with anyio.fail_after(PATIENCE):
        while text not in process.log:
            assert process.alive, process.log
            await anyio.sleep(0.02)


async def test_no_secret_leaves_by_any_way_whatever_fails(place: Place, processes: list[Process]) -> None:
    control = Control(place.etcd)
    control.grant_roles(PATH, PATH)
    control.add_user("compiler", f"{CANARY}-etcd", f"intentc-{PATH}")
    control.add_user("server", f"{CANARY}-server", f"intentc-apiserver-{PATH}")
    control.enable()
    project = {"id": "admin", "name": "admin"}
    users = {"alice": {"id": "alice", "password_file": place.secret("alice"),
                       "roles": [{"id": "admin", "name": "admin", "project": project}]}}  # fmt: skip
    serving = place.configuration(
        "server",
        etcd={"username": "server", "password_file": place.secret("server")},
        server={"address": "127.0.0.1:0"},
        keystone={"local": True, "store": {"expire": "1s"}, "assignment": {"data": {"users": users}}},
    )
    api = start(["--config-file", str(serving), "apiserver"], place.folder / "api.log", {})
    processes.append(api)
    url = await api.serving_at()

    etcd_password, client_password = place.secret("etcd"), place.secret("client", f"{CANARY}-alice")
    configuration = place.configuration(
        "compiler",
        etcd={"username": "compiler", "password_file": etcd_password},
        client={"endpoint": url, "id": "alice", "password_file": client_password, "project_id": "admin"},
        keystone={"authurl": f"{url}/keystone/v3"},
        compilation={"msg_queue_lock_time": "2s"},
    )
    compiler = start(["--config-file", str(configuration), "run"], place.folder / "compiler.log", {})
    processes.append(compiler)
    await compiler.until_ready(True, PATIENCE)

    # Bodies and sensitive fields, good ones and bad ones.
    async with person(url) as client:
        group = {"fq_name": [*PROJECT, "g"], "display_name": f"{CANARY}-in-a-body"}
        router = {"fq_name": ["default-global-system-config", "r"], "physical_router_management_ip": "10.0.0.1",
                  "physical_router_user_credentials": {"username": "u", "password": f"{CANARY}-router"}}  # fmt: skip
        assert (await client.post("/security-groups", json={"security-group": group})).status_code == 200
        assert (await client.post("/physical-routers", json={"physical-router": router})).status_code == 200
        bad = {
            "fq_name": [*PROJECT, "bad"],
            "security_group_entries": {"policy_rule": [{"protocol": f"{CANARY}-rule"}]},
        }
        await client.post("/security-groups", json={"security-group": bad})
        await client.post(
            "/security-groups",
            content=f'{{"security-group": "{CANARY}-broken'.encode(),
            headers={"content-type": "application/json"},
        )
    root = EtcdStore([place.etcd.endpoint], username="root", password=lambda: ROOT_PASSWORD)
    unreadable = {"fq_name": [*PROJECT, "unreadable"], "security_group_entries": f"{CANARY}-unreadable"}
    for number, value in enumerate((msgspec.json.encode(unreadable), f'{{"a": "{CANARY}'.encode())):
        await root.transaction([], [Put(f"/{PATH}/security_group/u{number}", value)])
    await root.close()
    await until_said(compiler, "is held")
    await place.look(compiler)
    assert "unreadable" in place.sinks["/status?pretty"]

    # Commands, over the same secrets: as files, as literals, as variables, and with a password that is wrong.
    assert await place.command(configuration, "check") == 0
    literal = place.configuration("literal", etcd={"password": f"{CANARY}-literal"}, client={"password": f"{CANARY}-x"})
    assert await place.command(literal, "check", "-o", "json") == 0
    assert await place.command(configuration, "get", "nothing_like_it") != 0
    assert (
        await place.command(
            configuration, "get", "security_group", INTENTC_CLIENT__PASSWORD=f"{CANARY}-wrong", INTENTC_TRACEBACK="1"
        )
        == 4
    )
    assert await place.command(configuration, "get", "project", INTENTC_CLIENT__ENDPOINT=f"ftp://u:{CANARY}@h") == 3
    assert await place.command(configuration, "check", INTENTC_ETCD__ENDPOINTS=f"http://u:{CANARY}@h:1") in (0, 3)

    # What operators ask and order.
    assert await place.command(configuration, "audit", "-o", "json") in (1, 5)
    assert await place.command(configuration, "audit") in (1, 5)
    address = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": (await compiler.url()).removeprefix("http://")}
    assert await place.command(configuration, "quarantine", "list", "-o", "yaml", **address) == 0
    assert await place.command(configuration, "pause", "security_group", ":".join([*PROJECT, "g"]), **address) == 0
    assert await place.command(configuration, "quarantine", "retry", "--all", **address) in (0, 5)
    assert await place.command(configuration, "release", "--all", "--dry-run", **address) == 0

    # Log-ins that fail, to both servers, with the passwords that were good before and with others.
    place.secret("client", f"{CANARY}-not-alices")
    control.change_password("compiler", f"{CANARY}-changed")
    await until_said(compiler, "authentication failed")
    async with person(url) as client:
        network = {"fq_name": [*PROJECT, "n"], "display_name": f"{CANARY}-network"}
        await client.post("/virtual-networks", json={"virtual-network": network})
    place.secret("etcd", f"{CANARY}-changed")
    await until_said(compiler, "gives no token")
    await place.look(compiler)
    place.secret("client", f"{CANARY}-alice")
    await compiler.until_ready(True, PATIENCE)
    await place.look(compiler)

    place.sinks |= {"the compiler's log": compiler.log, "the API server's log": api.log}
    assert await compiler.terminate() == 0
    place.sinks["the journal's files"] = place.journal()
    assert '"debug"' in compiler.log or " DEBUG " in compiler.log
    place.sinks |= {"the compiler's log": compiler.log, "the API server's log": api.log}
    place.assert_no_canary()
