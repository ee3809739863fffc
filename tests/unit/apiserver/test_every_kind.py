"""Each kind of the schema: it is served, its references carry their attributes, its targets and parents show it, and
its collections are changed element by element (docs/contrail.md A.3, B.1, B.2)."""

from __future__ import annotations

import copy
from typing import Any

import anyio
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.collections import ElementUpdate
from intentc.apiserver.queries import Query, View
from intentc.apiserver.references import ReferenceUpdate
from intentc.apiserver.startup import write_seeds
from intentc.model import Key, Kind, Schema
from intentc.model.kind import Relation
from intentc.model.types import FieldSpec
from intentc.watch.memory import History, MemoryStore
from tests.unit.apiserver.contrail_kinds import SERVED, element_of, new, one_of_each

from .conftest import PROJECT, Api, history_of, rejected

pytestmark = pytest.mark.anyio

RELATIONS = [
    (kind, relation)
    for kind in SERVED
    for relation in kind.relations.values()
    if relation.name != "tag" and (kind.name, relation.name) != ("tag", "tag_type")  # the server's own
]
COLLECTIONS = [(kind, name) for kind in SERVED for name, one in kind.properties.items() if one.collection]


SUBNET = {"subnet": {"ip_prefix": "10.9.0.0", "ip_prefix_len": 16}}
POOL = {"start": "10.9.0.5", "end": "10.9.0.9"}


@pytest.fixture(scope="session")
def filled(schema: Schema) -> tuple[History, dict[str, str]]:
    """A store with one resource of each kind, and their uuids."""

    async def written() -> tuple[History, dict[str, str]]:
        store = MemoryStore()
        server = ApiServer(store, schema)
        await write_seeds(server)
        made = await one_of_each(server)
        return await history_of(store), made

    return anyio.run(written)


@pytest.fixture
async def made(api: Api, store: MemoryStore, filled: tuple[History, dict[str, str]]) -> dict[str, str]:
    store._history = copy.deepcopy(filled[0])
    return dict(filled[1])


def right_value(kind: Kind, spec: FieldSpec, number: int) -> Any:
    """A value of a field whose texts and numbers hold ``number``."""
    if spec.list:
        return [right_value(kind, FieldSpec(type=spec.list), number)]
    if spec.type == "IpamSubnetType":
        return {
            "subnet": {"ip_prefix": f"10.{number}.0.0", "ip_prefix_len": 16},
            "subnet_uuid": f"5b0f0000-0000-4000-8000-00000000000{number}",
            "default_gateway": f"10.{number}.0.1",
            "dns_server_address": f"10.{number}.0.2",
        }
    if spec.enum:
        return spec.enum[0]
    simple = {"string": f"t{number}", "integer": number, "boolean": True, "opaque": {"x": number}}
    if spec.type in simple:
        return simple[spec.type]
    return {name: right_value(kind, inner, number) for name, inner in kind.types.fields(spec.type).items()}


async def test_every_kind_is_created_listed_read_and_deleted(api: Api, made: dict[str, str]) -> None:
    for kind in SERVED:
        if kind.name in ("global_system_config", "bridge_domain"):
            continue  # it exists once, or once in each network
        uuid = (await api.server.create(kind.name, new(kind, made, "two"))).document["uuid"]
        assert (await api.get(kind.name, uuid))["uuid"] == uuid
        assert uuid in [one["uuid"] for one in await api.server.find(kind.name, Query())]
        await api.delete(kind.name, uuid)
        with rejected(404):
            await api.get(kind.name, uuid)


async def test_what_was_read_can_be_written_back(api: Api, made: dict[str, str]) -> None:
    """Clients read a resource, change a field, and send all of it."""
    for kind in SERVED:
        before = await api.get(kind.name, made[kind.name])
        await api.update(kind.name, made[kind.name], **before)
        after = await api.get(kind.name, made[kind.name])
        stamps = {"configuration_version", "id_perms"}
        assert {k: v for k, v in after.items() if k not in stamps} == {
            k: v for k, v in before.items() if k not in stamps
        }


async def test_every_kind_can_be_found_below_its_parent(api: Api, made: dict[str, str]) -> None:
    for kind in SERVED:
        for parent in kind.parents:
            if parent.kind == "config_root":
                continue
            children = await api.get(parent.kind, made[parent.kind])
            below = await api.server.find(kind.name, Query(parent_ids=[made[parent.kind]]))
            assert [one["uuid"] for one in below] == [one["uuid"] for one in children.get(kind.plural, [])]


