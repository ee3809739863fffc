"""Resources through the Kubernetes-compatible API: what each verb does, and what a client gets for bad input."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.model import Key
from intentc.model.manifest import WHOLE_COPY
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import prefix_end

pytestmark = pytest.mark.anyio

MAPPINGS = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings"
SERVICES = "/api/v1/namespaces/shop/services"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def mapping(name: str = "m", *, spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Mapping",
        "metadata": {"name": name, **metadata},
        "spec": {"prefix": "/m/", "service": "web"} if spec is None else spec,
    }


async def made(kube: httpx2.AsyncClient, name: str = "m", **more: Any) -> dict[str, Any]:
    answer = await kube.post(MAPPINGS, json=mapping(name, **more))
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def status_of(answer: httpx2.Response) -> tuple[int, str, str]:
    body = answer.json()
    assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", answer.status_code)
    return answer.status_code, body["reason"], body["message"]


async def test_rest_and_manifests_show_the_same(kube: httpx2.AsyncClient, server: ApiServer) -> None:
    created = await made(kube)
    document = (await server.get(Key("mapping", created["metadata"]["uid"]))).document
    assert (document["fq_name"], document["prefix"]) == (["shop", "m"], "/m/")
    await server.update(Key("mapping", document["uuid"]), {"weight": 7})
    assert (await kube.get(f"{MAPPINGS}/m")).json()["spec"]["weight"] == 7


async def test_sync_finds_by_its_name_what_a_client_created(kube: httpx2.AsyncClient) -> None:
    for item in (
        {"operation": "UPDATE", "data": mapping(spec={"prefix": "/n/", "service": "web"}, namespace="shop")},
        {"operation": "DELETE", "data": mapping(namespace="shop")},
    ):
        await made(kube) if item["operation"] == "UPDATE" else None
        answer = await kube.post("/sync", json={"resources": [{"kind": "mapping", **item}]})
        assert answer.status_code == 200, answer.text
        found = await kube.get(f"{MAPPINGS}/m")
        assert found.status_code == (200 if item["operation"] == "UPDATE" else 404)
        assert found.status_code == 404 or found.json()["spec"]["prefix"] == "/n/"


async def test_an_older_version_shows_the_same_and_a_label_does_not_convert_it(
    kube: httpx2.AsyncClient, server: ApiServer
) -> None:
    older = MAPPINGS.replace("v3alpha1", "v2")
    body = {**mapping(), "apiVersion": "getambassador.io/v2"}
    created = (await kube.post(older, json=body)).json()
    assert created["apiVersion"] == "getambassador.io/v2"
    key = Key("mapping", created["metadata"]["uid"])
    patched = await kube.patch(f"{MAPPINGS}/m", json={"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
    assert (patched.json()["apiVersion"], patched.json()["metadata"]["generation"]) == ("getambassador.io/v3alpha1", 1)
    assert (await server.get(key)).document["api_version"] == "getambassador.io/v2"
    await kube.patch(f"{MAPPINGS}/m", json={"spec": {"weight": 1}}, headers=MERGE)
    assert (await server.get(key)).document["api_version"] == "getambassador.io/v3alpha1"


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"weight": 300}, "spec.weight", "must be an integer at most 100"),
        ({"weigth": 3}, "spec.weigth", "did you mean weight?"),
        ({"retry_policy": {"retry_om": "5xx"}}, "spec.retry_policy.retry_om", "did you mean retry_on?"),
        ({"service": None}, "spec.service", "must be given"),
        ({"circuit_breakers": [{"max_retries": "many"}]}, "spec.circuit_breakers[0].max_retries", "integer"),
    ],
)
async def test_bad_input_names_the_field_and_a_suggestion(
    kube: httpx2.AsyncClient, spec: Any, field: str, words: str
) -> None:
    await made(kube)
    answer = await kube.patch(f"{MAPPINGS}/m", json={"spec": spec}, headers=MERGE)
    code, reason, message = status_of(answer)
    assert (code, reason) == (422, "Invalid")
    assert message.startswith(f'Mapping.getambassador.io "m" is invalid: {field}: ')
    assert words in message
    details = answer.json()["details"]
    assert (details["kind"], details["causes"][0]["field"]) == ("Mapping", field)


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({"kind": "Host"}, 400, "the URL is that of Mapping"),
        ({"apiVersion": "v1"}, 400, "the URL is that of getambassador.io/v3alpha1"),
        ({"metadata": {"name": "m", "namespace": "other"}}, 400, "the URL's is 'shop'"),
        ({"metadata": {"name": "m", "resourceVersion": "1"}}, 400, "should not be set"),
        ({"metadata": {}}, 422, "name or generateName is required"),
        ({"metadata": {"name": "No Name"}}, 422, "is no name"),
        ({"metadata": {"name": "m", "labels": []}}, 201, ""),
        ({"metadata": {"name": "m", "labels": ["a"]}}, 422, "metadata.labels"),
        ({"metadata": 3}, 422, "metadata"),
    ],
)
async def test_a_creation_must_fit_its_url(kube: httpx2.AsyncClient, body: Any, code: int, words: str) -> None:
    answer = await kube.post(MAPPINGS, json={**mapping(), **body})
    assert (answer.status_code, words in answer.text) == (code, True), answer.text


async def test_generated_names_are_free(kube: httpx2.AsyncClient) -> None:
    body = mapping(generateName="m-")
    del body["metadata"]["name"]
    names = {(await kube.post(MAPPINGS, json=body)).json()["metadata"]["name"] for _ in range(2)}
    assert len(names) == 2 and all(name.startswith("m-") for name in names)


async def test_dry_runs_write_nothing(kube: httpx2.AsyncClient, store: MemoryStore) -> None:
    await made(kube)
    before = (await store.range("/", prefix_end("/"))).revision
    answer = await kube.post(f"{MAPPINGS}?dryRun=All", json=mapping("other"))
    assert (answer.status_code, answer.json()["metadata"]["name"]) == (201, "other")
    patched = await kube.patch(f"{MAPPINGS}/m?dryRun=All", json={"spec": {"weight": 1}}, headers=MERGE)
    assert patched.json()["spec"]["weight"] == 1
    assert (await kube.delete(f"{MAPPINGS}/m?dryRun=All")).json()["status"] == "Success"
    assert status_of(await kube.post(f"{MAPPINGS}?dryRun=All", json=mapping()))[1] == "AlreadyExists"
    assert (await store.range("/", prefix_end("/"))).revision == before
    assert status_of(await kube.post(f"{MAPPINGS}?dryRun=some", json=mapping("x")))[:2] == (422, "Invalid")


async def test_only_the_owners_change_and_the_version_stays(kube: httpx2.AsyncClient) -> None:
    created = await made(kube)
    content = msgspec.yaml.encode(mapping())
    shared = (await kube.patch(f"{MAPPINGS}/m?fieldManager=b", content=content, headers=APPLY)).json()
    assert {one["manager"] for one in shared["metadata"]["managedFields"]} == {"b", "python-httpx2"}
    assert shared["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert (await kube.get(f"{MAPPINGS}/m")).json() == shared
    changed = await kube.put(f"{MAPPINGS}/m", json={**shared, "spec": {**shared["spec"], "weight": 1}})
    assert changed.status_code == 200, changed.text


async def test_what_kubectl_applied_is_kept_beside_the_resource(
    kube: httpx2.AsyncClient, server: ApiServer, store: MemoryStore
) -> None:
    created = await made(kube, annotations={WHOLE_COPY: "{secret}", "note": "x"})
    assert created["metadata"]["annotations"] == {WHOLE_COPY: "{secret}", "note": "x"}
    (stored,) = (await store.range("/t/mapping/", "/t/mapping0")).items
    assert b"secret" not in stored.value
    (listed,) = (await kube.get(MAPPINGS)).json()["items"]
    assert listed["metadata"]["annotations"][WHOLE_COPY] == "{secret}"
    await server.delete(Key("mapping", created["metadata"]["uid"]))
    assert not (await store.range("/intentc/apiserver/t/beside/", "/intentc/apiserver/t/beside0")).items


async def test_lists_are_selected_sorted_and_paged(kube: httpx2.AsyncClient) -> None:
    for name in ("c", "a", "b"):
        await made(kube, name, labels={"odd": str(name != "b")})
    await kube.post(MAPPINGS.replace("shop", "other"), json=mapping("z"))
    whole = (await kube.get(MAPPINGS)).json()
    assert (whole["kind"], [one["metadata"]["name"] for one in whole["items"]]) == ("MappingList", ["a", "b", "c"])
    everywhere = (await kube.get("/apis/getambassador.io/v3alpha1/mappings")).json()
    assert [one["metadata"]["name"] for one in everywhere["items"]] == ["z", "a", "b", "c"]
    odd = (await kube.get(f"{MAPPINGS}?labelSelector=odd%3DTrue&fieldSelector=metadata.name!%3Dc")).json()
    assert [one["metadata"]["name"] for one in odd["items"]] == ["a"]

    first = (await kube.get(f"{MAPPINGS}?limit=2")).json()
    await kube.delete(f"{MAPPINGS}/a")
    token = first["metadata"]["continue"]
    second = (await kube.get(f"{MAPPINGS}?limit=2&continue={token}")).json()
    assert sorted(one["metadata"]["name"] for one in first["items"] + second["items"]) == ["a", "b", "c"]
    assert second["metadata"] == {"resourceVersion": first["metadata"]["resourceVersion"]}


async def test_a_page_whose_revision_is_compacted_has_expired(kube: httpx2.AsyncClient, store: MemoryStore) -> None:
    for name in ("a", "b", "c"):
        await made(kube, name)
    first = (await kube.get(f"{MAPPINGS}?limit=1")).json()
    await made(kube, "d")
    await store.compact((await store.range("/")).revision)
    answer = await kube.get(f"{MAPPINGS}?limit=1&continue={first['metadata']['continue']}")
    assert status_of(answer)[:2] == (410, "Expired")
    answer = await kube.get(f"{MAPPINGS}?limit=1&continue=nonsense")
    assert status_of(answer)[:2] == (400, "BadRequest")


async def test_discovery_names_groups_versions_and_resources(kube: httpx2.AsyncClient) -> None:
    groups = (await kube.get("/apis")).json()["groups"]
    ambassador = next(one for one in groups if one["name"] == "getambassador.io")
    assert ambassador["preferredVersion"]["version"] == "v3alpha1"
    resources = (await kube.get("/apis/getambassador.io/v3alpha1")).json()["resources"]
    one = next(one for one in resources if one["name"] == "tcpmappings")
    assert (one["kind"], one["namespaced"], "watch" in one["verbs"]) == ("TCPMapping", True, True)
    classes = (await kube.get("/apis/networking.k8s.io/v1")).json()["resources"]
    assert next(one for one in classes if one["name"] == "ingressclasses")["namespaced"] is False
    accept = {"accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
    together = await kube.get("/apis", headers=accept)
    assert together.headers["content-type"].endswith("as=APIGroupDiscoveryList")
    assert {item["metadata"]["name"] for item in together.json()["items"]} == {one["name"] for one in groups}
    assert (await kube.get("/api")).json()["versions"] == ["v1"]
    # kubectl takes the first group that has ingresses.
    names = [one["name"] for one in groups]
    assert names.index("networking.k8s.io") < names.index("extensions")


@pytest.mark.parametrize(
    ("method", "path", "code", "words"),
    [
        ("GET", "/apis/no.such.group", 404, "getambassador.io"),
        ("GET", "/apis/getambassador.io/v9/mappings", 404, "there are v3alpha1"),
        ("GET", "/apis/getambassador.io/v3alpha1/mapings", 404, "did you mean mappings"),
        ("GET", f"{MAPPINGS}/m/scale", 404, "not offered"),
        ("GET", "/apis/getambassador.io/v3alpha1/mappings/m", 404, "in a namespace"),
        ("POST", f"{MAPPINGS}/m", 405, "not allowed"),
        ("POST", "/apis", 405, "not allowed"),
        ("GET", "/openapi/v3/apis/no/v1", 404, "could not find"),
    ],
)
async def test_what_is_not_offered_is_answered_with_a_status(
    kube: httpx2.AsyncClient, method: str, path: str, code: int, words: str
) -> None:
    answer = await kube.request(method, path, json={} if method == "POST" else None)
    assert status_of(answer)[0] == code
    assert words in answer.json()["message"]


async def test_openapi_documents_let_clients_check_dry_run_and_fields(kube: httpx2.AsyncClient) -> None:
    index = (await kube.get("/openapi/v3")).json()["paths"]
    url = index["apis/getambassador.io/v3alpha1"]["serverRelativeURL"]
    document = (await kube.get(url)).json()
    schema = document["components"]["schemas"]["io.getambassador.v3alpha1.Mapping"]
    assert schema["properties"]["spec"]["properties"]["weight"]["type"] == "integer"
    patch = document["paths"]["/apis/getambassador.io/v3alpha1/namespaces/{namespace}/mappings/{name}"]["patch"]
    assert {"dryRun", "fieldValidation"} <= {one["name"] for one in patch["parameters"]}
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Mapping"
    older = (await kube.get("/openapi/v2")).json()
    assert "io.getambassador.v2.Mapping" in older["definitions"]
    binary = await kube.get("/openapi/v2", headers={"accept": "application/com.github.proto-openapi.spec.v2@v1.0"})
    assert b"io.getambassador.v2.Mapping" in binary.content
