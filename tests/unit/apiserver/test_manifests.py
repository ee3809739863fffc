"""Kubernetes-shaped kinds at the API server: taken as manifests or flat, stored flat, strict at every depth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.loading import load_schema
from intentc.model import Key
from intentc.model.manifest import manifest_uuid
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import rejected

pytestmark = pytest.mark.anyio

NAME = ("shop", "r")
UUID = manifest_uuid("toy_route", NAME)
NEW = {"generation": 1, "creationTimestamp": "now"}


@pytest.fixture
def api(store: MemoryStore) -> ApiServer:
    schema = load_schema("toy", "ambassador", directories=[Path("tests/support/toy/schemas")])
    return ApiServer(store, schema, path="toy")


def manifest(spec: Any = None, *, version: str = "v1", kind: str = "ToyRoute", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"toy.intentc.io/{version}",
        "kind": kind,
        "metadata": {"name": "r", "namespace": "shop", **metadata},
        "spec": {"hostname": "h"} if spec is None else spec,
    }


async def stored(store: MemoryStore, kind: str = "toy_route", uuid: str = UUID) -> dict[str, Any]:
    (item,) = (await store.range(f"/toy/{kind}/{uuid}")).items
    assert item.value == msgspec.json.encode(msgspec.json.decode(item.value), order="sorted")
    found: dict[str, Any] = msgspec.json.decode(item.value)
    if "creationTimestamp" in found.get("metadata", {}):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["metadata"]["creationTimestamp"])
        found["metadata"]["creationTimestamp"] = "now"
    return {k: v for k, v in found.items() if k not in ("id_perms", "perms2", "display_name", "configuration_version")}


async def test_a_manifest_is_stored_flat(api: ApiServer, store: MemoryStore) -> None:
    spec = {"hostname": "h", "path": "/a", "backend": "web", "timeout_ms": None}
    await api.create("toy_route", manifest(spec, version="v1alpha1", labels={"app": "web"}, annotations={"a": "b"}))
    assert await stored(store) == {
        "uuid": UUID,
        "fq_name": ["shop", "r"],
        "name": "r",
        "api_version": "toy.intentc.io/v1alpha1",
        "stored_version": "toy.intentc.io/v1",
        "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}, **NEW},
        "hostname": "h",
        "match": {"prefix": "/a"},
        "service": "web",
    }


async def test_the_flat_form_is_taken_too_and_gets_the_same_uuid(api: ApiServer, store: MemoryStore) -> None:
    await api.create("toy-route", {"fq_name": ["shop", "r"], "hostname": "h", "metadata": {"labels": {"a": "b"}}})
    assert await stored(store) == {
        "uuid": UUID, "fq_name": ["shop", "r"], "name": "r", "hostname": "h",
        "metadata": {"labels": {"a": "b"}, **NEW}, "stored_version": "toy.intentc.io/v1",
    }  # fmt: skip


async def test_the_server_owns_generation_and_times(api: ApiServer, store: MemoryStore) -> None:
    stale: dict[str, Any] = {
        "generation": 9,
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    await api.create("toy_route", manifest(**stale))
    await api.update(Key("toy_route", UUID), manifest(labels={"a": "b"}, **stale))
    assert (await stored(store))["metadata"] == {"labels": {"a": "b"}, **NEW}, "labels are none of its generation"
    await api.update(Key("toy_route", UUID), {"metadata": {"labels": {"a": "c"}, **stale}, "timeout_ms": 5})
    assert (await stored(store))["metadata"] == {"labels": {"a": "c"}, **NEW, "generation": 2}


async def test_what_a_client_does_not_send_of_metadata_goes_or_stays(api: ApiServer, store: MemoryStore) -> None:
    key = Key("toy_route", UUID)
    owned: dict[str, Any] = {"finalizers": ["x.io/y"], "ownerReferences": [{"name": "o", "uid": "u"}]}
    await api.create("toy_route", manifest(labels={"a": "b"}, annotations={"c": "d"}, **owned))
    await api.update(key, manifest(annotations={"c": "d"}))
    assert (await stored(store))["metadata"] == {"annotations": {"c": "d"}, **owned, **NEW}
    await api.update(key, {"metadata": {"labels": {"a": "b"}}}, paths=["metadata.labels"])
    assert (await stored(store))["metadata"] == {"labels": {"a": "b"}, "annotations": {"c": "d"}, **owned, **NEW}
    await api.update(key, {"metadata": {}}, paths=["metadata.finalizers", "metadata.annotations"])
    await api.update(key, {"metadata": {"ownerReferences": []}})
    assert (await stored(store))["metadata"] == NEW


async def test_a_name_leads_to_its_resource(api: ApiServer) -> None:
    await api.create("toy_route", manifest())
    assert await api.identify("toy-route", NAME) == UUID
    assert (await api.get(Key("toy_route", UUID))).document["hostname"] == "h"


async def test_a_uid_is_kept(api: ApiServer) -> None:
    uid = "0f000000-0000-4000-8000-000000000001"
    assert (await api.create("toy_route", manifest(uid=uid))).document["uuid"] == uid


async def test_a_manifest_replaces_all_fields_of_the_user(api: ApiServer, store: MemoryStore) -> None:
    await api.create(
        "toy_route", manifest({"hostname": "h", "service": "web"}, labels={"a": "b"}, annotations={"c": "d"})
    )
    await api.update(Key("toy_route", UUID), manifest({"hostname": "i"}))
    assert await stored(store) == {
        "uuid": UUID, "fq_name": ["shop", "r"], "name": "r", "api_version": "toy.intentc.io/v1", "hostname": "i",
        "stored_version": "toy.intentc.io/v1", "metadata": {**NEW, "generation": 2},
    }  # fmt: skip


async def test_a_flat_update_leaves_other_fields_as_they_are(api: ApiServer, store: MemoryStore) -> None:
    await api.create("toy_route", manifest({"hostname": "h", "service": "web"}))
    await api.update(Key("toy_route", UUID), {"hostname": "i"})
    assert (await stored(store))["service"] == "web"


async def test_undeclared_fields_of_a_shared_kind_are_accepted_and_not_stored(
    api: ApiServer, store: MemoryStore
) -> None:
    ports = [{"port": 80, "nodePort": 3}]
    spec = {"type": "ClusterIP", "sessionAffinity": "None", "ports": ports}
    metadata = {"name": "s", "managedFields": [{}], "resourceVersion": "1"}
    await api.create(
        "service", {"apiVersion": "v1", "metadata": metadata, "spec": spec, "status": {"loadBalancer": {}}}
    )
    uuid = manifest_uuid("service", ("default", "s"))
    assert await stored(store, "service", uuid) == {
        "uuid": uuid, "fq_name": ["default", "s"], "name": "s", "api_version": "v1", "metadata": NEW,
        "type": "ClusterIP", "ports": [{"port": 80}], "stored_version": "v1",
    }  # fmt: skip
    await api.update(Key("service", uuid), {"sessionAffinity": "ClientIP", "type": "NodePort"})
    assert (await stored(store, "service", uuid)).keys() >= {"type", "ports"}
    assert "sessionAffinity" not in await stored(store, "service", uuid)


async def test_sync_takes_manifests_by_name_alone(api: ApiServer, store: MemoryStore) -> None:
    await api.sync([{"kind": "toy_route", "operation": "CREATE", "data": manifest()}])
    await api.sync([{"kind": "toy_route", "operation": "UPDATE", "data": manifest({"hostname": "i"})}])
    assert (await stored(store))["hostname"] == "i"
    await api.sync([{"kind": "toy_route", "operation": "DELETE", "data": manifest()}])
    with rejected(404):
        await api.get(Key("toy_route", UUID))


async def test_a_port_may_be_a_number_or_a_name(api: ApiServer, store: MemoryStore) -> None:
    ports = [{"port": 80, "targetPort": 8080, "nodePort": 3}, {"port": 81, "targetPort": "web"}]
    await api.create("service", {"apiVersion": "v1", "metadata": {"name": "s"}, "spec": {"ports": ports}})
    (item,) = (await store.range("/toy/service/", "/toy/service0")).items
    values = api.schema.kind("service").decode_values(item.value)
    assert [port.targetPort for port in values.ports] == [8080, "web"]
    with rejected(400, "ports[0].targetPort: must be an integer or a string"):
        await api.create("service", {"fq_name": ["a", "b"], "ports": [{"targetPort": True}]})


async def test_a_manifest_that_somebody_put_into_etcd_is_served_flat(api: ApiServer, store: MemoryStore) -> None:
    await store.transaction((), [Put(f"/toy/toy_route/{UUID}", msgspec.json.encode(manifest()))])
    shown = (await api.get(Key("toy_route", UUID))).document
    assert (shown["uuid"], shown["fq_name"], shown["hostname"]) == (UUID, ["shop", "r"], "h")
    await api.update(Key("toy_route", UUID), {"hostname": "i"})
    assert (await stored(store))["hostname"] == "i"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (manifest({"hostnam": "h"}), "toy-route has no field 'hostnam'; did you mean hostname?"),
        (manifest({"hostname": "h", "match": {"prefx": "/"}}), "no field 'match.prefx'; did you mean prefix?"),
        ({"fq_name": ["a", "b"], "hostname": "h", "match": {"x": 1}}, "no field 'match.x'; known are exact, prefix"),
        (manifest(lables={"a": "b"}), "no field 'metadata.lables'; did you mean labels?"),
        (manifest() | {"hostnam": "h"}, "no field 'hostnam'"),
        (manifest() | {"hostname": "h"}, "hostname stands at the top and in spec"),
        (manifest({"hostname": "h", "metadata": {}}), "metadata stands in metadata"),
        (manifest({"hostname": "h", "display_name": "x"}), "no field 'display_name'"),
        (manifest({"hostname": "h", "id_perms": {}}), "no field 'id_perms'"),
        (manifest({"hostname": 7}), "hostname: must be a string, is an integer"),
        (manifest({"hostname": "h", "match": []}), "match: must be an object, is a list"),
        (manifest([1]), "spec: Expected `object`"),
        (manifest({}), "hostname must be given"),
        (manifest({"hostname": None}), "hostname must be given"),
        (manifest(version="v2"), "apiVersion 'toy.intentc.io/v2' is not known"),
        (manifest(kind="ToyPod"), "the manifest's kind is 'ToyPod'"),
        (manifest(labels=[1]), "labels: must be an object"),
        (manifest(labels={"a": 1}), "labels[...]: must be a string"),
        (manifest(annotations=[1]), "annotations: Expected `object`"),
        (manifest(annotations={"a": 1}), "metadata.annotations[...]: must be a string"),
        (manifest(name=""), "metadata.name is missing"),
        (manifest(name="A_b"), "'A_b' is no name"),
        (manifest(name="a:b"), "'a:b' is no name"),
        (manifest(namespace="a/b"), "'a/b' is no name"),
        (manifest(name="a" * 254), "is no name"),
        (manifest(uid="abc"), "'abc' is no uuid"),
        ({"apiVersion": "toy.intentc.io/v1"}, "metadata.name is missing"),
        ({"metadata": "r", "apiVersion": "toy.intentc.io/v1"}, "metadata: Expected `object`"),
        (manifest() | {"fq_name": ["shop", "r"]}, "this is half a manifest"),
        ({"spec": {"hostname": "h"}}, "this is half a manifest"),
        ({"fq_name": ["a", "b"], "hostname": "h", "metadata": {"name": "b"}}, "this is half a manifest"),
        ({"fq_name": ["a", "b"], "hostname": "h", "metadata": {"x": 1}}, "no field 'metadata.x'"),
        ({"fq_name": ["r"], "hostname": "h"}, "fq_name must be [namespace, name]"),
        ({"fq_name": ["a", "b"], "hostname": "h", "parent_type": "x"}, "no field 'parent_type'"),
        ([], "must be a JSON object"),
        ("text", "must be a JSON object"),
    ],
)
async def test_a_bad_manifest_is_rejected_with_its_place(api: ApiServer, body: Any, words: str) -> None:
    with rejected(400, words):
        await api.create("toy_route", body)
    with rejected(400, words if isinstance(body, dict) else ""):
        await api.sync([{"kind": "toy_route", "data": body}])


async def test_a_required_field_can_not_be_cleared(api: ApiServer) -> None:
    await api.create("toy_route", manifest())
    for body in (manifest({}), {"hostname": None}):
        with rejected(400, "hostname must be given"):
            await api.update(Key("toy_route", UUID), body)


async def test_a_manifest_of_another_name_does_not_update_a_resource(api: ApiServer) -> None:
    await api.create("toy_route", manifest())
    with rejected(400, "fq_name can't be changed"):
        await api.update(Key("toy_route", UUID), manifest(name="other"))


async def test_a_name_is_given_once(api: ApiServer) -> None:
    await api.create("toy_route", manifest())
    with rejected(409, "exists already"):
        await api.create("toy_route", manifest(uid="0f000000-0000-4000-8000-000000000001"))


async def test_what_a_structured_type_requires_must_be_given(store: MemoryStore, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "types.yml").write_text("types: {Cookie: {name: {type: string, required: true}, path: string}}")
    (folder / "thing.yml").write_text(
        "kind: thing\ngroup: toy\nshape: kubernetes\nproperties: {cookies: {list: Cookie}}"
    )
    api = ApiServer(store, load_schema("made", directories=[tmp_path]), path="toy")
    with rejected(400, "cookies[0]: `name` is missing"):
        await api.create("thing", {"fq_name": ["a", "b"], "cookies": [{"path": "/"}]})
    await api.create("thing", {"fq_name": ["a", "b"], "cookies": [{"name": "x"}]})
