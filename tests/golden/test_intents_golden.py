"""Every golden pair, driven through the intents alone, and next to it through the naive oracle.

So each expected output has three witnesses: the hand that checked it, the intents, and a second program written from
docs/contrail.md.
"""

from __future__ import annotations

import functools
from typing import Any

import pytest

from intentc.cli.input_files import apply_inputs, targets_first
from intentc.loading.resource_files import load_resources
from intentc.model import Key
from tests.golden.comparing import Golden
from tests.golden.projection import projected
from tests.oracle import contrail_transparent
from tests.oracle.contrail import Expected, World, expected, normal
from tests.oracle.contrail_chains import INFORMATION, mirror_address_of
from tests.oracle.naive_compile import SEEDS, NaiveCompile
from tests.support.contrail_system import ContrailSystem
from tests.support.golden.cases import Case, cases

CASES = list(cases("contrail"))


def leads_on(case: Case) -> bool:
    """Whether intents read what others made and the server completed: addresses of services, and what follows; the
    services of routers. Or whether what is made at first goes again."""
    written = case.document()["resources"]
    return case.topic == "service_machines" or any(
        found.get("service_instance_ip") or "service_instance_refs" in found for found in written
    )


BY_INTENTS = [case for case in CASES if not leads_on(case)]
THROUGH_THE_SERVER = [case for case in CASES if leads_on(case)]
SEED_TARGETS = {("target:64512:8000100",), ("target:64512:8000101",)}
"""Of the two seeded networks that have a route target of their own."""


CHAIN_FIELDS = (*INFORMATION, "routing_instance_has_pnf")


@functools.cache
def compiled(case: Case) -> NaiveCompile:
    """Once for all tests of the case."""
    return NaiveCompile(case.resources(), case.settings())


@pytest.mark.parametrize("case", BY_INTENTS, ids=lambda case: case.name)
def test_the_intents_give_the_expected_output(case: Case, golden: Golden) -> None:
    golden.check(case, projected(compiled(case).document()), authority=case.as_stored)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_order_of_the_input_does_not_matter(case: Case) -> None:
    assert NaiveCompile(case.resources()[::-1], case.settings()).document() == compiled(case).document()


@pytest.mark.parametrize("case", BY_INTENTS, ids=lambda case: case.name)
def test_the_oracle_gives_the_expected_output(case: Case) -> None:
    naive = compiled(case)
    routers = case.settings().get("contrail.logical_routers_enabled", True)
    found = expected(stored_world(naive.stored), naive.numbers, routers=routers)
    for resource in case.document()["resources"]:
        name = (resource["kind"], tuple(resource["fq_name"]))
        assert compiler_fields(found.pop(name), resource["kind"]) == compiler_fields(resource, resource["kind"])
    assert unexplained(found, naive.stored) == []


@pytest.mark.anyio
@pytest.mark.parametrize("case", THROUGH_THE_SERVER, ids=lambda case: case.name)
async def test_the_oracle_agrees_with_what_passes_through_the_server(case: Case) -> None:
    system = ContrailSystem()
    await system.offline.seed()
    schema = system.loaded.schema
    await apply_inputs(system.offline, targets_first(load_resources([str(case.given)], schema), schema))
    await system.check()
    assert (await system.restart()).write.written == []


def stored_world(stored: dict[Key, dict[str, Any]]) -> World:
    world: World = {}
    for key, data in stored.items():
        world.setdefault(key.kind, {})[key.uuid] = data
    return world


