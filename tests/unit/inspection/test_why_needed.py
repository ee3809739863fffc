"""What depends on a resource besides its own outputs, which resources share these, and the value of each part."""

from __future__ import annotations

import json

import pytest

from intentc.inspection.why import summary_of, why
from intentc.offline.offline import Offline
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import manifest
from tests.property.gateways import KINDS
from tests.support.contrail_system import ContrailSystem, rule, rules

pytestmark = pytest.mark.anyio
INGRESS = "default-domain:blue:database:ingress-access-control-list"


@pytest.fixture
async def system() -> ContrailSystem:
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "any")))
    ports = [{"start_port": 5432, "end_port": 5432}]
    own, foreign = rule("local", "local"), rule("web", "local", dst_ports=ports)
    await system.create("security_group", "blue:database", security_group_entries=rules(own, foreign))
    return system


async def test_the_rule_of_another_group_that_names_a_group_needs_it(system: ContrailSystem) -> None:
    answer = await why(system.offline.engine, "security_group", "web")
    assert [(each["name"], each["part"]) for each in answer["needed_by"]] == [
        (INGRESS, "access_control_list_entries.acl_rule[1]")
    ]
    assert (answer["needed_by_total"], answer["needed_by_whole"]) == (1, True)
    assert INGRESS not in [each["name"] for each in answer["outputs"]]


async def test_a_resource_without_outputs_says_that_others_depend_on_it() -> None:
    answer = {"state": "as desired", "role": "input", "owners": [], "owners_total": 0, "exists": True, "parts": []}
    counts = {"outputs_total": 0, "parts_total": 0, "waiting_for": [], "ownership": None}
    assert summary_of({**answer, **counts, "needed_by_total": 15}, 0) == (
        "It is compiled: nothing follows from it alone, but 15 parts of other objects depend on it."
    )
    assert summary_of({**answer, **counts, "needed_by_total": 0}, 0) == "It is compiled: nothing follows from it alone."


async def test_nothing_else_needs_a_group_that_nobody_names(system: ContrailSystem) -> None:
    answer = await why(system.offline.engine, "security_group", "database")
    assert (answer["needed_by"], answer["needed_by_total"]) == ([], 0)


async def test_outputs_say_how_many_others_are_behind_them() -> None:
    offline = Offline(LOADED)
    await offline.seed()
    for name, prefix in (("one", "/1/"), ("two", "/2/"), ("three", "/3/")):
        spec = {"prefix": prefix, "hostname": "*", "service": "echo"}
        await offline.server.create(KINDS["Mapping"], manifest("Mapping", name, spec))
    await offline.settle()
    answer = await why(offline.engine, "mapping", "one")
    others = {each["kind"]: each["with_others"] for each in answer["outputs"]}
    assert (others["envoy_cluster"], others["envoy_route"]) == (2, 0)


async def test_a_part_shows_what_it_holds_and_is_found_by_that(system: ContrailSystem) -> None:
    answer = await why(system.offline.engine, "access_control_list", INGRESS, part="5432")
    (part,) = answer["parts"]
    assert part["part"] == "access_control_list_entries.acl_rule[1]"
    assert json.loads(part["value"])["match_condition"]["dst_port"] == {"start_port": 5432, "end_port": 5432}
    assert (await why(system.offline.engine, "access_control_list", INGRESS, part="zzz"))["parts_total"] == 0
