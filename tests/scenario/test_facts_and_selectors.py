"""Kubernetes-shaped kinds end to end: labels, globs, and a fact between intents (tests/support/toy)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model.values import thaw
from intentc.testing import Create, Delete, MemoryService, Update, load, service_for
from tests.support.toy.compiler import compiler

pytestmark = pytest.mark.anyio

Served = list[tuple[str, str, list[str]]]


def manifest(kind: str, name: str, labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    version = "toy.intentc.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels or {}}, "spec": spec}


def pod(name: str, address: str, **labels: str) -> dict[str, Any]:
    return manifest("ToyPod", name, labels, address=address)


GATEWAY = manifest("ToyGateway", "front", hostname="*.shop.example", port=443)
ROUTE = manifest(
    "ToyRoute", "basket", hostname="www.shop.example", match={"prefix": "/basket"}, service="http://basket:80"
)
SERVICE = manifest("ToyService", "basket", selector={"app": "basket", "tier": "front"})
PODS = [
    pod("basket-1", "10.0.0.1", app="basket", tier="front"),
    pod("basket-2", "10.0.0.2", app="basket", tier="front"),
    pod("basket-test", "10.0.0.3", app="basket", tier="test"),
]


@pytest.fixture
async def service() -> MemoryService:
    """A gateway with one route to one service with two of three pods."""
    service = service_for(compiler)
    await service.create(GATEWAY, ROUTE, SERVICE, *PODS)
    return service


def served(service: MemoryService) -> Served:
    """What the only listener serves, as it was written last."""
    operation = service.written[-1]
    assert isinstance(operation, Create | Update)
    found: Served = [(r["hostname"], r["prefix"], r["addresses"]) for r in thaw(operation.properties["routes"])]
    return found


async def test_a_gateway_serves_the_route_of_its_glob_from_the_selected_pods(
    service: MemoryService,
) -> None:
    assert len(service.written) == 1
    assert served(service) == [("www.shop.example", "/basket", ["10.0.0.1", "10.0.0.2"])]


async def test_a_pod_that_comes_is_served_by_way_of_the_fact(service: MemoryService) -> None:
    await service.create(pod("basket-4", "10.0.0.4", app="basket", tier="front"))
    assert served(service) == [("www.shop.example", "/basket", ["10.0.0.1", "10.0.0.2", "10.0.0.4"])]


async def test_a_pod_that_loses_its_label_is_served_no_more(service: MemoryService) -> None:
    await service.update(pod("basket-1", "10.0.0.1", app="basket"))
    assert served(service) == [("www.shop.example", "/basket", ["10.0.0.2"])]


async def test_a_pod_that_is_not_selected_changes_nothing(service: MemoryService) -> None:
    runs = service.offline.engine.evaluator.runs
    await service.update(pod("basket-test", "10.0.0.33", app="basket", tier="test"))
    assert len(service.written) == 1
    assert service.offline.engine.evaluator.runs == runs + 1  # the pod itself


async def test_a_change_that_leaves_the_fact_as_it_is_stops_there(service: MemoryService) -> None:
    """docs/engine.md §3.6: the service is looked at again, the gateway is not."""
    runs = service.offline.engine.evaluator.runs
    await service.update(SERVICE | {"spec": SERVICE["spec"] | {"ports": [{"name": "http", "number": 80}]}})
    assert len(service.written) == 1
    assert service.offline.engine.evaluator.runs <= runs + 2


async def test_a_route_whose_host_no_glob_covers_is_not_served(service: MemoryService) -> None:
    await service.update(ROUTE | {"spec": ROUTE["spec"] | {"hostname": "www.other.example"}})
    assert served(service) == []


async def test_a_route_may_come_before_its_service_and_the_service_before_its_pods() -> None:
    service = service_for(compiler)
    for resource in (ROUTE, GATEWAY, SERVICE, *PODS):
        await service.create(resource)
    assert served(service) == [("www.shop.example", "/basket", ["10.0.0.1", "10.0.0.2"])]
    assert service.problems == ()


async def test_an_older_version_of_a_manifest_means_the_same(service: MemoryService) -> None:
    old = load(
        """
        apiVersion: toy.intentc.io/v1alpha1
        kind: ToyRoute
        metadata: {name: basket}
        spec: {hostname: www.shop.example, path: /old, backend: 'http://basket:80'}
        """
    )
    await service.update(old)
    assert served(service) == [("www.shop.example", "/old", ["10.0.0.1", "10.0.0.2"])]


async def test_what_a_deleted_gateway_made_goes_with_it(service: MemoryService) -> None:
    await service.delete(GATEWAY)
    assert isinstance(service.written[-1], Delete)
    assert service.offline.outputs() == []


async def test_the_reaction_map_names_every_intent_that_recorded_reads_run(service: MemoryService) -> None:
    await service.create(pod("basket-4", "10.0.0.4", app="basket", tier="front"))
    await service.delete(ROUTE)
    await service.create(ROUTE)
    assert service.offline.engine.evaluator.missing_reactions == {}
