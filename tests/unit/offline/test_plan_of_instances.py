"""A plan says which instances of Contour restart, and knows who holds a namespace (docs/planning.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.offline.preview import Plan
from tests.unit.offline.planned_system import PlannedSystem, texts

pytestmark = pytest.mark.anyio

SAMPLE = Path(__file__).parents[3] / "sample" / "gateway"
SMALL = """apiVersion: projectcontour.io/v1alpha1
kind: ContourDeployment
metadata: {name: small, namespace: sample}
spec:
  contour: {deployment: {replicas: 4}, logLevel: debug}
  envoy: {workloadType: Deployment, deployment: {replicas: 3}, networkPublishing: {type: LoadBalancerService}}
"""
LARGE = SMALL.replace("name: small", "name: large")
CLASS = """apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec:
  controllerName: projectcontour.io/gateway-controller
  parametersRef: {group: projectcontour.io, kind: ContourDeployment, namespace: sample, name: large}
"""
LATER = """apiVersion: operator.projectcontour.io/v1alpha1
kind: Contour
metadata: {name: z, namespace: z}
spec: {namespace: {name: projectcontour}}
"""
REQUESTING = """apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: sample}
spec:
  gatewayClassName: contour
  addresses: [{type: IPAddress, value: ADDRESS}]
  listeners: [{name: plain, port: 80, protocol: HTTP}]
"""


@pytest.fixture
async def sample() -> PlannedSystem:
    system = PlannedSystem("gateway")
    await system.apply(texts(*(file.read_text() for file in sorted(SAMPLE.glob("*.yaml")))))
    return system


def remarks(plan: Plan) -> list[str]:
    return [remark for change in (*plan.applied, *plan.follows) for remark in change.remarks]


async def test_changed_parameters_restart_the_instances_of_their_class(sample: PlannedSystem) -> None:
    plan = await sample.plan(texts(SMALL))
    assert remarks(plan) == ["restarts: deployment sample/contour-web (args of contour)"]
    assert [change.name for change in plan.follows if change.kind == "manifest"] == [
        "sample:deployment.apps--contour-web"
    ], "the Contour of its own, Envoy and the Services are not named"
    shown = next(change for change in plan.document()["follows"] if change["kind"] == "manifest")
    assert list(shown["remarks"]) == remarks(plan)


async def test_a_change_of_replicas_restarts_nothing(sample: PlannedSystem) -> None:
    plan = await sample.plan(texts(SMALL.replace("debug", "info")))
    assert [change.kind for change in plan.follows] == ["manifest"]
    assert remarks(plan) == []


async def test_a_class_with_other_parameters_restarts_its_instances(sample: PlannedSystem) -> None:
    plan = await sample.plan(texts(LARGE, CLASS))
    assert remarks(plan) == ["restarts: deployment sample/contour-web (args of contour)"]
    plan = await sample.plan(texts(CLASS))
    assert remarks(plan) == [], "without the parameters, what runs goes on as it is"


async def test_other_images_are_due_and_restart_what_has_them(sample: PlannedSystem) -> None:
    plan = await sample.plan(texts(), settings={"gateway.contour_image": "example.com/contour:v2"})
    former = "ghcr.io/projectcontour/contour:v1.33.7"
    assert [remark for change in plan.due for remark in change.remarks] == [
        f"restarts: deployment sample/contour-web (image {former} → example.com/contour:v2)",
        f"restarts: deployment sample/envoy-web (image {former} → example.com/contour:v2)",
    ]
    assert (plan.due_summary.create, plan.due_summary.delete) == (1, 1), "another Job, and the former one"
    assert not any("service" in change.name for change in plan.due)


async def test_another_address_in_the_cluster_makes_the_service_anew(sample: PlannedSystem) -> None:
    inside = SMALL.replace("debug", "info").replace("LoadBalancerService", "ClusterIPService")
    await sample.apply(texts(inside, REQUESTING.replace("ADDRESS", "10.0.0.1")))
    plan = await sample.plan(texts(REQUESTING.replace("ADDRESS", "10.0.0.2")))
    assert remarks(plan) == ["made anew: service sample/envoy-web (spec.clusterIP, spec.clusterIPs)"]


async def test_a_later_contour_is_planned_not_to_take_a_namespace_over(sample: PlannedSystem) -> None:
    plan = await sample.plan(texts(LATER))
    assert [change.name for change in plan.follows] == ["z:z"], "only its own status"
    assert [problem.message for problem in plan.problems] == [
        "Contour contour-operator/edge holds the namespace; name another one"
    ]
