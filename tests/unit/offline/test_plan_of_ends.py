"""A plan of a deletion in order shows its end, as if bridges had carried it out (docs/planning.md)."""

from __future__ import annotations

import pytest

from intentc.offline.preview import Plan
from intentc.testing import FakeCluster
from tests.support.app.compiler import compiler
from tests.unit.offline.planned_system import PlannedSystem, texts

pytestmark = pytest.mark.anyio

WEB = """apiVersion: example.com/v1
kind: App
metadata: {name: web, namespace: shop}
spec: {image: "web:1", migration: migrate up}
"""
MADE = ["configmap--web", "deployment.apps--web", "job.batch--web", "service--web"]


def deleted(plan: Plan) -> list[str]:
    changes = (*plan.applied, *plan.follows)
    return sorted(f"{change.kind} {change.name}" for change in changes if change.action == "delete")


async def test_what_an_app_made_and_the_app_are_deleted() -> None:
    system, cluster = PlannedSystem(compiler), FakeCluster()
    await system.apply(texts(WEB))
    while await cluster.step(system.offline):
        await system.settle()
    plan = await system.plan(texts(WEB, delete=True))
    assert deleted(plan) == ["app shop:web", *(f"manifest shop:{name}" for name in MADE)]
    assert plan.due == ()
    assert len(cluster.objects) == 4, "a plan writes nothing"


async def test_a_deletion_under_way_is_due_anyway() -> None:
    system, cluster = PlannedSystem(compiler), FakeCluster()
    await system.apply(texts(WEB))
    while await cluster.step(system.offline):
        await system.settle()
    await system.apply(texts(WEB, delete=True))
    plan = await system.plan(texts(WEB.replace("name: web", "name: mail")))
    assert deleted(plan) == []
    assert [change.kind for change in plan.due if change.action == "delete"] == ["app", *["manifest"] * 4]
