"""``intentc apiserver`` gets its first key for secrets, and another one, as ``docs/security.md`` says."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.etcd import EtcdStore
from tests.support.processes import Process, start
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

PROJECT = {"id": "admin"}
ROLES = {"intentc": "admin", "zoe": "admin", "manager": "device-manager"}
CREDENTIALS = {"username": "root", "password": "hunter2"}
DONE = "all stored secrets are encrypted with the key"


@asynccontextmanager
async def logged_in(url: str, user: str) -> AsyncIterator[httpx2.AsyncClient]:
    identity = {"methods": ["password"], "password": {"user": {"id": user, "password": "pw"}}}
    async with httpx2.AsyncClient(base_url=url, trust_env=False) as client:
        answer = await client.post("/keystone/v3/auth/tokens", json={"auth": {"identity": identity}})
        client.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
        yield client


async def test_a_password_is_encrypted_once_there_is_a_key_and_survives_the_next_one(
    fresh_etcd: Etcd, tmp_path: Path, processes: list[Process]
) -> None:
    keys = tmp_path / "keys"
    users = {
        name: {"id": name, "password": "pw", "roles": [{"id": role, "name": role, "project": PROJECT}]}
        for name, role in ROLES.items()
    }
    configuration = {
        "etcd": {"endpoints": [fresh_etcd.endpoint], "path": "keyed"},
        "server": {"address": "127.0.0.1:0"},
        "aaa_mode": "rbac",
        "client": {"id": "intentc"},
        "keystone": {"local": True, "assignment": {"data": {"users": users}}},
    }
    path = tmp_path / "server.yml"

    async def started(*lines: str) -> tuple[Process, str]:
        """A server with these keys, once it has done what they ask for."""
        api: dict[str, Any] = {"secret_reader_roles": ["device-manager"]}
        if lines:
            keys.write_text("\n".join(lines))
            keys.chmod(0o600)
            api |= {"secret_keys_file": str(keys)}
        path.write_bytes(msgspec.json.encode({**configuration, "intentc": {"api": api}}))
        server = start(["--config-file", str(path), "apiserver"], tmp_path / "api.log", {})
        processes.append(server)
        url = await server.serving_at()
        if lines:
            await until(lambda: DONE in server.log)
        return server, url

    async def seen(url: str, user: str, uuid: str) -> dict[str, str]:
        async with logged_in(url, user) as client:
            answer = await client.get(f"/physical-router/{uuid}")
        found: dict[str, str] = answer.json()["physical-router"]["physical_router_user_credentials"]
        return found

    async def stored(uuid: str) -> str:
        store = EtcdStore([fresh_etcd.endpoint])
        try:
            (item,) = (await store.range(f"/keyed/physical_router/{uuid}")).items
        finally:
            await store.close()
        return item.value.decode()

    first, second = secrets.token_hex(32), secrets.token_hex(32)
    server, url = await started()
    assert "stand in etcd in plain text" in server.log and "intentc.api.secret_keys_file" in server.log
    rule = {"rule_object": "physical-router", "rule_perms": [{"role_name": "device-manager", "role_crud": "R"}]}
    above = "default-global-system-config"
    listed = {"fq_name": [above, "a"], "parent_type": "global-system-config"}
    router = {"fq_name": [above, "r"], "perms2": {"global_access": 4}, "physical_router_user_credentials": CREDENTIALS}
    async with logged_in(url, "zoe") as zoe:
        body = {"api-access-list": {**listed, "api_access_list_entries": {"rbac_rule": [rule]}}}
        assert (await zoe.post("/api-access-lists", json=body)).status_code == 200
        made = await zoe.post("/physical-routers", json={"physical-router": router})
    uuid = made.json()["physical-router"]["uuid"]
    assert "hunter2" not in made.text and "hunter2" in await stored(uuid)
    for lines in ((first,), (second, first), (second,)):
        assert await server.terminate() == 0
        server, url = await started(*lines)
        assert "stand in etcd in plain text" not in server.log
        assert "hunter2" not in await stored(uuid) and "hunter2" not in server.log
        assert await seen(url, "manager", uuid) == await seen(url, "intentc", uuid) == CREDENTIALS
        assert await seen(url, "zoe", uuid) == {"username": "<secret>", "password": "<secret>"}
    assert first not in server.log and second not in server.log
