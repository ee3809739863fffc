"""kubectl on our API server: what works on every cluster, whatever its kinds: namespaces, secrets, deletions with
propagation, validation, subresources."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import msgspec
import pytest

from intentc.loading import load_schema
from intentc.model import Schema
from tests.support.kubectl import Kubectl, lines, programs
from tests.support.programs import needed
from tests.support.waiting import PATIENCE, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

ROUTES = Path(__file__).parents[3] / "sample" / "ambassador" / "routes.yaml"
IN = ("-n", "sample")


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


@pytest.fixture(params=programs() or [""])
async def kubectl(request: pytest.FixtureRequest, client: httpx2.AsyncClient, tmp_path: Path) -> Kubectl:
    return Kubectl(request.param or needed("kubectl"), str(client.base_url), tmp_path)


async def test_namespaces_are_listed_and_need_not_exist(kubectl: Kubectl) -> None:
    await kubectl.out("apply", "-f", str(ROUTES))
    assert lines(await kubectl.out("get", "namespaces", "-o", "name")) == []
    namespace = await kubectl.out("create", "namespace", "sample", "--dry-run=client", "-o", "yaml")
    await kubectl.out("apply", "-f", "-", stdin=namespace)
    table = lines(await kubectl.out("get", "namespaces"))
    assert (table[0].split(), table[1].split()[0]) == (["NAME", "AGE"], "sample")
    missing = await kubectl("get", "mapping", "-n", "nowhere", "m")
    assert (missing.code, '"m" not found' in missing.err) == (1, True), missing
    await kubectl.out("delete", "namespace", "sample")
    assert await kubectl.out("get", "mapping", *IN, "greeting", "-o", "name")


async def test_a_secret_is_created_and_its_texts_are_encoded(kubectl: Kubectl) -> None:
    create = ("create", "secret", "generic", "one", "--from-literal=a=b")
    await kubectl.out("create", "-f", "-", stdin=await kubectl.out(*create, "--dry-run=client", "-o", "yaml"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "two"}, "stringData": {"a": "b"}}
    for _ in range(2):
        await kubectl.out("apply", "-f", "-", stdin=msgspec.json.encode(secret).decode())
    for name in ("one", "two"):
        shown = "jsonpath={.data}{.stringData}"
        assert await kubectl.out("get", "secret", name, "-o", shown) == '{"a":"Yg=="}'


@pytest.mark.parametrize("policy", ["background", "foreground", "orphan"])
async def test_a_deletion_ends_whatever_its_propagation(kubectl: Kubectl, policy: str) -> None:
    await kubectl.out("apply", "-f", str(ROUTES))
    await kubectl.out("delete", "mapping", *IN, "greeting", f"--cascade={policy}")
    assert (await kubectl("get", "mapping", *IN, "greeting")).code == 1
    await kubectl.out("delete", "mappings", *IN, "--all", f"--cascade={policy}")
    assert await kubectl.out("get", "mappings", *IN, "-o", "name") == ""


async def test_a_resource_is_replaced_and_created_again_with_another_uid(kubectl: Kubectl, tmp_path: Path) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    file = tmp_path / "service.json"
    file.write_bytes(msgspec.json.encode(service))
    await kubectl.out("create", "-f", str(file))
    uid = ("get", "service", "s", "-o", "jsonpath={.metadata.uid}")
    former = await kubectl.out(*uid)
    file.write_bytes(msgspec.json.encode({**service, "spec": {"ports": [{"port": 90}]}}))
    await kubectl.out("replace", "-f", str(file))
    assert await kubectl.out(*uid) == former
    await kubectl.out("replace", "--force", "-f", str(file))
    assert await kubectl.out(*uid) not in ("", former)


@pytest.fixture
def newest(client: httpx2.AsyncClient, tmp_path: Path) -> Kubectl:
    return Kubectl(needed("kubectl"), str(client.base_url), tmp_path)


async def test_the_end_of_a_resource_is_waited_for(newest: Kubectl, client: httpx2.AsyncClient) -> None:
    await newest.out("apply", "-f", str(ROUTES))
    one = ("mapping", *IN, "greeting")
    await newest.out("patch", *one, "--type", "merge", "-p", '{"metadata":{"finalizers":["example.io/a"]}}')
    await newest.out("delete", *one, "--wait=false")
    url = "/apis/getambassador.io/v3alpha1/namespaces/sample/mappings/greeting"
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(newest.out, "wait", "--for=delete", "mapping/greeting", *IN, "--timeout=100s")
            await newest.out("patch", *one, "--type", "json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')

            async def is_gone() -> bool:
                return (await client.get(url)).status_code == 404

            await until_true(is_gone)


async def test_unknown_fields_are_rejected_or_warned_of_as_the_user_requests(newest: Kubectl) -> None:
    spec = {"prefix": "/m/", "service": "web", "weigth": 3}
    head = {"apiVersion": "getambassador.io/v3alpha1", "kind": "Mapping", "metadata": {"name": "m"}}
    body = msgspec.json.encode({**head, "spec": spec}).decode()
    strict = await newest("create", "--validate=strict", "-f", "-", stdin=body)
    assert (strict.code, 'unknown field "spec.weigth"' in strict.err, "did you mean weight?" in strict.err) == (
        1, True, True
    ), strict  # fmt: skip
    warned = await newest("create", "--validate=warn", "-f", "-", stdin=body)
    assert (warned.code, 'Warning: unknown field "spec.weigth"' in warned.err) == (0, True), warned
    await newest.out("delete", "mapping", "m")
    ignored = await newest("create", "--validate=ignore", "-f", "-", stdin=body)
    assert (ignored.code, ignored.err) == (0, "")
    assert await newest.out("get", "mapping", "m", "-o", "jsonpath={.spec.weigth}") == ""


async def test_a_status_is_patched_and_applied(newest: Kubectl) -> None:
    await newest.out("apply", "-f", str(ROUTES))
    one = ("mapping", *IN, "greeting")
    state = ("get", *one, "-o", "jsonpath={.status.state} {.metadata.generation}")
    patch = ("patch", *one, "--subresource=status", "--type", "merge", "-p")
    await newest.out(*patch, '{"status":{"state":"Broken"}}')
    assert await newest.out(*state) == "Broken 1"
    head = {"apiVersion": "getambassador.io/v3alpha1", "kind": "Mapping"}
    body = {**head, "metadata": {"name": "greeting", "namespace": "sample"}, "status": {"state": "Running"}}
    apply = ("apply", "--server-side", "--subresource=status", "-f", "-", "--field-manager=mine", "--force-conflicts")
    await newest.out(*apply, stdin=msgspec.json.encode(body).decode())
    assert await newest.out(*state) == "Running 1"


async def test_a_body_in_protobuf_is_answered_with_what_to_do(newest: Kubectl) -> None:
    refused = await newest("create", "namespace", "sample")
    assert (refused.code, "--dry-run=client -o yaml | kubectl apply" in refused.err) == (1, True), refused
