"""What lies around an object: relations, facts, and what is made, breadth first, at most 200 nodes."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.diagnostics.questions import Unanswerable
from intentc.inspection.neighbourhood import MOST, neighbourhood
from intentc.testing import MemoryService, load, service_for
from tests.support.toy.compiler import compiler

pytestmark = pytest.mark.anyio

SHOP = load("""
resources:
  - {kind: toy_pod, data: {fq_name: [shop, one], metadata: {labels: {app: web}}, address: 10.0.0.1}}
  - {kind: toy_service, data: {fq_name: [shop, web], selector: {app: web}}}
  - {kind: toy_route, data: {fq_name: [shop, home], hostname: a.example, service: web}}
  - {kind: toy_gateway, data: {fq_name: [shop, front], hostname: "*.example", port: 8080}}
""")


async def shop(*more: Any) -> MemoryService:
    service = service_for(compiler)
    await service.create(SHOP, *more)
    return service


async def around(service: MemoryService, kind: str, name: str, **options: Any) -> dict[str, Any]:
    return await neighbourhood(service.offline.engine, kind, name, **options)


def names(found: dict[str, Any]) -> list[str]:
    return [f"{node['depth']} {node['role']} {node['kind']} {node['name']}" for node in found["nodes"]]


def edges(found: dict[str, Any]) -> set[tuple[str, str, str, bool]]:
    called = {node["id"]: node["name"] for node in found["nodes"]}
    return {(called[edge["from"]], edge["relation"], called[edge["to"]], edge["made"]) for edge in found["edges"]}


async def test_relations_both_ways_facts_and_what_is_made_are_one_step_away() -> None:
    service = await shop()
    assert names(await around(service, "toy_service", "shop:web")) == [
        "0 input toy_service shop:web",
        "1 fact toy_cluster shop:web",
        "1 input toy_pod shop:one",
        "1 input toy_route shop:home",
    ]
    assert names(await around(service, "toy_gateway", "shop:front")) == [
        "0 input toy_gateway shop:front",
        "1 output toy_listener shop-front",
        "1 input toy_route shop:home",
    ]


async def test_edges_say_by_what_relation_and_whether_a_compiler_wrote_it() -> None:
    service = await shop()
    assert edges(await around(service, "toy_service", "shop:web")) == {
        ("shop:web", "pods", "shop:one", False),
        ("shop:web", "contributes to", "shop:web", True),
        ("shop:home", "service", "shop:web", False),
    }
    assert ("shop:front", "makes", "shop-front", True) in edges(await around(service, "toy_gateway", "front"))


async def test_what_is_made_leads_back_to_who_makes_it() -> None:
    service = await shop()
    assert names(await around(service, "toy-listener", "shop-front")) == [
        "0 output toy_listener shop-front",
        "1 input toy_gateway shop:front",
    ]


async def test_references_that_a_compiler_wrote_are_distinguished_from_the_users() -> None:
    service = service_for("contrail")
    await service.create(
        {"kind": "project", "data": {"fq_name": ["default-domain", "p"]}},
        {"kind": "virtual_network", "data": {"fq_name": ["default-domain", "p", "n"]}},
    )
    found = edges(await around(service, "routing_instance", "p:n:n"))
    own = next(to for start, relation, to, made in found if relation == "route_target" and made)
    assert own.startswith("target:")
    assert ("default-domain:p:n:n", "parent", "default-domain:p:n", False) in found
    assert ("default-domain:p:n:n", "makes", own, True) in found


async def test_it_goes_as_deep_as_it_is_asked_to() -> None:
    service = await shop()
    deep = await around(service, "toy_pod", "one", depth=3)
    assert [node["depth"] for node in deep["nodes"] if node["kind"] == "toy_gateway"] == [3]
    assert not deep["cut"]


async def test_only_the_kinds_that_are_named_are_shown_and_gone_over() -> None:
    service = await shop()
    found = await around(service, "toy_pod", "one", depth=4, kinds=("toy-service", "toy_gateway"))
    assert names(found) == ["0 input toy_pod shop:one", "1 input toy_service shop:web"]


async def test_every_kind_near_a_hub_has_its_share_and_the_answer_is_stable() -> None:
    pods = [
        {"kind": "toy_pod", "data": {"fq_name": ["shop", f"p{number:04}"], "metadata": {"labels": {"app": "web"}}}}
        for number in range(600)
    ]
    service = await shop(*pods)
    found = await around(service, "toy_service", "web", depth=2)
    assert found["cut"]
    assert len(found["nodes"]) == MOST
    kinds = [node["kind"] for node in found["nodes"]]
    assert {"toy_cluster", "toy_route", "toy_pod"} <= set(kinds)
    assert [node["name"] for node in found["nodes"] if node["kind"] == "toy_pod"][:3] == [
        "shop:one",
        "shop:p0000",
        "shop:p0001",
    ]
    assert found == await around(service, "toy_service", "web", depth=2)


async def test_edges_lead_to_nodes_that_are_there() -> None:
    service = await shop()
    found = await around(service, "toy_pod", "one", depth=2)
    ids = {node["id"] for node in found["nodes"]}
    assert found["center"] in ids
    assert {end for edge in found["edges"] for end in (edge["from"], edge["to"])} <= ids


async def test_an_object_that_is_claimed_and_not_there_yet_is_a_node_without_uuid(mocker: Any) -> None:
    service = await shop()
    write = mocker.patch.object(service.offline.local, "create")
    await service.create(
        {"kind": "toy_gateway", "data": {"fq_name": ["shop", "back"], "hostname": "none.test", "port": 1}}
    )
    assert write.await_count
    found = await around(service, "toy_gateway", "back")
    (listener,) = [node for node in found["nodes"] if node["kind"] == "toy_listener"]
    assert (listener["name"], listener["uuid"], listener["id"]) == ("shop-back", "", "toy_listener/shop-back")
    assert names(await around(service, "toy_listener", "shop-back"))[1:] == ["1 input toy_gateway shop:back"]


async def test_a_name_that_nothing_has_is_rejected_with_near_ones() -> None:
    service = await shop()
    with pytest.raises(Unanswerable) as rejected:
        await around(service, "toy_service", "shop:wbe")
    assert rejected.value.status == 404
    assert rejected.value.candidates == ("shop:web",)
    assert "intentc why toy_service shop:wbe" in rejected.value.next_step
