"""Values that others stored, with nulls, as Go and Python servers do, or with garbage in common fields: a null means
"not set" (docs/contrail.md A.1), and no call fails."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Any

import msgspec
import pytest

from intentc.apiserver.collections import ElementUpdate
from intentc.apiserver.errors import ApiError
from intentc.apiserver.queries import Query, View
from intentc.apiserver.references import ReferenceUpdate
from intentc.model import Key, Kind
from intentc.model.types import SCALARS, FieldSpec
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put
from tests.unit.apiserver.contrail_kinds import SCHEMA, SERVED, one_of_each

from .conftest import Api

pytestmark = pytest.mark.anyio


def with_nulls(kind: Kind, spec: FieldSpec) -> Iterator[Any]:
    """Values of a field with one null each, at every place of its structure."""
    yield None
    if spec.list:
        yield [None]
        yield from ([inner] for inner in with_nulls(kind, FieldSpec(type=spec.list)))
    elif spec.type not in SCALARS:
        for name, field in kind.types.fields(spec.type).items():
            yield from ({name: inner} for inner in with_nulls(kind, field))


async def answered(*calls: Awaitable[Any]) -> None:
    """Each call succeeds or is rejected: a rule may demand what a null took away."""
    for call in calls:
        try:
            await call
        except ApiError as error:
            assert 400 <= error.status < 500, error


@pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.name)
async def test_no_call_fails_over_a_stored_null(api: Api, store: MemoryStore, kind: Kind) -> None:
    key, own = await one_stored(api, kind)
    for field, declared in kind.properties.items():
        for value in with_nulls(kind, declared.spec):
            await put(store, key, {**own, field: value})
            await answered(
                api.get(*key),
                api.server.find(kind.name, Query(fields=[field])),
                api.server.collections(key.uuid, [field]),
                api.update(*key, display_name="changed"),
                api.delete(*key),
            )


@pytest.mark.parametrize(
    "kind", ["project", "security_group", "virtual_machine_interface", "node", "loadbalancer_member"]
)
async def test_common_fields_of_any_type_hide_and_break_nothing(api: Api, store: MemoryStore, kind: str) -> None:
    """Nothing but the API server reads them."""
    key, own = await one_stored(api, SCHEMA.kind(kind))
    for field in ("id_perms", "perms2", "configuration_version", "display_name", "name", "href"):
        for wrong in (None, 7, "x", [], ["x"], {"x": None}, {"owner": 7, "share": 7, "created": []}):
            await put(store, key, {**own, field: wrong})
            await api.get(*key)
            await api.server.find(kind, Query(filters=[(field, "x")]))
            await api.update(*key, annotations={"key_value_pair": [{"key": "x", "value": "y"}]})
            await api.update(*key, perms2={"global_access": 5}, id_perms={"enable": True})
            assert (await api.get(*key))["perms2"]["global_access"] == 5


async def test_stored_nulls_are_not_shown_and_may_be_added_to(api: Api, store: MemoryStore) -> None:
    key, own = await one_stored(api, SCHEMA.kind("virtual_network"))
    nulls = {"annotations": None, "route_target_list": {"route_target": [None, "target:1:2"]}, "tag_refs": None}
    await put(store, key, {**own, **nulls})
    shown = await api.get(*key)
    assert shown["route_target_list"] == {"route_target": ["target:1:2"]}
    assert not {"annotations", "tag_refs"} & shown.keys()
    value = {"tag_type_name": "application", "tag_value": "web"}
    tag = (await api.create("tag", fq_name=["application=web"], parent_type="config-root", **value))["uuid"]
    await api.server.update_reference(ReferenceUpdate(key, "tag", True, uuid=tag))
    await api.server.update_collections(key.uuid, [ElementUpdate("annotations", "set", {"value": "v"}, "k")])
    shown = await api.get(*key)
    assert shown["annotations"] == {"key_value_pair": [{"value": "v", "key": "k"}]}
    assert [entry["uuid"] for entry in shown["tag_refs"]] == [tag]


async def one_stored(api: Api, kind: Kind) -> tuple[Key, dict[str, Any]]:
    """A resource of ``kind``, and its fields as they are stored."""
    key = Key(kind.name, (await one_of_each(api.server))[kind.name])
    whole = View(children=False, back_references=False)
    return key, (await api.server.get(key, whole)).document


async def put(store: MemoryStore, key: Key, document: dict[str, Any]) -> None:
    """Write a value as another writer does."""
    await store.transaction([], [Put(f"/contrail/{key.kind}/{key.uuid}", msgspec.json.encode(document))])
