"""What single kinds demand and are given (docs/contrail.md B.5.7 to B.5.9, B.7); the goapiserver's yml cases made again
(docs/contrail.md E.1)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.model import Key
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

LOCAL = [{"security_group": "local"}]
ALL = [{"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 0}}]


def rule(**fields: Any) -> dict[str, Any]:
    return {"protocol": "any", "ethertype": "IPv4", "src_addresses": LOCAL, "dst_addresses": ALL} | fields


def rules(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"policy_rule": list(entries)}


# ---- security groups -----------------------------------------------------------------------------------------------


async def test_the_first_group_is_8000001_and_freed_numbers_are_given_again(api: Api) -> None:
    first, second = await api.create("security_group", "a"), await api.create("security_group", "b")
    assert (first["security_group_id"], second["security_group_id"]) == (8000001, 8000002)
    await api.delete("security_group", first["uuid"])
    assert (await api.create("security_group", "c"))["security_group_id"] == 8000001


async def test_a_group_can_not_choose_its_number_but_may_send_it_back(api: Api) -> None:
    with rejected(403, "security_group_id"):
        await api.create("security_group", "g", security_group_id=8000100)
    made = await api.create("security_group", "g")
    with rejected(403):
        await api.update("security_group", made["uuid"], security_group_id=8000100)
    await api.update("security_group", made["uuid"], security_group_id=made["security_group_id"])


async def test_a_configured_number_wins_and_gives_the_other_back(api: Api) -> None:
    made = await api.create("security_group", "g")
    await api.update("security_group", made["uuid"], configured_security_group_id=100)
    assert (await api.get("security_group", made["uuid"]))["security_group_id"] == 100
    assert (await api.create("security_group", "h"))["security_group_id"] == 8000001
    await api.update("security_group", made["uuid"], configured_security_group_id=0)
    assert (await api.get("security_group", made["uuid"]))["security_group_id"] == 8000002


async def test_rules_without_uuid_are_given_one(api: Api) -> None:
    entries = rules(rule(rule_uuid="mine"), rule(protocol="tcp"))
    made = await api.create("security_group", "g", security_group_entries=entries)
    uuids = [entry["rule_uuid"] for entry in made["security_group_entries"]["policy_rule"]]
    assert uuids[0] == "mine"
    assert len(uuids[1]) == 36


@pytest.mark.parametrize(
    ("entry", "status", "words"),
    [
        (rule(src_addresses=ALL), 400, "local"),
        (rule(protocol="carrier-pigeon"), 400, "carrier-pigeon"),
        (rule(protocol="256"), 400, "256"),
        (rule(ethertype="IPv6"), 400, "does not fit ethertype IPv6"),
        (rule(dst_addresses=[{"subnet": {"ip_prefix": "nonsense", "ip_prefix_len": 0}}]), 400, "no subnet"),
    ],
)
async def test_a_wrong_group_rule_is_rejected_with_its_place(
    api: Api, entry: dict[str, Any], status: int, words: str
) -> None:
    with rejected(status, "policy_rule[1]", words):
        await api.create("security_group", "g", security_group_entries=rules(rule(protocol="17"), entry))


async def test_two_rules_that_say_the_same_are_rejected(api: Api) -> None:
    with rejected(409, "policy_rule[1] says the same as rule 0"):
        await api.create("security_group", "g", security_group_entries=rules(rule(rule_uuid="a"), rule()))


# ---- network policies ----------------------------------------------------------------------------------------------


async def test_a_policy_rule_needs_an_action(api: Api) -> None:
    with rejected(400, "action_list"):
        await api.create("network_policy", "p", network_policy_entries=rules({"protocol": "any"}))


async def test_a_policy_can_not_name_groups(api: Api) -> None:
    entry = rule(action_list={"simple_action": "pass"}, src_addresses=[{"security_group": "a:b:c"}])
    with rejected(400, "security groups"):
        await api.create("network_policy", "p", network_policy_entries=rules(entry))


async def test_policy_rules_are_given_uuids_and_duplicates_rejected(api: Api) -> None:
    entry = {"protocol": "any", "action_list": {"simple_action": "pass"}}
    made = await api.create("network_policy", "p", network_policy_entries=rules(entry))
    assert made["network_policy_entries"]["policy_rule"][0]["rule_uuid"]
    with rejected(409):
        await api.update("network_policy", made["uuid"], network_policy_entries=rules(entry, entry))


# ---- networks ------------------------------------------------------------------------------------------------------


async def test_a_network_comes_with_its_primary_routing_instance_and_a_number(api: Api) -> None:
    made = await api.create("virtual_network", "n", fabric_snat=True)
    instance = await api.by_name("routing_instance", *PROJECT, "n", "n")
    assert instance["routing_instance_is_default"] is instance["routing_instance_fabric_snat"] is True
    assert instance["parent_uuid"] == made["uuid"]
    assert made["virtual_network_network_id"] == 8  # three networks are seeds
    shown = await api.get("virtual_network", made["uuid"])
    assert shown["routing_instances"] == [{"uuid": instance["uuid"], "to": instance["fq_name"]}]


async def test_the_primary_routing_instance_follows_the_networks_fabric_snat(api: Api) -> None:
    made = await api.create("virtual_network", "n")
    for value in (True, False):
        await api.update("virtual_network", made["uuid"], fabric_snat=value)
        instance = await api.by_name("routing_instance", *PROJECT, "n", "n")
        assert bool(instance.get("routing_instance_fabric_snat")) is value


async def test_network_and_routing_instance_appear_in_one_revision(api: Api) -> None:
    answer = await api.server.create("virtual_network", {"fq_name": [*PROJECT, "n"]})
    instance = await api.server.identify("routing_instance", [*PROJECT, "n", "n"])
    assert (await api.server.get(Key("routing_instance", instance))).revision == answer.revision


async def test_the_primary_routing_instance_goes_with_its_network_whoever_refers_to_it(api: Api) -> None:
    one, other = await api.create("virtual_network", "a"), await api.create("virtual_network", "b")
    first = await api.by_name("routing_instance", *PROJECT, "a", "a")
    second = await api.by_name("routing_instance", *PROJECT, "b", "b")
    target = await api.create("route_target", fq_name=["target:1:1"])
    references = [{"uuid": target["uuid"], "attr": {"import_export": "import"}}]
    await api.update("routing_instance", first["uuid"], route_target_refs=references)
    await api.update("routing_instance", second["uuid"], routing_instance_refs=[{"uuid": first["uuid"]}])
    await api.create("bgp_router", fq_name=[*PROJECT, "a", "a", "r"])
    await api.delete("virtual_network", one["uuid"])
    assert not await api.exists("routing_instance", first["uuid"])
    assert "routing_instance_refs" not in await api.get("routing_instance", second["uuid"])
    await api.delete("route_target", target["uuid"])
    with rejected(404):
        await api.server.identify("bgp_router", [*PROJECT, "a", "a", "r"])
    assert (await api.create("virtual_network", "c"))["virtual_network_network_id"] == 8
    await api.delete("virtual_network", other["uuid"])


async def test_a_chosen_vxlan_id_is_reserved_and_given_back(api: Api) -> None:
    properties = {"vxlan_network_identifier": 9}
    made = await api.create("virtual_network", "n", virtual_network_properties=properties)
    assert await api.server.owner_of("virtual_network_id", 9) == "default-domain:default-project:n_vxlan"
    with rejected(400, "9 is taken"):
        await api.create("virtual_network", "m", virtual_network_properties=properties)
    await api.update("virtual_network", made["uuid"], virtual_network_properties={"vxlan_network_identifier": 10})
    with rejected(404):
        await api.server.owner_of("virtual_network_id", 9)
    await api.delete("virtual_network", made["uuid"])
    with rejected(404):
        await api.server.owner_of("virtual_network_id", 10)


async def test_a_vxlan_id_outside_of_the_pool_needs_no_reservation(api: Api) -> None:
    for name in ("a", "b"):
        await api.create("virtual_network", name, virtual_network_properties={"vxlan_network_identifier": 1000000})


async def test_a_network_can_not_choose_its_number(api: Api) -> None:
    with rejected(403):
        await api.create("virtual_network", "n", virtual_network_network_id=77)


async def test_multi_policy_chains_forbid_the_common_list_and_overlaps(api: Api) -> None:
    one = {"route_target": ["target:1:1"]}
    with rejected(400, "route_target_list"):
        await api.create("virtual_network", "a", multi_policy_service_chains_enabled=True, route_target_list=one)
    both = {"import_route_target_list": one, "export_route_target_list": one}
    with rejected(400, "target:1:1"):
        await api.create("virtual_network", "a", multi_policy_service_chains_enabled=True, **both)
    await api.create("virtual_network", "a", **both)


async def test_provider_networks_are_joined_with_others_only(api: Api) -> None:
    fabric = await api.by_name("virtual_network", *PROJECT, "ip-fabric")
    plain = await api.create("virtual_network", "a", virtual_network_refs=[{"uuid": fabric["uuid"]}])
    with rejected(400, "can't be joined"):
        await api.create("virtual_network", "b", virtual_network_refs=[{"uuid": plain["uuid"]}])
    with rejected(400, "set back to false"):
        await api.update("virtual_network", fabric["uuid"], is_provider_network=False)
    await api.update("virtual_network", plain["uuid"], is_provider_network=False)
    await api.update("virtual_network", fabric["uuid"], is_shared=True, is_provider_network=True)


# ---- ports ---------------------------------------------------------------------------------------------------------


async def test_a_port_gets_an_address_and_its_networks_primary_routing_instance(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    instance = await api.by_name("routing_instance", *PROJECT, "n", "n")
    made = await api.create(
        "virtual_machine_interface",
        "i",
        uuid="01234567-89ab-4000-8000-000000000000",
        parent_type="project",
        virtual_network_refs=[{"uuid": network["uuid"]}],
    )
    assert made["virtual_machine_interface_mac_addresses"] == {"mac_address": ["02:01:23:45:67:89"]}
    assert made["routing_instance_refs"] == [
        {"uuid": instance["uuid"], "to": instance["fq_name"], "attr": {"direction": "both"}}
    ]
    with rejected(409):
        await api.delete("virtual_network", network["uuid"])


async def test_a_port_keeps_a_given_address_and_needs_a_network(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    given = {"mac_address": ["02:00:00:00:00:01"]}
    made = await api.create(
        "virtual_machine_interface",
        "i",
        parent_type="project",
        virtual_network_refs=[{"uuid": network["uuid"]}],
        virtual_machine_interface_mac_addresses=given,
    )
    assert made["virtual_machine_interface_mac_addresses"] == given
    with rejected(400, "virtual_network_refs"):
        await api.create("virtual_machine_interface", "j", parent_type="project")
    with rejected(400, "virtual_network_refs"):
        await api.update("virtual_machine_interface", made["uuid"], virtual_network_refs=[])


async def test_a_port_that_moves_refers_to_the_other_networks_instance(api: Api) -> None:
    await api.create("virtual_network", "a")
    await api.create("virtual_network", "b")
    made = await api.create(
        "virtual_machine_interface", "i", parent_type="project", virtual_network_refs=[{"to": [*PROJECT, "a"]}]
    )
    await api.update("virtual_machine_interface", made["uuid"], virtual_network_refs=[{"to": [*PROJECT, "b"]}])
    now = await api.get("virtual_machine_interface", made["uuid"])
    assert [entry["to"] for entry in now["routing_instance_refs"]] == [[*PROJECT, "b", "b"]]


# ---- routers, projects, route targets, the global configuration ----------------------------------------------------


async def _port(api: Api, network: str, name: str, **fields: Any) -> dict[str, Any]:
    return await api.create(
        "virtual_machine_interface",
        name,
        parent_type="project",
        virtual_network_refs=[{"to": [*PROJECT, network]}],
        **fields,
    )


async def test_a_router_can_not_have_a_network_both_as_gateway_and_behind_a_port(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    port = await _port(api, "n", "i")
    gateway = [{"uuid": network["uuid"], "attr": {"logical_router_virtual_network_type": "ExternalGateway"}}]
    router = await api.create("logical_router", "r", virtual_machine_interface_refs=[{"uuid": port["uuid"]}])
    with rejected(400, "gateway"):
        await api.update("logical_router", router["uuid"], virtual_network_refs=gateway)


async def test_a_port_of_a_machine_is_no_router_port(api: Api) -> None:
    await api.create("virtual_network", "n")
    machine = await api.create("virtual_machine", fq_name=["m"])
    port = await _port(api, "n", "i", virtual_machine_refs=[{"uuid": machine["uuid"]}])
    with rejected(409, "used by a virtual machine"):
        await api.create("logical_router", "r", virtual_machine_interface_refs=[{"uuid": port["uuid"]}])


async def test_vxlan_routing_has_no_external_gateway_and_stays_while_there_are_routers(api: Api) -> None:
    project = await api.create("project", fq_name=["default-domain", "p"], vxlan_routing=True)
    network = await api.create("virtual_network", fq_name=["default-domain", "p", "n"])
    gateway = [{"uuid": network["uuid"], "attr": {"logical_router_virtual_network_type": "ExternalGateway"}}]
    with rejected(400, "vxlan"):
        await api.create("logical_router", fq_name=["default-domain", "p", "r"], virtual_network_refs=gateway)
    router = await api.create("logical_router", fq_name=["default-domain", "p", "r"])
    with rejected(400, "default-domain:p:r"):
        await api.update("project", project["uuid"], vxlan_routing=False)
    await api.update("project", project["uuid"], display_name="still changeable", vxlan_routing=True)
    await api.delete("logical_router", router["uuid"])
    await api.update("project", project["uuid"], vxlan_routing=False)


@pytest.mark.parametrize("name", ["target:64512:2", "target:10.1.2.3:5", "target:4200000000:1"])
async def test_a_route_target_has_its_form(api: Api, name: str) -> None:
    await api.create("route_target", fq_name=[name])


@pytest.mark.parametrize(
    "name", ["target:x:1", "64512:1", "target:64512", "target:64512:x", "target:1.2.3:4", "rt:1:2"]
)
async def test_another_name_is_no_route_target(api: Api, name: str) -> None:
    with rejected(400, "no route target"):
        await api.create("route_target", fq_name=[name])


async def test_the_global_configuration_can_not_be_created(api: Api) -> None:
    with rejected(403, "exists once"):
        await api.create("global_system_config", fq_name=["another"])


async def test_the_autonomous_system_changes_unless_users_targets_would_become_automatic(api: Api) -> None:
    uuid = "beefbeef-beef-beef-beef-beefbeef0001"
    await api.update("global_system_config", uuid, autonomous_system=64513)
    with rejected(400, "enable_4byte_as"):
        await api.update("global_system_config", uuid, autonomous_system=70000)
    targets = {"route_target": ["target:64514:8000001", "target:64515:1"]}
    await api.create("virtual_network", "n", route_target_list=targets)
    with rejected(400, "default-domain:default-project:n", "target:64514:8000001"):
        await api.update("global_system_config", uuid, autonomous_system=64514)
    await api.update("global_system_config", uuid, autonomous_system=64515)


GLOBAL_CONFIG = "beefbeef-beef-beef-beef-beefbeef0001"
AUTOMATIC = {"route_target": ["target:1:1", "target:64512:8000100"]}
LISTS = [
    ("virtual_network", "route_target_list"),
    ("virtual_network", "import_route_target_list"),
    ("virtual_network", "export_route_target_list"),
    ("logical_router", "configured_route_target_list"),
    ("bgpvpn", "import_route_target_list"),
]


@pytest.mark.parametrize(("kind", "field"), LISTS)
async def test_no_list_names_a_route_target_that_the_compiler_numbers(api: Api, kind: str, field: str) -> None:
    with rejected(400, field, "target:64512:8000100", "would join another's network"):
        await api.create(kind, "n", **{field: AUTOMATIC})
    made = await api.create(kind, "n", **{field: {"route_target": ["target:64512:7999999", "target:64513:8000100"]}})
    with rejected(400, field, "target:64512:8000100"):
        await api.update(kind, made["uuid"], **{field: AUTOMATIC})


@pytest.mark.parametrize("written", ["target:64512:08000100", "target:064512:8000100", "target:64512:4294967295"])
async def test_a_number_is_automatic_however_it_is_written(api: Api, written: str) -> None:
    with rejected(400, written):
        await api.create("virtual_network", "n", route_target_list={"route_target": [written]})


@pytest.mark.parametrize(("kind", "field"), LISTS)
async def test_the_autonomous_system_takes_over_nobodys_list(api: Api, kind: str, field: str) -> None:
    await api.create(kind, "n", **{field: {"route_target": ["target:64514:8000001"]}})
    with rejected(400, kind, "default-domain:default-project:n", "target:64514:8000001", field):
        await api.update("global_system_config", GLOBAL_CONFIG, autonomous_system=64514)


async def test_under_an_autonomous_system_of_four_bytes_other_numbers_are_automatic(api: Api) -> None:
    await api.create("virtual_network", "high", route_target_list={"route_target": ["target:4200000000:32768"]})
    low = await api.create("virtual_network", "low", route_target_list={"route_target": ["target:4200000000:8000"]})
    four_bytes = {"autonomous_system": 4200000000, "enable_4byte_as": True}
    with rejected(400, "target:4200000000:8000", "8000 to 32767"):
        await api.update("global_system_config", GLOBAL_CONFIG, **four_bytes)
    await api.update("virtual_network", low["uuid"], route_target_list={"route_target": []})
    await api.update("global_system_config", GLOBAL_CONFIG, **four_bytes)
    with rejected(400, "target:4200000000:8000"):
        await api.update("virtual_network", low["uuid"], route_target_list={"route_target": ["target:4200000000:8000"]})
    await api.update("virtual_network", low["uuid"], route_target_list={"route_target": ["target:64512:8000100"]})


async def test_lists_and_autonomous_system_of_one_request_are_judged_together(api: Api) -> None:
    """In whatever order: what counts is how both will be."""
    system = ("UPDATE", "global_system_config", {"uuid": GLOBAL_CONFIG, "autonomous_system": 64513})

    def network(name: str, target: str) -> tuple[str, str, dict[str, Any]]:
        fq_name = ["default-domain", "default-project", name]
        data = {"fq_name": fq_name, "parent_type": "project", "route_target_list": {"route_target": [target]}}
        return ("CREATE", "virtual_network", data)

    for bad in (
        [network("n", "target:64513:8000100"), system],
        [system, network("n", "target:64513:8000100")],
    ):
        with rejected(400, "target:64513:8000100"):
            await api.server.sync([{"operation": o, "kind": k, "data": d} for o, k, d in bad])
    good = [network("n", "target:64512:8000100"), system]
    await api.server.sync([{"operation": o, "kind": k, "data": d} for o, k, d in good])


async def test_a_list_that_was_there_before_hinders_no_other_change(api: Api, store: MemoryStore) -> None:
    """Such as an older server took: it stays as it is, and may be taken off."""
    made = await api.create("virtual_network", "n", route_target_list={"route_target": ["target:64513:8000100"]})
    config = await api.by_name("global_system_config", "default-global-system-config")
    value = msgspec.json.encode({**config, "autonomous_system": 64513})
    await store.transaction([], [Put(f"/contrail/global_system_config/{config['uuid']}", value)])
    listed = {"route_target_list": made["route_target_list"]}
    await api.update("virtual_network", made["uuid"], display_name="another", **listed)
    await api.update("virtual_network", made["uuid"], route_target_list={"route_target": []})
    with rejected(400, "target:64513:8000100"):
        await api.update("virtual_network", made["uuid"], **listed)
