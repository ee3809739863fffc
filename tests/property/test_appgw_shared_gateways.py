"""What others have in a gateway answers as before, whatever Ingresses ask for (docs/appgw.md §10).

In the mode ``prohibited`` that holds for reserved requests, in ``marked`` for all that a listener of theirs takes.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.support.appgw.foreign_gateways import foreign_gateway, is_reserved, random_target
from tests.support.appgw.manifests import PREFIX
from tests.support.appgw.random_worlds import random_manifest, usual
from tests.support.appgw.router import Request, Router, dangling
from tests.support.appgw.system import DocumentSystem

pytestmark = pytest.mark.anyio
NAMES = ("a.test", "b.test", "c.b.test", "d.test", "x.test", "z.test")
PATHS = ("/", "/a", "/A", "/a/", "/a/b", "/a/B/c", "/ab", "/z", "/zoo", "/deep/er/x")
REQUESTS = [Request("Public", 80, "Http", host, path) for host in NAMES for path in PATHS]


async def world_of(random: Random, mode: str, targets: list[Any]) -> DocumentSystem:
    system = DocumentSystem(foreign_gateway(random), {"ownership": mode})
    await system.start()
    await system.put(*usual(random), *targets)
    for _ in range(15):
        manifest = random_manifest(random)
        # A priority of 10 would put an Ingress before the others' rules, as it asks.
        manifest["metadata"].get("annotations", {}).pop(f"{PREFIX}rule-priority", None)
        await system.put(manifest)
    return system


def check(document: dict[str, Any]) -> None:
    content = document["properties"]
    assert dangling(document) == []
    priorities = [rule["properties"]["priority"] for rule in content["requestRoutingRules"]]
    assert len(set(priorities)) == len(priorities)
    listeners = [rule["properties"]["httpListener"]["id"] for rule in content["requestRoutingRules"]]
    assert sorted(listeners) == sorted(one["id"] for one in content["httpListeners"])
    for collection, entries in content.items():
        if isinstance(entries, list):
            names = [one["name"] for one in entries]
            assert len(set(names)) == len(names), collection
    for path_map in content["urlPathMaps"]:
        names = [one["name"] for one in path_map["properties"]["pathRules"]]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("seed", range(12))
async def test_reserved_requests_are_answered_as_before(seed: int) -> None:
    random = Random(seed)
    targets = [random_target(random, number) for number in range(random.choice([1, 2]))]
    system = await world_of(random, "prohibited", targets)
    found = system.assembled().document
    check(found)
    before, after = Router(system.gateway), Router(found)
    for request in REQUESTS:
        answer = before.answer(request)
        if answer is not None and is_reserved(targets, request.host, request.path):
            assert after.answer(request) == answer, request


async def test_without_a_target_nothing_changes() -> None:
    random = Random(1)
    system = await world_of(random, "prohibited", [])
    found = system.assembled()
    assert found.document == system.gateway
    assert found.held == "NoProhibitedTargets"


@pytest.mark.parametrize("mode", ["prohibited", "marked"])
@pytest.mark.parametrize("seed", range(3))
async def test_a_history_leads_where_a_compile_from_nothing_does(seed: int, mode: str) -> None:
    random = Random(seed)
    system = await world_of(random, mode, [random_target(random, 0)])
    for step in range(15):
        if random.random() < 0.4:
            await system.delete(random.choice(sorted(system.world)))
        else:
            await system.put(random.choice([random_manifest(random), random_target(random, step % 2)]))
        fresh = DocumentSystem(system.gateway, {"ownership": mode})
        await fresh.start()
        await fresh.put(*system.world.values())
        found, expected = system.assembled(), fresh.assembled()
        assert found == expected
        assert system.problems(found) == fresh.problems(expected)


@pytest.mark.parametrize("seed", range(12))
async def test_marked_leaves_all_listeners_of_others(seed: int) -> None:
    random = Random(seed)
    system = await world_of(random, "marked", [])
    found = system.assembled().document
    check(found)
    before, after = Router(system.gateway), Router(found)
    for request in REQUESTS:
        answer = before.answer(request)
        if answer is not None:
            assert after.answer(request) == answer, request
    for collection in ("httpListeners", "urlPathMaps", "requestRoutingRules", "backendAddressPools"):
        for entry in system.gateway["properties"][collection]:
            assert entry in found["properties"][collection]
