"""What conditions and problems say to people (docs/gateway.md §5, §9, §12)."""

from __future__ import annotations

import pytest

from tests.support.gateway.documents import HTTP, Document, contour, early_class, early_gateway, gateway, gateway_class
from tests.unit.gateway.worlds import World

pytestmark = pytest.mark.anyio

WORDS = "exceeded quota: compute"


@pytest.mark.parametrize(
    ("owner", "kind", "service", "condition"),
    [
        (contour("web"), "contour", "envoy", "Available"),
        (gateway("web", HTTP), "gateway", "envoy-web", "Programmed"),
        (early_gateway("web", HTTP), "gateway_v1alpha1", "envoy", "Ready"),
    ],
    ids=["contour", "gateway", "v1alpha1"],
)
async def test_a_rejection_is_in_the_condition_and_in_a_problem(
    owner: Document, kind: str, service: str, condition: str
) -> None:
    world = World()
    world.cluster.reject("Service", service, "shop", words=WORDS)
    await world.create(gateway_class(), early_class(), owner)
    conditions = world.status(f"{kind} shop:web")["conditions"]
    (message,) = (one["message"] for one in conditions if one["type"] == condition)
    assert WORDS in message
    (problem,) = world.service.problems
    assert WORDS in problem.message


async def test_all_faults_of_a_contour_are_said_at_once() -> None:
    world = World()
    envoy = {"type": "Ingress", "containerPorts": [{"name": "http", "portNumber": 0}]}
    await world.create(contour("web", replicas=-1, ingressClassName="missing", networkPublishing={"envoy": envoy}))
    (condition,) = world.status("contour shop:web")["conditions"]
    (problem,) = world.service.problems
    for field in ("envoy.type", "envoy.containerPorts: 0", "named http and https", "replicas -1", "ingressClassName"):
        assert field in condition["message"]
        assert field in problem.message
