"""Authorization with real parts: ``intentc apiserver`` with ``rbac``, tokens from its Keystone, a compiler and commands
that log in with what the documentation says is enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import pytest

from intentc.dev.etcd_server import Etcd
from tests.support.commands import PROGRAM, ROOT
from tests.support.processes import Process, environment_with, start
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

DEMO = ["default-domain", "demo"]
MEMBER, ADMIN = ("Member", "demo"), ("Admin", "admin")
ROLES = {"intentc": ADMIN, "ann": MEMBER, "bob": ("Member", "other"), "zoe": ADMIN}
RULES = {"virtual-network": "CRUD", "security-group": "CRUD", "routing-instance": "R", "access-control-list": "CRUD"}


async def logged_in(url: str, user: str) -> httpx2.AsyncClient:
    role_project = ROLES[user][1]
    identity = {"methods": ["password"], "password": {"user": {"id": user, "password": f"{user}-password"}}}
    body = {"auth": {"identity": identity, "scope": {"project": {"id": role_project}}}}
    client = httpx2.AsyncClient(base_url=url, trust_env=False)
    answer = await client.post("/keystone/v3/auth/tokens", json=body)
    assert answer.status_code == 201, answer.text
    client.headers["X-Auth-Token"] = answer.headers["X-Subject-Token"]
    return client


async def test_tenants_a_compiler_and_commands_with_rbac(
    fresh_etcd: Etcd, tmp_path: Path, processes: list[Process]
) -> None:
    def written(name: str, **sections: Any) -> Path:
        own = {"diagnostics": {"address": "127.0.0.1:0"}, "watch": {"heartbeat": "300ms"}}
        etcd = {"endpoints": [fresh_etcd.endpoint], "path": "rbac"}
        path = tmp_path / f"{name}.yml"
        path.write_bytes(msgspec.json.encode({"etcd": etcd, "intentc": own, **sections}))
        return path

    def password(user: str) -> str:
        path = tmp_path / user
        path.write_text(f"{user}-password")
        path.chmod(0o600)
        return str(path)

    users = {
        user: {"id": user, "password_file": password(user),
               "roles": [{"id": role.lower(), "name": role, "project": {"id": project}}]}
        for user, (role, project) in ROLES.items()
    }  # fmt: skip
    client = {"id": "intentc", "password_file": password("intentc"), "project_id": "admin"}
    serving = written(
        "server",
        server={"address": "127.0.0.1:0"},
        aaa_mode="rbac",
        client=client,
        keystone={"local": True, "assignment": {"data": {"users": users}}},
    )
    api = start(["--config-file", str(serving), "apiserver"], tmp_path / "api.log", {})
    processes.append(api)
    url = await api.serving_at()
    compiling = written("compiler", client={**client, "endpoint": url}, keystone={"authurl": f"{url}/keystone/v3"})
    compiler = start(["--config-file", str(compiling), "run"], tmp_path / "compiler.log", {})
    processes.append(compiler)
    await compiler.until_ready(True, PATIENCE)

    rules = [
        {"rule_object": kind, "rule_perms": [{"role_name": "Member", "role_crud": letters}]}
        for kind, letters in RULES.items()
    ]
    manifest = [
        {"kind": "project", "data": {"fq_name": DEMO, "perms2": {"owner": "demo"}}},
        {"kind": "api_access_list", "data": {
            "fq_name": ["default-global-system-config", "members"], "parent_type": "global-system-config",
            "api_access_list_entries": {"rbac_rule": rules}}},
    ]  # fmt: skip
    (tmp_path / "manifest.yml").write_bytes(msgspec.yaml.encode({"resources": manifest}))
    command = [*PROGRAM, "--config-file", str(compiling), "apply", str(tmp_path / "manifest.yml")]
    with anyio.fail_after(PATIENCE):
        done = await anyio.run_process(command, check=False, cwd=ROOT, env=environment_with({}))
    assert done.returncode == 0, done.stderr.decode()

    ann, bob, zoe = [await logged_in(url, user) for user in ("ann", "bob", "zoe")]
    made = await ann.post("/virtual-networks", json={"virtual-network": {"fq_name": [*DEMO, "n"]}})
    assert made.status_code == 200, made.text
    revision = int(made.headers["X-Etcd-Revision"])
    await compiler.quiet(revision, PATIENCE)

    # The compiler gave the tenant's network its target with its own user; nobody else writes that.
    name = {"type": "routing-instance", "fq_name": [*DEMO, "n", "n"]}
    instance = (await ann.post("/fqname-to-id", json=name)).json()["uuid"]
    path = f"/routing-instance/{instance}"
    (target,) = (await ann.get(path)).json()["routing-instance"]["route_target_refs"]
    detach = {"operation": "DELETE", "type": "routing-instance", "uuid": instance, "ref-type": "route-target",
              "ref-uuid": target["uuid"]}  # fmt: skip
    answer = await zoe.post("/ref-update", json=detach)
    assert (answer.status_code, "written by the compiler alone" in answer.text) == (403, True), answer.text

    # The neighbour sees and changes nothing of it.
    network = f"/virtual-network/{made.json()['virtual-network']['uuid']}"
    assert (await bob.get("/virtual-networks")).json() == {"virtual-networks": []}
    for method in ("GET", "DELETE"):
        assert (await bob.request(method, network)).status_code == 403
    item = {"kind": "virtual_network", "operation": "DELETE", "data": {"uuid": network.rsplit("/", 1)[1]}}
    assert (await bob.post("/sync", json={"resources": [item]})).status_code == 403
    assert (await ann.post("/int-pool", json={"pool": "route_target_number", "owner": "ann"})).status_code == 403
    assert (await ann.delete(network)).status_code == 200
    for opened in (ann, bob, zoe):
        await opened.aclose()
