"""A deleted resource with finalizers stays until the last one is removed (docs/engine.md §14.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.apiserver.api_server import ApiServer, Call
from intentc.apiserver.authorization import Caller, Mode, Policy
from intentc.apiserver.errors import ApiError
from intentc.loading import load_schema
from intentc.model import Key
from intentc.model.manifest import manifest_uuid
from intentc.watch.memory import MemoryStore

from .conftest import rejected

pytestmark = pytest.mark.anyio

APP = Key("app", manifest_uuid("app", ("shop", "web")))
OURS, THEIRS = "example.com/app", "example.com/other"
SCHEMA = load_schema("app", directories=[Path("tests/support/app/schemas")])


@pytest.fixture
def api(store: MemoryStore) -> ApiServer:
    return ApiServer(store, SCHEMA)


def app(*finalizers: str, **fields: Any) -> dict[str, Any]:
    return {"fq_name": ["shop", "web"], "image": "web:1", "metadata": {"finalizers": list(finalizers)}, **fields}


async def metadata(api: ApiServer, key: Key = APP) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get(key)).document["metadata"]
    return found


async def exists(api: ApiServer, key: Key = APP) -> bool:
    try:
        await api.get(key)
    except ApiError as error:
        assert error.status == 404
        return False
    return True


async def set_finalizers(api: ApiServer, *finalizers: str) -> None:
    await api.update(APP, {"metadata": {"finalizers": list(finalizers)}}, paths=["metadata.finalizers"])


async def test_without_finalizers_it_is_removed_at_once(api: ApiServer) -> None:
    await api.create("app", app())
    await api.delete(APP)
    assert not await exists(api)


async def test_it_stays_until_the_last_finalizer_is_removed(api: ApiServer) -> None:
    await api.create("app", app(OURS, THEIRS))
    await api.delete(APP)
    first = (await metadata(api))["deletionTimestamp"]
    await api.delete(APP)
    assert (await metadata(api))["deletionTimestamp"] == first, "the time of the first deletion stays"
    assert (await metadata(api))["generation"] == 1
    await set_finalizers(api, THEIRS)
    assert await exists(api)
    await set_finalizers(api)
    assert not await exists(api)
    await api.create("app", app())


async def test_removing_a_finalizer_of_a_resource_that_nobody_deleted_removes_nothing_else(api: ApiServer) -> None:
    await api.create("app", app(OURS))
    await set_finalizers(api)
    assert await exists(api)


async def test_while_it_is_being_deleted_only_finalizers_change(api: ApiServer) -> None:
    await api.create("app", app(OURS))
    await api.delete(APP)
    with rejected(409, "is being deleted since", "image can't be changed", "wait until it is gone"):
        await api.update(APP, {"image": "web:2"})
    with rejected(409, "metadata.labels can't be changed"):
        await api.update(APP, {"metadata": {"labels": {"a": "b"}}}, paths=["metadata.labels"])
    with rejected(409, "no finalizer can be added", THEIRS):
        await set_finalizers(api, OURS, THEIRS)
    with rejected(409, "exists already"):
        await api.create("app", app())
    assert (await metadata(api))["finalizers"] == [OURS]
    await api.update(APP, {"image": "web:1"})
    assert "deletionTimestamp" in await metadata(api), "what changes nothing is taken"


async def test_clients_set_no_time_of_deletion(api: ApiServer) -> None:
    sent = {"finalizers": [OURS], "deletionTimestamp": "2026-01-01T00:00:00Z", "mirrored": True}
    await api.create("app", app(metadata=sent))
    assert (await metadata(api)).keys() == {"finalizers", "generation", "creationTimestamp"}
    await api.update(APP, {"metadata": sent})
    assert (await metadata(api)).keys() == {"finalizers", "generation", "creationTimestamp"}
    await api.delete(APP)
    await api.update(APP, {"metadata": {"finalizers": [OURS]}}, paths=["metadata.deletionTimestamp"])
    assert "deletionTimestamp" in await metadata(api)


async def test_a_batch_deletes_and_updates_alike(api: ApiServer) -> None:
    await api.create("app", app(OURS, THEIRS))
    await api.sync([{"kind": "app", "operation": "DELETE", "data": {"uuid": APP.uuid}}])
    assert "deletionTimestamp" in await metadata(api)
    mask = {"paths": ["metadata.finalizers"]}
    update = {"kind": "app", "operation": "UPDATE", "data": {"uuid": APP.uuid, "metadata": {}}, "field_mask": mask}
    await api.sync([update])
    assert not await exists(api)


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"operation": "CREATE", "field_mask": {"paths": ["image"]}}, "a CREATE has no field_mask"),
        ({"operation": "UPDATE", "field_mask": ["image"]}, "field_mask must be"),
        ({"operation": "UPDATE", "field_mask": {"paths": [7]}}, "field_mask must be"),
        ({"operation": "CREATE", "mirror": "yes"}, "mirror must be"),
        ({"operation": "CREATE", "mirror": {"our_finalizers": "all"}}, "mirror must be"),
    ],
)
async def test_masks_and_mirrors_are_checked(api: ApiServer, item: dict[str, Any], words: str) -> None:
    with rejected(400, words):
        await api.sync([{"kind": "app", "data": {"uuid": APP.uuid, **app()}, **item}])


async def test_a_kind_s_own_finalizers_are_given_at_creation(api: ApiServer) -> None:
    data = {"fq_name": ["shop", "configmap--web"], "target": {"version": "v1", "kind": "ConfigMap", "name": "web"}}
    key = Key("manifest", (await api.create("manifest", data)).document["uuid"])
    assert (await metadata(api, key))["finalizers"] == ["intentc.io/cluster"]
    await api.delete(key)
    assert await exists(api, key)
    await api.update(key, {"metadata": {}}, paths=["metadata.finalizers"])
    assert not await exists(api, key)


def mirrored(operation: str = "CREATE", **metadata: Any) -> list[dict[str, Any]]:
    data = {"uuid": APP.uuid, "fq_name": ["shop", "web"], "image": "web:1", "metadata": metadata}
    return [{"kind": "app", "operation": operation, "data": data, "mirror": {"our_finalizers": [OURS]}}]


async def test_a_mirrored_resource_is_accepted_as_the_cluster_has_it(api: ApiServer) -> None:
    given: dict[str, Any] = {"generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z", "labels": {"a": "b"}}
    await api.sync(mirrored(**given, finalizers=[THEIRS]))
    assert await metadata(api) == {**given, "finalizers": [THEIRS], "mirrored": True}
    await set_finalizers(api, THEIRS, OURS)
    ending = {**given, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    await api.sync(mirrored("UPDATE", **ending, finalizers=[OURS, "third"]))
    assert await metadata(api) == {**ending, "finalizers": ["third", OURS], "mirrored": True}, "ours stay as stored"
    await set_finalizers(api, "third")
    await api.sync(mirrored("UPDATE", **ending, finalizers=[OURS, "third"]))
    assert (await metadata(api))["finalizers"] == ["third"], "ours, which the cluster still has, does not return"
    await set_finalizers(api)
    assert await exists(api), "the cluster removes it"
    await api.delete(APP)
    assert not await exists(api)


async def test_a_mirrored_resource_with_finalizers_is_deleted_at_once(api: ApiServer) -> None:
    await api.sync(mirrored(finalizers=[THEIRS]))
    await api.delete(APP)
    assert not await exists(api)


async def test_an_ordinary_write_leaves_what_is_mirrored_mirrored(api: ApiServer) -> None:
    await api.sync(mirrored(generation=7))
    await api.update(APP, {"image": "web:2", "metadata": {"labels": {"c": "d"}}})
    assert await metadata(api) == {"generation": 7, "labels": {"c": "d"}, "mirrored": True}


async def test_only_compilers_mirror(store: MemoryStore) -> None:
    api = ApiServer(store, SCHEMA, policy=Policy(mode=Mode.CLOUD_ADMIN))
    caller = Caller(user_id="somebody", roles=frozenset({"member"}))
    with rejected(403):
        await api.sync(mirrored(), call=Call(caller))
