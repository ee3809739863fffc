"""What every kind has in common: names, parents, uuids, common fields, fields that are rejected (docs/contrail.md A.1,
B.1, B.5)."""

from __future__ import annotations

import uuid

import msgspec
import pytest

from intentc.model import Key
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


async def test_a_created_resource_is_stored_as_canonical_json_without_children_and_back_references(
    api: Api, store: MemoryStore
) -> None:
    group = await api.create("security_group", "g", security_group_entries=None)
    await api.create("access_control_list", parent_type="security-group", parent_uuid=group["uuid"], name="a")
    item = (await store.range(f"/contrail/security_group/{group['uuid']}")).items[0]
    assert item.value == msgspec.json.encode(group, order="sorted")
    assert b"null" not in item.value
    assert b"access_control_lists" not in item.value


async def test_common_fields_are_filled_in(api: Api) -> None:
    made = await api.create("network_policy", "p")
    assert made["name"] == made["display_name"] == "p"
    assert made["parent_type"] == "project"
    assert made["perms2"] == {"owner": "default-project", "owner_access": 7, "global_access": 0}
    halves = made["id_perms"]["uuid"]
    assert (halves["uuid_mslong"] << 64) + halves["uuid_lslong"] == uuid.UUID(made["uuid"]).int
    assert made["id_perms"]["enable"] is made["id_perms"]["user_visible"] is True
    assert made["id_perms"]["permissions"]["owner"] == "cloud-admin"


async def test_a_given_uuid_is_kept(api: Api) -> None:
    made = await api.create("network_policy", "p", uuid="5b0f0000-0000-4000-8000-000000000001")
    assert made["uuid"] == "5b0f0000-0000-4000-8000-000000000001"


async def test_a_uuid_that_is_none_is_rejected(api: Api) -> None:
    with rejected(400, "no uuid"):
        await api.create("network_policy", "p", uuid="p")


async def test_the_parent_is_found_by_the_name(api: Api) -> None:
    made = await api.create("network_policy", "p")
    assert made["parent_uuid"] == await api.server.identify("project", PROJECT)


async def test_the_name_follows_from_the_parent(api: Api) -> None:
    project = await api.server.identify("project", PROJECT)
    made = await api.create("network_policy", parent_uuid=project, name="p")
    assert made["fq_name"] == [*PROJECT, "p"]


async def test_without_parent_a_resource_goes_to_the_default_one(api: Api) -> None:
    assert (await api.create("network_policy"))["fq_name"] == [*PROJECT, "default-network-policy"]


async def test_a_parent_that_is_not_there_is_named(api: Api) -> None:
    with rejected(400, "project default-domain:nowhere", "parent"):
        await api.create("network_policy", fq_name=["default-domain", "nowhere", "p"])
    with rejected(409, "no project 5b0f0000-0000-4000-8000-00000000dead"):
        await api.create("network_policy", name="p", parent_uuid="5b0f0000-0000-4000-8000-00000000dead")


async def test_a_name_that_does_not_lie_below_its_parent_is_rejected(api: Api) -> None:
    project = await api.server.identify("project", PROJECT)
    with rejected(400, "does not lie below"):
        await api.create("network_policy", fq_name=["default-domain", "other", "p"], parent_uuid=project)


async def test_a_kind_with_several_parents_needs_a_parent_type(api: Api) -> None:
    with rejected(400, "parent_type is missing", "security-group or virtual-network"):
        await api.create("access_control_list", fq_name=[*PROJECT, "g", "a"])


async def test_an_impossible_parent_type_is_rejected(api: Api) -> None:
    with rejected(400, "parent_type 'domain' is impossible", "project"):
        await api.create("network_policy", "p", parent_type="domain")


async def test_children_of_the_root_need_no_parent(api: Api) -> None:
    made = await api.create("domain", name="d")
    assert made["fq_name"] == ["d"]
    assert made["parent_type"] == "config-root"
    assert "parent_uuid" not in made


async def test_a_name_is_unique_in_its_kind(api: Api) -> None:
    first = await api.create("network_policy", "p")
    with rejected(409, "default-domain:default-project:p exists already", first["uuid"]):
        await api.create("network_policy", "p")
    await api.create("security_group", "p")


async def test_a_uuid_is_unique_over_all_kinds(api: Api) -> None:
    made = await api.create("network_policy", "p")
    with rejected(409, "exists already"):
        await api.create("network_policy", "q", uuid=made["uuid"])
    with rejected(409, "belongs to a network-policy"):
        await api.create("security_group", "q", uuid=made["uuid"])


async def test_an_unknown_field_is_rejected_with_a_suggestion(api: Api) -> None:
    with rejected(400, "no field 'security_group_entrys'", "security_group_entries"):
        await api.create("security_group", "g", security_group_entrys={})


async def test_computed_fields_are_ignored(api: Api) -> None:
    made = await api.create(
        "security_group",
        "g",
        to=[*PROJECT, "g"],
        href="http://x",
        parent_href="http://y",
        access_control_lists=[{"uuid": "x"}],
        virtual_machine_interface_back_refs=[{"uuid": "y"}],
    )
    assert not {"to", "href", "parent_href", "access_control_lists"} & set(made)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"security_group_entries": {"policy_rule": [{"protocol": 6}]}}, "policy_rule[0].protocol"),
        ({"configured_security_group_id": -1}, "at least 0"),
        ({"annotations": {"key_value_pair": [{"value": "x"}]}}, "key_value_pair"),
        ({"fq_name": "g"}, "fq_name"),
    ],
)
async def test_a_value_of_another_type_is_rejected_with_its_path(api: Api, fields: object, words: str) -> None:
    with rejected(400, words):
        await api.server.create("security_group", fields)


