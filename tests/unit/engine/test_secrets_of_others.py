"""A secret that an author copies from a sensitive field stays concealed wherever objects are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from intentc.diagnostics.questions import Comparison
from intentc.evaluation import Compiled, Overview, Row
from intentc.inspection import Reader
from intentc.inspection.read_secrets import concealed_outputs, read_for, secrets_in
from intentc.offline.preview.report import Plan
from tests.unit.engine.leaking import LISTENER, compiler, gateway, route
from tests.unit.offline.planned_system import PlannedSystem, texts

pytestmark = pytest.mark.anyio

ONE, TWO = "canary-one", "canary-two"
AUTH = """
apiVersion: getambassador.io/v3alpha1
kind: Listener
metadata: {name: web, namespace: gate}
spec: {port: 8080, protocol: HTTP, securityModel: XFP, hostBinding: {namespace: {from: ALL}}}
---
apiVersion: getambassador.io/v3alpha1
kind: AuthService
metadata: {name: auth, namespace: gate}
spec: {auth_service: "auth:3000", add_auth_headers: {x-key: VALUE}}
"""


@pytest.fixture
async def leaking() -> PlannedSystem:
    system = PlannedSystem(compiler)
    await system.offline.seed()
    await system.apply(texts(route(ONE), gateway()))
    (listener,) = system.offline.outputs()
    assert listener["routes"][0]["addresses"] == [f"Bearer {ONE}"], "a compiler that leaks nothing proves nothing"
    return system


@pytest.fixture
async def asking() -> PlannedSystem:
    """A gateway that asks another service with a header that is a secret."""
    system = PlannedSystem("ambassador")
    await system.offline.seed()
    await system.apply(texts(AUTH.replace("VALUE", ONE)))
    assert ONE in json.dumps(system.offline.outputs())
    return system


def shown(plan: Plan) -> str:
    text = json.dumps(plan.document())
    assert "canary" not in text
    return text


async def test_an_object_is_shown_without_it(leaking: PlannedSystem) -> None:
    found = await Reader(leaking.offline.engine).ask(Comparison("toy_listener", LISTENER))
    assert "canary" not in json.dumps(found)
    assert found["actual"]["routes"][0]["addresses"] == ["Bearer <secret>"]
    assert found["desired"]["routes"][0]["addresses"] == ["Bearer <secret>"]
    assert found["actual"]["fq_name"] == [LISTENER]


async def test_what_compile_prints_is_without_it(leaking: PlannedSystem) -> None:
    (listener,) = concealed_outputs(
        leaking.offline.engine.world, leaking.offline.engine.planner, leaking.offline.outputs()
    )
    assert listener["routes"] == [{"hostname": "a.example.org", "prefix": "/", "addresses": ["Bearer <secret>"]}]


async def test_views_do_not_see_it(leaking: PlannedSystem) -> None:
    def rows(compiled: Compiled) -> Iterator[Row]:
        for listener in compiled.objects("toy_listener"):
            yield {"listed": listener["routes"], "named": compiled.named("toy_listener", LISTENER)}

    view = Overview("listeners", ("toy_listener",), ("listed", "named"), rows)
    (row,) = await Reader(leaking.offline.engine, {"all": view}).rows("all", lambda row: True)
    assert "canary" not in json.dumps(row)
    assert row["listed"][0]["addresses"] == ["Bearer <secret>"]


async def test_a_plan_shows_that_it_changes_and_neither_value(leaking: PlannedSystem) -> None:
    plan = await leaking.plan(texts(route(TWO), gateway()))
    (change,) = plan.follows
    assert [(field.before, field.after) for field in change.fields] == [
        ("Bearer <secret>", "Bearer <secret, another>"),
    ]
    shown(plan)


async def test_a_plan_of_creates_and_deletes_does_not_show_it(leaking: PlannedSystem) -> None:
    shown(await leaking.plan(texts(route(ONE), delete=True)))
    new = PlannedSystem(compiler)
    await new.offline.seed()
    created = await new.plan(texts(route(ONE), gateway()))
    assert "Bearer <secret>" in shown(created)


async def test_only_what_was_read_for_an_object_counts(leaking: PlannedSystem) -> None:
    engine = leaking.offline.engine
    await leaking.apply(texts(route("canary-elsewhere").replace("web", "other").replace("a.example.org", "b.example")))
    listener = next(name for name in engine.planner.book.names() if name.kind == "toy_listener")
    assert secrets_in(read_for(engine.world, engine.planner, listener)) == {ONE, "canary-elsewhere"}
    await leaking.apply(texts(gateway().replace("port: 80", "port: 80, hostname: a.example.org")))
    assert secrets_in(read_for(engine.world, engine.planner, listener)) == {ONE}


async def test_an_auth_services_headers_show_neither_in_plans_nor_in_its_listener(asking: PlannedSystem) -> None:
    plan = await asking.plan(texts(AUTH.replace("VALUE", TWO)))
    (listener,) = (change for change in plan.follows if change.kind == "envoy_listener")
    assert {(field.before, field.after) for field in listener.fields} == {("<secret>", "<secret, another>")}
    shown(plan)
    engine = asking.offline.engine
    found = await Reader(asking.offline.engine).ask(Comparison("envoy_listener", listener.name))
    assert '"value": "<secret>"' in json.dumps(found)
    assert "canary" not in json.dumps(found)
    assert "canary" not in json.dumps(concealed_outputs(engine.world, engine.planner, asking.offline.outputs()))


async def test_the_schema_conceals_a_listeners_secret_from_before_a_rotation(
    asking: PlannedSystem,
) -> None:
    """The old value is in no resource that anybody could have read."""
    (listener,) = (one for one in asking.offline.outputs() if one["kind"] == "envoy_listener")
    await asking.apply(texts(AUTH.replace("VALUE", TWO)))
    assert ONE in json.dumps(listener)
    assert "canary" not in json.dumps(
        concealed_outputs(asking.offline.engine.world, asking.offline.engine.planner, [listener])
    )


async def test_an_objects_fields_without_secrets_are_still_shown(leaking: PlannedSystem) -> None:
    plan = await leaking.plan(texts(gateway(port=8080)))
    (change,) = plan.follows
    assert [(field.field, field.before, field.after) for field in change.fields] == [("port", 80, 8080)]
