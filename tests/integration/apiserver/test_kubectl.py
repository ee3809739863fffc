"""kubectl as a client of our API server, over real HTTP and a real etcd: each command that docs/kubernetes.md
names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import httpx2
import msgspec
import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.loading import load_schema
from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from tests.support.api_server import served
from tests.support.kubectl import Kubectl, lines, programs
from tests.support.programs import needed
from tests.support.waiting import PATIENCE, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

SAMPLE = Path(__file__).parents[3] / "sample" / "ambassador"
IN = ("-n", "sample")


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


@pytest.fixture(params=programs() or [""])
async def kubectl(request: pytest.FixtureRequest, client: httpx2.AsyncClient, tmp_path: Path) -> Kubectl:
    return Kubectl(request.param or needed("kubectl"), str(client.base_url), tmp_path)


async def test_the_sample_is_applied_changed_and_deleted(kubectl: Kubectl, tmp_path: Path) -> None:
    assert len(lines(await kubectl.out("apply", "-f", str(SAMPLE)))) == 11
    assert all(line.endswith("unchanged") for line in lines(await kubectl.out("apply", "-f", str(SAMPLE))))
    table = lines(await kubectl.out("get", "mappings", "-A"))
    assert table[0].split("  ")[0] == "NAMESPACE"
    assert [line.split()[:5] for line in table if "greeting-canary" in line] == [
        ["sample", "greeting-canary", "*", "/greeting/", "greeting-green"]
    ]
    changed = tmp_path / "routes.yaml"
    changed.write_text((SAMPLE / "routes.yaml").read_text().replace("weight: 10", "weight: 50"))
    difference = await kubectl("diff", "-f", str(changed))
    assert (difference.code, "-  weight: 10\n+  weight: 50" in difference.out) == (1, True), difference
    applied = lines(await kubectl.out("apply", "-f", str(changed)))
    assert [line for line in applied if "configured" in line] == ["mapping.getambassador.io/greeting-canary configured"]
    # What the file leaves out now is removed: kubectl compares with what it applied last.
    changed.write_text(changed.read_text().replace("  weight: 50\n", ""))
    await kubectl.out("apply", "-f", str(changed))
    assert "weight" not in await kubectl.out("get", "mapping", *IN, "greeting-canary", "-o", "jsonpath={.spec}")
    assert len(lines(await kubectl.out("delete", "-f", str(SAMPLE)))) == 11
    assert not await kubectl.out("get", "mappings,services", "-A", "-o", "name")


async def test_single_resources_are_changed_in_every_way(kubectl: Kubectl) -> None:
    await kubectl.out("apply", "-f", str(SAMPLE / "routes.yaml"), "-f", str(SAMPLE / "services.yaml"))
    await kubectl.out("label", "mapping", *IN, "greeting", "tier=front")
    await kubectl.out("annotate", "mapping", *IN, "greeting", "note=hi")
    assert lines(await kubectl.out("get", "mappings", "-A", "-l", "tier=front", "-o", "name")) == [
        "mapping.getambassador.io/greeting"
    ]
    named = await kubectl.out("get", "mappings", "-A", "--field-selector", "metadata.name=green-only", "-o", "name")
    assert lines(named) == ["mapping.getambassador.io/green-only"]
    await kubectl.out("patch", "mapping", *IN, "greeting", "--type", "merge", "-p", '{"spec":{"weight":30}}')
    replace = '[{"op":"replace","path":"/spec/weight","value":31}]'
    await kubectl.out("patch", "mapping", *IN, "greeting", "--type", "json", "-p", replace)
    await kubectl.out("edit", "mapping", *IN, "greeting", environment={"EDITOR": "sed -i s/weight:.31/weight:\\ 32/"})
    shown = "jsonpath={.spec.weight} {.metadata.labels.tier} {.metadata.annotations.note} {.metadata.generation}"
    assert await kubectl.out("get", "mapping", *IN, "greeting", "-o", shown) == "32 front hi 4"
    # A Service is a kind that kubectl knows: it sends a strategic merge patch.
    ports = '{"spec":{"ports":[{"port":80,"name":"http"}]}}'
    await kubectl.out("patch", "service", *IN, "greeting-blue", "-p", ports)
    port = await kubectl.out("get", "svc", *IN, "greeting-blue", "-o", "jsonpath={.spec.ports}")
    assert msgspec.json.decode(port) == [{"name": "http", "port": 80, "targetPort": 18081}]
    paged = lines(await kubectl.out("get", "mappings", "-A", "--chunk-size", "2", "-o", "name"))
    assert len(paged) == 4
    await kubectl.out("create", "-f", "-", stdin=await kubectl.out("create", "secret", "generic", "s", "--from-literal=a=b", "--dry-run=client", "-o", "yaml"))  # fmt: skip  # noqa: E501
    assert await kubectl.out("get", "secret", "s", "-o", "jsonpath={.data.a}") == "Yg=="


async def test_bad_input_names_the_field_and_unknown_names_are_not_found(kubectl: Kubectl) -> None:
    await kubectl.out("apply", "-f", str(SAMPLE / "routes.yaml"))
    wrong = await kubectl("patch", "mapping", *IN, "greeting", "--type", "merge", "-p", '{"spec":{"weigth":3}}')
    assert (wrong.code, "spec.weigth" in wrong.err, "did you mean weight?" in wrong.err) == (1, True, True), wrong
    missing = await kubectl("get", "mapping", *IN, "nothing")
    assert (missing.code, '"nothing" not found' in missing.err) == (1, True), missing


async def test_server_side_apply_reports_a_conflict_with_the_other_manager(kubectl: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "routes.yaml"
    apply = ("apply", "--server-side", "-f", str(file), "--field-manager")
    file.write_text((SAMPLE / "routes.yaml").read_text())
    await kubectl.out(*apply, "one")
    file.write_text(file.read_text().replace("weight: 10", "weight: 20"))
    conflict = await kubectl(*apply, "two")
    assert (conflict.code, 'conflict with "one"' in conflict.err, ".spec.weight" in conflict.err) == (1, True, True)
    await kubectl.out(*apply, "two", "--force-conflicts")
    assert await kubectl.out("get", "mapping", *IN, "greeting-canary", "-o", "jsonpath={.spec.weight}") == "20"


async def test_dry_runs_explanations_and_api_resources(kubectl: Kubectl) -> None:
    dry = await kubectl.out("apply", "--dry-run=server", "-f", str(SAMPLE))
    assert len(lines(dry)) == 11
    assert not await kubectl.out("get", "mappings", "-A", "-o", "name")
    assert "<integer>" in await kubectl.out("explain", "mapping.spec.weight")
    assert "FIELDS" in await kubectl.out("explain", "listener")
    assert "tcpmappings" in await kubectl.out("api-resources", "-o", "name")


async def test_a_watch_shows_changes(kubectl: Kubectl) -> None:
    await kubectl.out("apply", "-f", str(SAMPLE / "routes.yaml"))
    watching = kubectl.start("get", "mappings", *IN, "-w", "-o", "jsonpath={.metadata.name}={.spec.weight} ")
    assert watching.stdout is not None
    try:
        seen = ""
        with anyio.fail_after(PATIENCE):
            while "greeting-canary=10" not in seen:
                seen += await anyio.to_thread.run_sync(watching.stdout.read, 1)
            await kubectl.out("patch", "mapping", *IN, "greeting-canary", "--type", "merge", "-p", '{"spec":{"weight":11}}')  # fmt: skip  # noqa: E501
            while "greeting-canary=11" not in seen:
                seen += await anyio.to_thread.run_sync(watching.stdout.read, 1)
    finally:
        watching.kill()
        watching.wait()
        watching.stdout.close()


async def test_a_deletion_waits_for_the_last_finalizer(kubectl: Kubectl, client: httpx2.AsyncClient) -> None:
    await kubectl.out("apply", "-f", str(SAMPLE / "routes.yaml"))
    one = ("mapping", *IN, "green-only")
    finalizers = '{"metadata":{"finalizers":%s}}'
    await kubectl.out("patch", *one, "--type", "merge", "-p", finalizers % '["example.io/a"]')
    url = "/apis/getambassador.io/v3alpha1/namespaces/sample/mappings/green-only"

    async def is_ending() -> bool:
        return "deletionTimestamp" in (await client.get(url)).text

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kubectl.out, "delete", *one)
            await until_true(is_ending)
            await kubectl.out("patch", *one, "--type", "merge", "-p", finalizers % "null")
    assert (await client.get(url)).status_code == 404


async def test_undeclared_fields_are_warned_of_and_belong_to_nobody(kubectl: Kubectl) -> None:
    spec = {"sessionAffinity": "None", "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    for manager in ("a", "b"):
        command = ("apply", "--server-side", f"--field-manager={manager}", "-f", "-")
        done = await kubectl(*command, stdin=msgspec.json.encode(service).decode())
        assert (done.code, lines(done.err)) == (
            0,
            ['Warning: unknown field "spec.sessionAffinity": accepted, not stored'],
        )


async def test_a_condition_of_a_status_is_waited_for(etcd_store: EtcdStore, path: str, tmp_path: Path) -> None:
    program = needed("kubectl")
    schema = load_schema("app", directories=[Path(__file__).parents[2] / "support" / "app" / "schemas"])
    async with served(etcd_store, schema, path) as client:
        kubectl = Kubectl(program, str(client.base_url), tmp_path)
        app = {"apiVersion": "example.com/v1", "kind": "App", "metadata": {"name": "a"}, "spec": {"image": "x"}}
        await kubectl.out("apply", "-f", "-", stdin=msgspec.json.encode(app).decode())
        status = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Up", "message": ""}]}}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kubectl.out, "wait", "--for=condition=Ready", "app/a", "--timeout=60s")
            url = "/apis/example.com/v1/namespaces/default/apps/a/status"
            patched = await client.patch(url, json=status, headers={"content-type": "application/merge-patch+json"})
            assert patched.status_code == 200, patched.text
        assert (await client.get(url)).json()["metadata"]["generation"] == 1


@pytest.fixture
async def guarded(etcd_store: EtcdStore, schema: Schema, path: str) -> AsyncIterator[httpx2.AsyncClient]:
    users = [StaticUser("alice", "Alice", lambda: "a", roles=(StaticRole("admin", "admin", "admin"),))]
    async with served(etcd_store, schema, path, keystone=Keystone(users)) as opened:
        yield opened


async def test_kubectl_shows_a_token_of_our_keystone(guarded: httpx2.AsyncClient, tmp_path: Path) -> None:
    user = {"name": "Alice", "domain": {"id": "default"}, "password": "a"}
    body = {"auth": {"identity": {"methods": ["password"], "password": {"user": user}}}}
    token = (await guarded.post("/keystone/v3/auth/tokens", json=body)).headers["x-subject-token"]
    url = str(guarded.base_url)
    denied = await Kubectl(needed("kubectl"), url, tmp_path, "wrong")("get", "mappings", "-A")
    assert (denied.code, "Unauthorized" in denied.err or "logged in" in denied.err) == (1, True), denied
    answer = await guarded.get("/apis/getambassador.io/v3alpha1/mappings", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