async def test_an_enum_takes_its_values_and_nothing(api: Api) -> None:
    await api.create("logical_router", "r", logical_router_type="")
    with rejected(400, "logical_router_type"):
        await api.create("logical_router", "s", logical_router_type="other")


async def test_an_update_writes_the_given_fields_only(api: Api) -> None:
    made = await api.create("virtual_network", "n", is_shared=True)
    written = await api.update("virtual_network", made["uuid"], router_external=True)
    assert written == {"uuid": made["uuid"], "router_external": True}
    now = await api.get("virtual_network", made["uuid"])
    assert now["is_shared"] is now["router_external"] is True
    assert now["configuration_version"] == 2


async def test_null_clears_a_field(api: Api) -> None:
    made = await api.create("virtual_network", "n", is_shared=True)
    await api.update("virtual_network", made["uuid"], is_shared=None)
    assert "is_shared" not in await api.get("virtual_network", made["uuid"])


async def test_a_field_mask_writes_exactly_its_paths(api: Api) -> None:
    properties = {"forwarding_mode": "l3", "rpf": "enable"}
    made = await api.create("virtual_network", "n", virtual_network_properties=properties)
    await api.server.update(
        Key("virtual_network", made["uuid"]),
        {"virtual_network_properties": {"rpf": "disable"}, "is_shared": True},
        paths=["virtual_network_properties.rpf"],
    )
    now = await api.get("virtual_network", made["uuid"])
    assert now["virtual_network_properties"] == {"forwarding_mode": "l3", "rpf": "disable"}
    assert "is_shared" not in now


async def test_an_update_that_changes_nothing_writes_nothing(api: Api, store: MemoryStore) -> None:
    made = await api.create("virtual_network", "n", is_shared=True)
    before = (await store.range("/")).revision
    answer = await api.server.update(Key("virtual_network", made["uuid"]), {"is_shared": True})
    assert (await store.range("/")).revision == before
    assert answer.revision == (await store.range(f"/contrail/virtual_network/{made['uuid']}")).items[0].mod_revision


async def test_identity_never_changes(api: Api) -> None:
    made = await api.create("network_policy", "p")
    await api.server.update(Key("network_policy", made["uuid"]), made)
    with rejected(400, "fq_name can't be changed"):
        await api.update("network_policy", made["uuid"], fq_name=[*PROJECT, "q"])


async def test_a_missing_resource_is_not_found(api: Api) -> None:
    missing = "5b0f0000-0000-4000-8000-00000000dead"
    with rejected(404, "no network-policy"):
        await api.get("network_policy", missing)
    with rejected(404):
        await api.update("network_policy", missing, display_name="x")
    with rejected(404):
        await api.delete("network_policy", missing)
    with rejected(404):
        await api.server.name_of(missing)
    with rejected(404):
        await api.server.identify("network_policy", [*PROJECT, "nope"])


async def test_names_and_uuids_lead_to_each_other(api: Api) -> None:
    made = await api.create("network_policy", "p")
    assert await api.server.identify("network-policy", [*PROJECT, "p"]) == made["uuid"]
    name = await api.server.name_of(made["uuid"])
    assert (name.kind, list(name.fq_name)) == ("network_policy", made["fq_name"])


async def test_a_deleted_name_is_free_again(api: Api, store: MemoryStore) -> None:
    before = [item.key for item in (await store.range("/", "0")).items]
    made = await api.create("network_policy", "p")
    await api.delete("network_policy", made["uuid"])
    assert [item.key for item in (await store.range("/", "0")).items] == before
    await api.create("network_policy", "p")


async def test_an_unknown_kind_is_rejected(api: Api) -> None:
    with rejected(400, "invalid kind 'nonsense'"):
        await api.server.create("nonsense", {})


async def test_a_router_takes_other_changes_though_its_port_became_a_machines(api: Api) -> None:
    await api.create("virtual_network", "n")
    network = [{"to": [*PROJECT, "n"]}]
    port = await api.create("virtual_machine_interface", "i", parent_type="project", virtual_network_refs=network)
    ports = [{"to": [*PROJECT, "i"]}]
    router = await api.create("logical_router", "r", virtual_machine_interface_refs=ports)
    await api.server.create("virtual_machine", {"fq_name": ["m"]})
    await api.update("virtual_machine_interface", port["uuid"], virtual_machine_refs=[{"to": ["m"]}])
    await api.update("logical_router", router["uuid"], display_name="as before")
    with rejected(409, "used by a virtual machine"):
        await api.update("logical_router", router["uuid"], virtual_network_refs=network)


async def test_a_router_whose_project_was_unreadable_still_accepts_other_changes(api: Api, store: MemoryStore) -> None:
    project = await api.server.identify("project", PROJECT)
    await api.update("project", project, vxlan_routing=True)
    await api.create("virtual_network", "n")
    key = f"/contrail/project/{project}"
    before = (await store.range(key)).items[0].value
    await store.transaction([], [Put(key, b"not json")])
    router = await api.create("logical_router", "r", virtual_network_refs=[{"to": [*PROJECT, "n"]}])
    await store.transaction([], [Put(key, before)])
    await api.update("logical_router", router["uuid"], display_name="as before")
    with rejected(400, "external gateway"):
        await api.update("logical_router", router["uuid"], virtual_network_refs=[{"to": [*PROJECT, "ip-fabric"]}])
