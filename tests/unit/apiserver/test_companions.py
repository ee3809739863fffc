"""What the server makes along with a resource, changes and deletes with it (docs/contrail.md A.5, B.5.10, B.5.11)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.errors import ApiError
from intentc.apiserver.startup import write_seeds
from intentc.model import Key
from intentc.watch.memory import MemoryStore

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

Fields = dict[str, Any]
VXLAN = {"logical_router_type": "vxlan-routing"}
INTERNAL = {"logical_router_virtual_network_type": "InternalVirtualNetwork"}


async def everything(store: MemoryStore) -> list[str]:
    return [item.key for item in (await store.range("/", "0")).items]


def targets(*names: str) -> Fields:
    return {"route_target": list(names)}


async def internal_network(api: Api, router: Fields) -> Fields:
    return await api.by_name("virtual_network", *PROJECT, f"__contrail_lr_internal_vn_{router['uuid']}__")


# ---- application policy sets ---------------------------------------------------------------------------------------


async def test_a_project_has_a_default_policy_set_and_refers_to_it(api: Api, store: MemoryStore) -> None:
    before = await everything(store)
    project = await api.create("project", fq_name=["default-domain", "p"])
    made = await api.by_name("application_policy_set", "default-domain", "p", "default-application-policy-set")
    assert made["all_applications"] is True
    assert (made["parent_type"], made["parent_uuid"]) == ("project", project["uuid"])
    assert project["application_policy_set_refs"] == [{"uuid": made["uuid"], "to": made["fq_name"]}]
    await api.delete("project", project["uuid"])
    assert await everything(store) == before


async def test_a_project_keeps_the_other_sets_that_it_refers_to(api: Api) -> None:
    other = await api.create("application_policy_set", "own", parent_type="project")
    project = await api.create(
        "project", fq_name=["default-domain", "p"], application_policy_set_refs=[{"uuid": other["uuid"]}]
    )
    assert [entry["to"][-1] for entry in project["application_policy_set_refs"]] == [
        "own",
        "default-application-policy-set",
    ]


async def test_a_project_refers_to_its_default_set_whatever_is_sent(api: Api, store: MemoryStore) -> None:
    project = await api.create("project", fq_name=["default-domain", "p"])
    revision = (await store.range("/")).revision
    await api.update("project", project["uuid"], application_policy_set_refs=[])
    assert (await store.range("/")).revision == revision


async def test_the_default_set_of_a_project_changes_except_for_its_flag(api: Api) -> None:
    made = await api.by_name("application_policy_set", *PROJECT, "default-application-policy-set")
    await api.update("application_policy_set", made["uuid"], display_name="all", all_applications=True)
    with rejected(400, "all_applications"):
        await api.update("application_policy_set", made["uuid"], all_applications=False)


# ---- the internal network of a router ------------------------------------------------------------------------------


async def test_a_vxlan_router_comes_with_its_internal_network(api: Api, store: MemoryStore) -> None:
    before = await everything(store)
    answer = await api.server.create(
        "logical_router",
        {"fq_name": [*PROJECT, "r"], "vxlan_network_identifier": "7000", **VXLAN}
        | {"configured_route_target_list": targets("target:1:1")},
    )
    router, network = answer.document, await internal_network(api, answer.document)
    assert router["virtual_network_refs"] == [{"uuid": network["uuid"], "to": network["fq_name"], "attr": INTERNAL}]
    assert network["display_name"] == "LR::r"
    assert network["virtual_network_properties"] == {"forwarding_mode": "l3", "vxlan_network_identifier": 7000}
    assert network["route_target_list"] == targets("target:1:1")
    assert network["id_perms"]["user_visible"] is False
    assert [entry["to"][-1] for entry in network["routing_instances"]] == [network["name"]]
    assert (await api.server.get(Key("virtual_network", network["uuid"]))).revision == answer.revision
    await api.delete("logical_router", router["uuid"])
    assert await everything(store) == before


async def test_the_routers_list_and_id_are_copied_to_the_internal_network(api: Api) -> None:
    router = await api.create("logical_router", "r", **VXLAN)
    assert "route_target_list" not in await internal_network(api, router)
    configured = targets("target:1:1", "target:1:2")
    await api.update("logical_router", router["uuid"], configured_route_target_list=configured)
    assert (await internal_network(api, router))["route_target_list"] == configured
    await api.update(
        "logical_router", router["uuid"], configured_route_target_list=None, vxlan_network_identifier="7001"
    )
    network = await internal_network(api, router)
    assert "route_target_list" not in network
    assert network["virtual_network_properties"]["vxlan_network_identifier"] == 7001
    assert network["id_perms"]["user_visible"] is False


async def test_two_routers_can_not_have_one_vxlan_id(api: Api) -> None:
    await api.create("logical_router", "r", vxlan_network_identifier="7000", **VXLAN)
    with rejected(400, "7000 is taken"):
        await api.create("logical_router", "s", vxlan_network_identifier="7000", **VXLAN)


async def test_a_snat_router_has_no_internal_network(api: Api) -> None:
    router = await api.create("logical_router", "r")
    assert "virtual_network_refs" not in router
    with pytest.raises(ApiError):
        await internal_network(api, router)


async def test_the_project_decides_for_its_routers(api: Api) -> None:
    await api.create("project", fq_name=["default-domain", "p"], vxlan_routing=True)
    router = await api.create("logical_router", fq_name=["default-domain", "p", "r"])
    name = f"__contrail_lr_internal_vn_{router['uuid']}__"
    assert router["virtual_network_refs"][0]["to"] == ["default-domain", "p", name]


async def test_a_router_keeps_its_internal_network_whatever_is_sent(api: Api) -> None:
    router = await api.create("logical_router", "r", **VXLAN)
    await api.update("logical_router", router["uuid"], virtual_network_refs=[])
    now = await api.get("logical_router", router["uuid"])
    assert now["virtual_network_refs"] == router["virtual_network_refs"]
    with rejected(409, "logical_router"):
        await api.delete("virtual_network", router["virtual_network_refs"][0]["uuid"])


async def test_a_router_whose_internal_network_is_used_stays_with_it(api: Api) -> None:
    """docs/contrail.md B.5.11: neither is deleted without the other."""
    router = await api.create("logical_router", "r", **VXLAN)
    network = await internal_network(api, router)
    port = await api.create(
        "virtual_machine_interface", "i", parent_type="project", virtual_network_refs=[{"uuid": network["uuid"]}]
    )
    with rejected(409, "virtual_machine_interface"):
        await api.delete("logical_router", router["uuid"])
    assert await internal_network(api, router) == await internal_network(
        api, await api.get("logical_router", router["uuid"])
    )
    await api.delete("virtual_machine_interface", port["uuid"])
    await api.delete("logical_router", router["uuid"])
    assert not await api.exists("virtual_network", network["uuid"])


async def test_a_router_takes_an_internal_network_that_is_there(api: Api) -> None:
    """As in a backup: both come together, the network first."""
    uuid = "5b0f0000-0000-4000-8000-000000000001"
    name = [*PROJECT, f"__contrail_lr_internal_vn_{uuid}__"]
    router = {
        "uuid": uuid,
        "fq_name": [*PROJECT, "r"],
        "virtual_network_refs": [{"to": name, "attr": INTERNAL}],
    } | VXLAN
    items = [("logical_router", router), ("virtual_network", {"fq_name": name})]
    await api.server.sync([{"kind": kind, "operation": "CREATE", "data": data} for kind, data in items])
    made = await internal_network(api, router)
    assert (await api.get("logical_router", uuid))["virtual_network_refs"][0]["uuid"] == made["uuid"]


@pytest.mark.parametrize("kind", ["project", "logical_router"])
async def test_what_was_exported_and_deleted_can_be_created_again(api: Api, kind: str) -> None:
    """Its references to companions lead nowhere then, and are made anew."""
    given: dict[str, Fields] = {"project": {"fq_name": ["default-domain", "p"]}}
    given["logical_router"] = {"fq_name": [*PROJECT, "r"], **VXLAN}
    made = await api.create(kind, **given[kind])
    exported = {name: value for name, value in made.items() if name not in ("id_perms", "perms2")}
    await api.delete(kind, made["uuid"])
    again = await api.create(kind, **exported)
    assert again["uuid"] == made["uuid"]
    for field in ("application_policy_set_refs", "virtual_network_refs"):
        assert [entry["to"] for entry in again.get(field, ())] == [entry["to"] for entry in made.get(field, ())]


# ---- tags and seeds ------------------------------------------------------------------------------------------------


async def test_a_tag_is_named_after_its_type_and_value(api: Api) -> None:
    made = await api.create("tag", "whatever", parent_type="project", tag_type_name="Application", tag_value="web")
    assert made["fq_name"] == [*PROJECT, "application=web"]
    assert (made["name"], made["display_name"], made["tag_type_name"]) == (
        "application=web",
        "application=web",
        "application",
    )
    with rejected(409, "application=web exists already"):
        await api.create("tag", "again", parent_type="project", tag_type_name="application", tag_value="web")


async def test_tags_have_the_id_of_their_type_and_a_number(api: Api) -> None:
    async def tag(sort: str, value: str) -> Fields:
        return await api.create("tag", parent_type="project", tag_type_name=sort, tag_value=value)

    one, two, own = await tag("tier", "web"), await tag("tier", "database"), await tag("colour", "red")
    assert [made["tag_id"] for made in (one, two, own)] == ["0x00020002", "0x00020003", "0x00ff0004"]
    tier, colour = await api.by_name("tag_type", "tier"), await api.by_name("tag_type", "colour")
    assert (tier["tag_type_id"], colour["tag_type_id"]) == ("0x0002", "0x00ff")
    assert one["tag_type_refs"] == two["tag_type_refs"] == [{"uuid": tier["uuid"], "to": ["tier"]}]
    await api.delete("tag", one["uuid"])
    assert (await tag("tier", "cache"))["tag_id"] == "0x00020002"
    await api.delete("tag", own["uuid"])
    await api.delete("tag_type", colour["uuid"])
    assert (await api.create("tag_type", fq_name=["shape"]))["tag_type_id"] == "0x00ff"


async def test_the_types_of_every_installation_have_contrails_ids(api: Api) -> None:
    known = ("label", "application", "tier", "deployment", "site", "neutron_fwaas", "neutron_tag")
    ids = [(await api.create("tag_type", fq_name=[name]))["tag_type_id"] for name in known]
    assert ids == [f"0x{number:04x}" for number in range(len(known))]


@pytest.mark.parametrize("broken", [7, "x", {"x": 1}, [7], [{"to": 7}], [{"to": []}]])
async def test_broken_references_and_names_are_rejected_before_they_are_prepared(api: Api, broken: Any) -> None:
    for kind, field in (("project", "application_policy_set_refs"), ("logical_router", "virtual_network_refs")):
        with rejected(400):
            await api.create(kind, "x", **{field: broken, "parent_type": "domain" if kind == "project" else "project"})
    with rejected(400):
        await api.create("tag", fq_name=broken, parent_type="project", tag_type_name="site", tag_value="a")


async def test_the_seeds_for_services_and_policies(api: Api, store: MemoryStore) -> None:
    template = await api.by_name("service_template", "default-domain", "netns-snat-template")
    properties = template["service_template_properties"]
    assert [entry["service_interface_type"] for entry in properties["interface_type"]] == ["right", "left"]
    assert all(entry["shared_ip"] for entry in properties["interface_type"])
    assert properties["ordered_interfaces"] is properties["service_scaling"] is True
    assert (properties["service_mode"], properties["service_type"]) == ("in-network-nat", "source-nat")
    assert properties["service_virtualization_type"] == "network-namespace"
    for name in ("analyzer-template", "nat-template", "haproxy-loadbalancer-template", "docker-template"):
        await api.by_name("service_template", "default-domain", name)
    policies = await api.by_name(
        "application_policy_set", "default-policy-management", "default-application-policy-set"
    )
    assert policies["all_applications"] is True
    await api.by_name("application_policy_set", *PROJECT, "default-application-policy-set")
    ipam = await api.by_name("network_ipam", *PROJECT, "service-chain-flat-ipam")
    assert ipam["ipam_subnet_method"] == "flat-subnet"
    before = (await store.range("/")).revision
    await write_seeds(api.server)
    assert (await store.range("/")).revision == before