def compiler_fields(resource: dict[str, Any], kind: str) -> Any:
    """The fields that compilers write, in one form for the intents and the oracle."""
    references = resource.get("route_target_refs", {})
    if isinstance(references, list):
        references = {e["to"][0]: e.get("attr", {}).get("import_export", "") for e in references}
    linked = [e if isinstance(e, str) else ":".join(e["to"]) for e in resource.get("routing_instance_refs", [])]
    entries = normal(resource.get("access_control_list_entries", {}))
    logged = resource.get("security_logging_object_rules", [])
    if isinstance(logged, dict):
        logged = sorted((rule["rule_uuid"], rule["rate"]) for rule in logged["rule"])
    routes = resource.get("static_route_entries", [])
    routes = normal(routes["route"] if isinstance(routes, dict) else routes)
    route_targets = dict(sorted(references.items()))
    chain = resource.get("chain") or {field: resource.get(field) for field in CHAIN_FIELDS if resource.get(field)}
    table = resource.get("vrf_assign_table") or []
    table = normal(table["vrf_assign_rule"] if isinstance(table, dict) else table)
    chained = (chain, table, steering(resource, kind), chain_address(resource, kind))
    linked = [] if kind == "virtual_machine_interface" else sorted(linked)
    return entries, route_targets, linked, logged, routes, bgp(resource), sequences(resource), *chained, ports(resource)


def steering(resource: dict[str, Any], kind: str) -> Any:
    """The attributes of a port's references to instances of service chains, by the name of the instance, and the
    address to which it is mirrored."""
    if kind != "virtual_machine_interface":
        return {}
    if "steering" in resource:
        return resource["steering"], resource["mirror"]
    return contrail_transparent.steering_of(resource), mirror_address_of(resource)


def chain_address(resource: dict[str, Any], kind: str) -> Any:
    """What compilers write on the instance IPs of service chains."""
    if kind != "instance_ip" or "family" in resource:
        return resource if kind == "instance_ip" else {}
    ipams = [":".join(entry["to"]) for entry in resource.get("network_ipam_refs") or []]
    fields = (resource.get("instance_ip_family"), resource.get("instance_ip_secondary"))
    return dict(zip(("family", "secondary", "ipam"), (*fields, ipams), strict=True))


def ports(resource: dict[str, Any]) -> Any:
    """What a port group, or a fabric port, says and refers to."""
    properties = resource.get("virtual_machine_interface_properties") or {}
    tag = resource.get("tag") or properties.get("sub_interface_vlan_tag", 0)
    kinds = ("virtual_network", "physical_interface", "virtual_machine_interface")
    lists = [resource.get(f"{kind}_refs") or [] for kind in kinds] if tag or "usage" in resource else []
    return tag, resource.get("usage"), [[e if isinstance(e, str) else ":".join(e["to"]) for e in one] for one in lists]


def sequences(resource: dict[str, Any]) -> Any:
    """The sequences of a routing policy, by the name of the routing instance."""
    entries = [entry for entry in resource.get("routing_instance_refs", []) if isinstance(entry, dict)]
    found = {":".join(entry["to"]): entry.get("attr", {}).get("sequence", "") for entry in entries}
    return {name: text for name, text in resource.get("sequences", found).items() if text}


def bgp(resource: dict[str, Any]) -> Any:
    """The fields of BGP: parameters, and the attributes of links by name."""
    links = resource.get("bgp_router_refs") or {}
    if isinstance(links, list):
        links = {":".join(entry["to"]): normal(entry.get("attr") or {}) for entry in links}
    return normal(resource.get("bgp_router_parameters") or {}), links


def unexplained(found: Expected, stored: dict[Key, dict[str, Any]]) -> list[tuple[str, tuple[str, ...]]]:
    """What the oracle expects besides the case's output, without what follows from the seeds or is there already."""
    seeds = {tuple(data["fq_name"]) for _, data in SEEDS}
    users = {(key.kind, tuple(data["fq_name"])): data for key, data in stored.items()}
    return [
        (kind, name)
        for (kind, name), fields in found.items()
        if name[:-1] not in seeds
        and not (kind == "route_target" and (name in SEED_TARGETS or (kind, name) in users))
        and compiler_fields(fields, kind) != compiler_fields(users.get((kind, name), {}), kind)
    ]
