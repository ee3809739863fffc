"""A plan counts what its input leaves unmade, and not what was unmade before."""

from __future__ import annotations

import pytest

from tests.support.app.compiler import compiler as app
from tests.unit.offline.planned_system import PlannedSystem, texts

pytestmark = pytest.mark.anyio


def an_app(name: str, spec: str) -> str:
    return f"resources: [{{kind: app, data: {{fq_name: [shop, {name}], {spec}}}}}]"


async def test_a_plan_counts_the_intents_that_its_input_leaves_held() -> None:
    system = PlannedSystem(app)
    await system.settle()
    held = texts(an_app("held", "replicas: 1"))
    planned = await system.plan(held)
    assert planned.unmade == 1
    assert [(problem.kind, problem.name) for problem in planned.problems] == [("app", "shop:held")]
    await system.apply(held)
    assert (await system.plan(texts(an_app("good", "image: web")))).unmade == 0