@pytest.mark.parametrize(("kind", "relation"), RELATIONS, ids=lambda part: part.name)
async def test_a_reference_is_added_with_its_attribute_shown_on_both_sides_and_removed(
    api: Api, made: dict[str, str], kind: Kind, relation: Relation
) -> None:
    if kind.name == relation.name:
        target = (await api.server.create(kind.name, new(kind, made, "other"))).document["uuid"]
    else:
        target = made[relation.name]
    holder = Key(kind.name, made[kind.name])
    attribute = right_value(kind, FieldSpec(type=relation.attribute), 1) if relation.attribute else None
    update = ReferenceUpdate(holder, relation.name, True, uuid=target, attribute=attribute)
    if kind.name == "instance_ip" and relation.name in ("network_ipam", "virtual_router"):
        with rejected(400, "has no subnet"):
            await api.server.update_reference(update)
        await api.update("network_ipam", made["network_ipam"], ipam_subnets={"subnets": [SUBNET]})
        refs = [{"uuid": made["network_ipam"], "attr": {"allocation_pools": [POOL]}}]
        await api.update("virtual_router", made["virtual_router"], network_ipam_refs=refs)
    await api.server.update_reference(update)

    shown = {entry["uuid"]: entry for entry in (await api.get(*holder))[f"{relation.name}_refs"]}
    back = {entry["uuid"]: entry for entry in (await api.get(relation.name, target))[f"{kind.name}_back_refs"]}
    assert shown[target].get("attr") == attribute
    assert back[holder.uuid].get("attr") == attribute
    assert back[holder.uuid]["to"] == (await api.get(*holder))["fq_name"]

    if (kind.name, relation.name) == ("virtual_machine_interface", "virtual_network"):
        with rejected(400, "needs a network"):
            await api.server.update_reference(update._replace(add=False))
        return
    await api.server.update_reference(update._replace(add=False))
    remaining = (await api.get(relation.name, target)).get(f"{kind.name}_back_refs", [])
    assert holder.uuid not in [entry["uuid"] for entry in remaining]


@pytest.mark.parametrize(("kind", "field"), COLLECTIONS, ids=lambda part: getattr(part, "name", part))
async def test_elements_of_every_collection_are_changed_one_by_one(
    api: Api, made: dict[str, str], kind: Kind, field: str
) -> None:
    declared = kind.properties[field]
    uuid = made[kind.name]
    first, second, third = (right_value(kind, element_of(kind, field), number) for number in (1, 2, 3))
    is_map = declared.collection == "map"
    positions = [str(one[declared.map_key]) if is_map else str(place) for place, one in enumerate((first, second))]

    async def change(operation: str, value: Any, position: str = "") -> list[list[Any]]:
        await api.server.update_collections(uuid, [ElementUpdate(field, operation, value, position)])
        return (await api.server.collections(uuid, [field]))[field]

    add = "set" if is_map else "add"
    before = (await api.server.collections(uuid, [field]))[field]
    assert before == []
    await change(add, first)
    assert await change(add, second) == [[first, positions[0]], [second, positions[1]]]
    assert (await api.server.collections(uuid, [field], positions[1]))[field] == [[second, positions[1]]]
    changed = {**third, declared.map_key: second[declared.map_key]} if is_map else third
    assert await change("set" if is_map else "modify", changed, positions[1]) == [
        [first, positions[0]],
        [changed, positions[1]],
    ]
    assert [element for element, _ in await change("delete", None, positions[0])] == [changed]


async def test_only_collections_can_be_read_by_element(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    with rejected(400, "no collection 'display_name'", "virtual_network_fat_flow_protocols"):
        await api.server.collections(network["uuid"], ["annotations", "display_name"])
    with rejected(404):
        await api.server.collections("5b0f0000-0000-4000-8000-000000000009", ["annotations"])


async def test_a_null_in_an_element_is_not_stored(api: Api) -> None:
    field = "virtual_network_fat_flow_protocols"
    network = await api.create("virtual_network", "n")
    await api.server.update_collections(network["uuid"], [ElementUpdate(field, "add", {"port": 1, "protocol": None})])
    assert (await api.get("virtual_network", network["uuid"]))[field] == {"fat_flow_protocol": [{"port": 1}]}


# ---- parts of a resource ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "shown", "hidden"),
    [
        (View(), {"display_name", "virtual_network_back_refs"}, set()),
        (View(back_references=False), {"display_name", "network_policy_entries"}, {"virtual_network_back_refs"}),
        (View(["display_name"]), {"display_name", "fq_name", "uuid"}, {"virtual_network_back_refs", "id_perms"}),
        (View(["virtual_network_back_refs"]), {"virtual_network_back_refs", "uuid"}, {"display_name"}),
    ],
)
async def test_a_part_of_a_resource_can_be_read(api: Api, view: View, shown: set[str], hidden: set[str]) -> None:
    policy = await api.create("network_policy", "p", network_policy_entries={"policy_rule": []})
    await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    found = (await api.server.get(Key("network_policy", policy["uuid"]), view)).document
    assert shown <= found.keys()
    assert not hidden & found.keys()


async def test_children_can_be_left_out(api: Api) -> None:
    project = await api.by_name("project", *PROJECT)
    assert "network_ipams" in project
    without = (await api.server.get(Key("project", project["uuid"]), View(children=False))).document
    assert "network_ipams" not in without
