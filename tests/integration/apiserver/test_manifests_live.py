"""Manifests over HTTP through the REST calls of the real API server, on a real etcd."""

from __future__ import annotations

from typing import Any

import httpx2
import msgspec
import pytest

from intentc.loading import load_schema
from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import prefix_end

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

MAPPING: dict[str, Any] = {
    "apiVersion": "getambassador.io/v3alpha1",
    "kind": "Mapping",
    "metadata": {"name": "echo", "namespace": "shop"},
    "spec": {"hostname": "*", "prefix": "/echo/", "service": "echo", "rewrite": "/"},
}


@pytest.fixture(scope="module")
def schema() -> Schema:
    return load_schema("ambassador")


async def test_a_manifest_is_created_replaced_listed_and_deleted(
    client: httpx2.AsyncClient, etcd_store: EtcdStore, path: str
) -> None:
    created = await client.post("/mappings", json={"mapping": MAPPING})
    assert created.status_code == 200, created.text
    uuid = created.json()["mapping"]["uuid"]
    named = await client.post("/fqname-to-id", json={"type": "mapping", "fq_name": ["shop", "echo"]})
    assert named.json() == {"uuid": uuid}

    less = {**MAPPING, "spec": {"hostname": "*", "prefix": "/echo/", "service": "echo:81"}}
    assert (await client.put(f"/mapping/{uuid}", json={"mapping": less})).status_code == 200
    (stored,) = (await etcd_store.range(f"/{path}/mapping/{uuid}")).items
    document = msgspec.json.decode(stored.value)
    assert (document["service"], "rewrite" in document, "spec" in document) == ("echo:81", False, False)

    listed = (await client.get("/mappings?detail=true")).json()["mappings"]
    assert [entry["mapping"]["prefix"] for entry in listed] == ["/echo/"]
    assert (await client.delete(f"/mapping/{uuid}")).status_code == 200
    assert not (await etcd_store.range(f"/{path}/mapping/", prefix_end(f"/{path}/mapping/"))).items


async def test_a_bad_manifest_in_a_batch_is_named_and_nothing_is_written(client: httpx2.AsyncClient) -> None:
    bad = {**MAPPING, "metadata": {"name": "bad"}, "spec": {**MAPPING["spec"], "retry_policy": {"retry_om": "5xx"}}}
    answer = await client.post("/sync", json={"resources": [{"kind": "mapping", "data": m} for m in (MAPPING, bad)]})
    assert (answer.status_code, answer.json()["item"]) == (400, 1)
    assert answer.json()["detail"] == "mapping has no field 'retry_policy.retry_om'; did you mean retry_on?"
    assert (await client.get("/mappings")).json() == {"mappings": []}
