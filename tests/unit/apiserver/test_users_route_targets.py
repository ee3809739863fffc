"""Route targets of the range from which the compiler numbers: users neither make them nor name them anywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from intentc.apiserver.authorization import Mode
from intentc.apiserver.startup import write_seeds
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import PROJECT, Api, rejected
from .tenants import DEMO, World, access_list, opened_world, perm

pytestmark = pytest.mark.anyio

GLOBAL_CONFIG = "beefbeef-beef-beef-beef-beefbeef0001"
NEXT = "target:64512:8000102"
FOUR_BYTES = {"autonomous_system": 4200000000, "enable_4byte_as": True}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str) -> AsyncIterator[World]:
    async with opened_world() as opened:
        yield opened


def marked(name: str, origin: str) -> dict[str, Any]:
    """A route target as a compiler makes it."""
    pair = {"key": "intentc", "value": f"default/contrail/{origin}"}
    return {"fq_name": [name], "annotations": {"key_value_pair": [pair]}}


async def refer(api: Api, router: str, name: str, *, operation: str = "UPDATE") -> None:
    """Let a router refer to a route target, through ``/sync``."""
    data = {"uuid": router, "route_target_refs": [{"to": [name]}]}
    await api.server.sync([{"operation": operation, "kind": "logical_router", "data": data}])


@pytest.mark.parametrize("name", [NEXT, "target:64512:8000002", "target:064512:8000102", "target:64512:4294967295"])
async def test_nobody_makes_a_route_target_that_the_compiler_numbers(api: Api, name: str) -> None:
    with rejected(400, name, "target:64512:8000000 and above", "the compiler alone makes it"):
        await api.create("route_target", fq_name=[name])
    await api.create("route_target", fq_name=["target:64512:7999999"])
    await api.create("route_target", fq_name=["target:64513:8000102"])


async def test_with_rules_a_member_makes_route_targets_outside_the_range_and_the_compiler_inside(world: World) -> None:
    kinds = ("route-target", "logical-router")
    rules = [{"rule_object": kind, "rule_perms": [perm("Member:CRUD")]} for kind in kinds]
    await world.made("api-access-list", access_list(["default-global-system-config", "targets"], rules))
    for who, body, status in (
        ("member", {"fq_name": [NEXT]}, 400),
        ("member", marked(NEXT, "x"), 400),
        ("admin", marked(NEXT, "x"), 400),
        ("member", {"fq_name": ["target:64512:7"]}, 200),
        ("compiler", marked(NEXT, "x"), 200),
    ):
        answer = await world.call(Mode.RBAC, who, "POST", "/route-targets", {"route-target": body})
        assert answer.status_code == status, (who, answer.text)
    router = {"fq_name": [*DEMO, "lr"], "parent_type": "project", "route_target_refs": [{"to": [NEXT]}]}
    answer = await world.call(Mode.RBAC, "member", "POST", "/logical-routers", {"logical-router": router})
    assert answer.status_code == 403, answer.text


async def test_under_an_autonomous_system_of_four_bytes_other_route_targets_are_the_compilers(api: Api) -> None:
    await api.update("global_system_config", GLOBAL_CONFIG, **FOUR_BYTES)
    with rejected(400, "target:4200000000:8000", "8000 to 32767"):
        await api.create("route_target", fq_name=["target:4200000000:8000"])
    await api.create("route_target", fq_name=["target:4200000000:32768"])
    await api.create("route_target", fq_name=[NEXT])


@pytest.mark.parametrize(("name", "config"), [("target:64514:8000102", {"autonomous_system": 64514}),
                                              ("target:4200000000:8000", FOUR_BYTES)])  # fmt: skip
async def test_the_autonomous_system_takes_over_nobodys_route_target(
    api: Api, name: str, config: dict[str, Any]
) -> None:
    made = await api.create("route_target", fq_name=[name])
    with rejected(400, "autonomous_system can't become", name, "delete it first"):
        await api.update("global_system_config", GLOBAL_CONFIG, **config)
    router = await api.create("logical_router", "lr", route_target_refs=[{"to": [name]}])
    with rejected(400, "default-domain:default-project:lr", name, "route_target_refs"):
        await api.update("global_system_config", GLOBAL_CONFIG, **config)
    await api.update("logical_router", router["uuid"], route_target_refs=[])
    await api.delete("route_target", made["uuid"])
    await api.update("global_system_config", GLOBAL_CONFIG, **config)


async def test_the_autonomous_system_changes_there_and_back_with_seeds_and_the_compilers_route_targets(
    api: Api,
) -> None:
    router = await api.create("logical_router", "lr")
    await api.create("route_target", **marked(NEXT, router["uuid"]))
    await refer(api, router["uuid"], NEXT)
    for system in (64513, 64512):
        await api.update("global_system_config", GLOBAL_CONFIG, autonomous_system=system)


async def test_a_router_refers_to_no_route_target_that_the_compiler_numbers_but_its_own(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    await api.create("route_target", **marked(NEXT, network["uuid"]))
    router = await api.create("logical_router", "lr", route_target_refs=[])
    own = "target:64512:8000103"
    await api.create("route_target", **marked(own, router["uuid"]))
    for name in (NEXT, "target:64512:8000000"):
        with rejected(400, "route_target_refs", name, "would join another's network"):
            await api.create("logical_router", "other", route_target_refs=[{"to": [name]}])
        with rejected(400, "route_target_refs", name, "would join another's network"):
            await refer(api, router["uuid"], name)
    await refer(api, router["uuid"], own)


async def test_a_reference_that_was_there_before_hinders_no_other_change(api: Api, store: MemoryStore) -> None:
    """Such as an older server took: it stays as it is, and may be taken off."""
    name = "target:64513:8000102"
    await api.create("route_target", fq_name=[name])
    router = await api.create("logical_router", "lr", route_target_refs=[{"to": [name]}])
    config = await api.by_name("global_system_config", "default-global-system-config")
    value = msgspec.json.encode({**config, "autonomous_system": 64513})
    await store.transaction([], [Put(f"/contrail/global_system_config/{config['uuid']}", value)])
    references = {"route_target_refs": router["route_target_refs"]}
    await api.update("logical_router", router["uuid"], display_name="another", **references)
    await api.update("logical_router", router["uuid"], route_target_refs=[])
    with rejected(400, name):
        await api.update("logical_router", router["uuid"], **references)


POLICY = {
    "term": [
        {
            "term_match_condition": {"extcommunity_list": ["target:64512:8000500"]},
            "term_action_list": {"update": {"extcommunity": {"add": {"community": ["target:64512:7"]}}}},
        }
    ]
}


async def test_static_routes_and_routing_policies_name_none_either(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    below = {"fq_name": [*PROJECT, "n", "mine"], "parent_type": "virtual-network", "parent_uuid": network["uuid"]}
    route = {"prefix": "10.0.0.0/8", "next_hop": "10.1.1.1", "route_target": [NEXT]}
    with rejected(400, "static_route_entries", NEXT):
        await api.create("routing_instance", **below, static_route_entries={"route": [route]})
    outside = {**route, "route_target": ["target:64514:8000001"]}
    instance = await api.create("routing_instance", **below, static_route_entries={"route": [outside]})
    with rejected(400, "routing_instance", "target:64514:8000001", "static_route_entries"):
        await api.update("global_system_config", GLOBAL_CONFIG, autonomous_system=64514)
    with rejected(400, "static_route_entries", NEXT):
        await api.update("routing_instance", instance["uuid"], static_route_entries={"route": [route]})
    # What a policy compares routes with joins nobody; what it gives them does.
    await api.create("routing_policy", "good", routing_policy_entries=POLICY)
    bad = msgspec.json.decode(msgspec.json.encode(POLICY).replace(b"target:64512:7", NEXT.encode()))
    with rejected(400, "routing_policy_entries", NEXT):
        await api.create("routing_policy", "bad", routing_policy_entries=bad)


async def test_the_servers_own_route_targets_are_made_again(api: Api) -> None:
    seed = await api.by_name("route_target", "target:64512:8000000")
    await api.delete("route_target", seed["uuid"])
    await write_seeds(api.server)
    await api.by_name("route_target", "target:64512:8000000")
