"""Large requests and small ones with large effects, over real HTTP: none holds the event loop for 50 ms of CPU.

What is allowed works: objects with thousands of elements are written and read. What is beyond a limit is rejected with
words.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx2
import pytest

from intentc.apiserver import threads
from intentc.loading import load_schema
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from tests.support.api_server import served
from tests.support.loop_holds import LONGEST, measured_holds

pytestmark = [pytest.mark.anyio, pytest.mark.http]

SERVICES = "/api/v1/namespaces/shop/services"
MAPPING = "/apis/getambassador.io/v3alpha1/namespaces/shop/mappings/m"
MERGE, PATCH, STRATEGIC, APPLY = (
    {"content-type": f"application/{name}"}
    for name in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
)
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
MANY = 3_000


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador", "contrail")


@pytest.fixture
async def api(schema: Schema, path: str) -> AsyncIterator[httpx2.AsyncClient]:
    store = MemoryStore()
    async with served(store, schema, path) as client:
        yield client
    await store.close()


def ports(count: int, name: str = "p") -> list[dict[str, Any]]:
    return [
        {"name": f"{name}{number}", "port": number, "protocol": "TCP", "targetPort": number}
        for number in range(1, count + 1)
    ]


def service(name: str, count: int, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **metadata},
        "spec": {"ports": ports(count)},
    }


def mapping(**more: Any) -> dict[str, Any]:
    spec = {"prefix": "/", "service": "s", "hostname": "*", **more}
    return {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Mapping",
        "metadata": {"name": "m"},
        "spec": spec,
    }


async def call(api: httpx2.AsyncClient, method: str, url: str, body: Any = None, **options: Any) -> httpx2.Response:
    """The answer to a call that must not hold the loop."""
    headers = {"content-type": "application/json", **options.pop("headers", {})}
    raw = b"" if body is None else json.dumps(body).encode()
    await api.get("/healthz")
    with measured_holds() as holds:
        answer = await api.request(method, url, content=raw, headers=headers, **options)
    assert holds.longest < LONGEST, (holds.longest, holds.by)
    return answer


def copies() -> Iterator[dict[str, Any]]:
    yield {"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}
    for number in range(22):
        yield {"op": "copy", "from": "/metadata", "path": f"/metadata/annotations/a{number}"}


SMALL_PATCHES: dict[str, tuple[dict[str, str], Any, int, str]] = {
    "a JSON patch that copies into itself": (PATCH, list(copies()), 413, "copies of this JSON patch"),
    "20,000 inserts": (
        PATCH,
        [{"op": "add", "path": "/spec/ports/0", "value": 0}] * 20_000,
        413,
        "10,000",
    ),
    "3,000 inserts": (
        PATCH,
        [{"op": "add", "path": "/spec/ports/0", "value": port} for port in ports(MANY, "new")],
        200,
        "",
    ),
    "unknown metadata": (MERGE, {"metadata": {f"unknown{number}": 1 for number in range(20_000)}}, 200, ""),
    "unknown fields": (MERGE, {"spec": {f"unknown{number}": 1 for number in range(20_000)}}, 200, ""),
    "20,000 labels": (MERGE, {"metadata": {"labels": {f"l{number}": "x" for number in range(20_000)}}}, 200, ""),
    "10,000 finalizers": (
        STRATEGIC,
        {"metadata": {"finalizers": [f"example.com/{number}" for number in range(10_000)]}},
        200,
        "",
    ),
    "10,000 deletions from a set": (
        STRATEGIC,
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"example.com/{n}" for n in range(10_000)]}},
        200,
        "",
    ),
}


async def test_a_patch_of_a_small_service_holds_the_loop_for_a_moment(api: httpx2.AsyncClient) -> None:
    for number, (what, (headers, patch, status, words)) in enumerate(SMALL_PATCHES.items()):
        assert (await call(api, "POST", SERVICES, service(f"s{number}", 2))).status_code == 201
        answer = await call(api, "PATCH", f"{SERVICES}/s{number}", patch, headers=headers)
        assert (answer.status_code, words in answer.text) == (status, True), (what, answer.text[:500])
        assert (await api.get(f"{SERVICES}/s{number}")).status_code == 200


async def test_a_service_of_thousands_of_ports_is_created_changed_and_read(api: httpx2.AsyncClient) -> None:
    assert (await call(api, "POST", SERVICES, service("a", MANY))).status_code == 201
    labelled = await call(api, "PATCH", f"{SERVICES}/a", {"metadata": {"labels": {"x": "y"}}}, headers=MERGE)
    assert labelled.json()["metadata"]["labels"] == {"x": "y"}
    renamed = await call(api, "PATCH", f"{SERVICES}/a", {"spec": {"ports": ports(MANY, "r")}}, headers=STRATEGIC)
    assert renamed.json()["spec"]["ports"] == ports(MANY, "r")
    order = {"spec": {"$setElementOrder/ports": [{"port": MANY - number} for number in range(MANY)]}}
    reordered = await call(api, "PATCH", f"{SERVICES}/a", order, headers=STRATEGIC)
    assert reordered.json()["spec"]["ports"] == ports(MANY, "r")[::-1]
    assert len((await call(api, "GET", f"{SERVICES}/a")).json()["spec"]["ports"]) == MANY


async def test_thousands_of_ports_are_applied_left_out_and_contended(api: httpx2.AsyncClient) -> None:
    url = f"{SERVICES}/a"

    async def applied(count: int, manager: str, **more: Any) -> httpx2.Response:
        params = {"fieldManager": manager, **more.pop("params", {})}
        return await call(api, "PATCH", url, service("a", count, **more), params=params, headers=APPLY)

    assert (await applied(MANY, "one")).status_code == 201
    assert (await applied(MANY, "one", labels={"a": "b"})).json()["metadata"]["labels"] == {"a": "b"}
    assert (await applied(MANY // 2, "one")).json()["spec"]["ports"] == ports(MANY // 2)
    other = service("a", MANY // 2)
    other["spec"]["ports"] = ports(MANY // 2, "other")
    conflict = await call(api, "PATCH", url, other, params={"fieldManager": "two"}, headers=APPLY)
    assert conflict.status_code == 409
    assert f"{MANY // 2:,} conflicts" in conflict.json()["message"]
    forced = await call(api, "PATCH", url, other, params={"fieldManager": "two", "force": "true"}, headers=APPLY)
    assert forced.json()["spec"]["ports"] == ports(MANY // 2, "other")


@pytest.mark.parametrize("validation", ["", "Strict", "Warn", "Ignore"])
async def test_thousands_of_unknown_fields_are_answered_in_words(api: httpx2.AsyncClient, validation: str) -> None:
    assert (await call(api, "POST", MAPPING.removesuffix("/m"), mapping())).status_code == 201
    unknown = {"spec": {f"unknown{number}": 1 for number in range(20_000)}}
    params = {"fieldValidation": validation} if validation else {}
    answer = await call(api, "PATCH", MAPPING, unknown, params=params, headers=MERGE)
    assert answer.status_code == {"": 422, "Strict": 400}.get(validation, 200)
    assert len(answer.content) < 10_000


async def test_a_secret_of_a_megabyte_is_created_and_read(api: httpx2.AsyncClient) -> None:
    url = "/api/v1/namespaces/shop/secrets"
    data = {f"k{number}": "x" * 7_000 for number in range(100)}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": data}
    assert (await call(api, "POST", url, body)).status_code == 201
    assert len((await call(api, "GET", f"{url}/s")).content) > 900_000


async def test_a_list_of_thousands_holds_the_loop_for_a_moment(api: httpx2.AsyncClient) -> None:
    for number in range(60):
        assert (await api.post(SERVICES, json=service(f"s{number}", 100))).status_code == 201
    for rows, headers in (("items", {}), ("rows", TABLE)):
        answer = await call(api, "GET", "/api/v1/services", headers=headers)
        assert len(answer.json()[rows]) == 60
        watched = await call(api, "GET", "/api/v1/services?watch=true&timeoutSeconds=1", headers=headers)
        assert watched.text.count('"ADDED"') == 60


async def test_writes_in_threads_of_one_resource_do_not_overwrite_each_other(api: httpx2.AsyncClient) -> None:
    assert (await api.post(SERVICES, json=service("a", 300))).status_code == 201

    async def label(name: str) -> None:
        answer = await api.patch(f"{SERVICES}/a", json={"metadata": {"labels": {name: "x"}}}, headers=MERGE)
        assert answer.status_code == 200, answer.text

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(label, f"l{number}")
    found = (await api.get(f"{SERVICES}/a")).json()["metadata"]["labels"]
    assert sorted(found) == [f"l{number}" for number in range(8)]


@pytest.mark.parametrize("url", [SERVICES, "/virtual-networks"])
async def test_a_request_behind_many_large_ones_gets_retry_after(
    api: httpx2.AsyncClient, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_MOST_WAITING", 0)
    answer = await call(api, "POST", url, service("a", MANY))
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert "many large requests" in answer.json()["message"]


PROJECT = ["default-domain", "default-project"]


async def network(api: httpx2.AsyncClient, **fields: Any) -> str:
    body = {"virtual-network": {"fq_name": [*PROJECT, "n"], "parent_type": "project", **fields}}
    uuid: str = (await api.post("/virtual-networks", json=body)).json()["virtual-network"]["uuid"]
    return uuid


async def test_thousands_of_elements_of_a_map_are_set_changed_and_deleted(api: httpx2.AsyncClient) -> None:
    uuid = await network(api)

    async def updated(operation: str, value: str) -> list[dict[str, str]]:
        updates = [
            {"field": "annotations", "operation": operation, "position": f"k{number}"}
            | ({"value": {"key": f"k{number}", "value": value}} if operation == "set" else {})
            for number in range(10_000)
        ]
        answer = await call(api, "POST", "/prop-collection-update", {"uuid": uuid, "updates": updates})
        assert answer.status_code == 200, answer.text
        found = (await call(api, "GET", f"/virtual-network/{uuid}")).json()["virtual-network"]
        pairs: list[dict[str, str]] = (found.get("annotations") or {}).get("key_value_pair") or []
        return pairs

    for value in ("x", "y"):
        pairs = await updated("set", value)
        assert [pair["key"] for pair in pairs] == [f"k{number}" for number in range(10_000)]
        assert {pair["value"] for pair in pairs} == {value}
    assert await updated("delete", "") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"route_target_list": {"route_target": [f"target:64512:{number}" for number in range(1, 8_000)]}},
        {"perms2": {"share": [{"tenant": f"project:{number}", "tenant_access": 7} for number in range(10_000)]}},
        {"annotations": {"key_value_pair": [{"key": f"k{number}", "value": "x"} for number in range(20_000)]}},
        {"display_name": "x" * 1_000_000},
    ],
    ids=["targets", "shares", "annotations", "a long text"],
)
async def test_a_network_of_thousands_of_parts_holds_the_loop_for_a_moment(
    api: httpx2.AsyncClient, fields: dict[str, Any]
) -> None:
    uuid = await network(api)
    answer = await call(api, "PUT", f"/virtual-network/{uuid}", {"virtual-network": fields})
    assert answer.status_code == 200, answer.text[:500]
    assert (await call(api, "GET", "/virtual-networks?detail=true")).status_code == 200


async def test_one_sync_does_not_change_one_resource_thousands_of_times(api: httpx2.AsyncClient) -> None:
    uuid = await network(api)

    async def synced(times: int) -> httpx2.Response:
        item = {"kind": "virtual_network", "operation": "UPDATE", "data": {"uuid": uuid, "display_name": "x"}}
        return await call(api, "POST", "/sync", {"resources": [item] * times})

    assert (await synced(16)).status_code == 200
    rejected = await synced(4_000)
    assert (rejected.status_code, "at most 16 items of one resource" in rejected.text) == (413, True)
