"""A saved plan shows no secret, and notices all the same that one was replaced by another since."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from intentc.offline.preview.report import Input, Plan, Saved, deviations
from tests.unit.engine.leaking import compiler, gateway, route
from tests.unit.offline.planned_system import PlannedSystem, texts

pytestmark = pytest.mark.anyio

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: certificate, namespace: sample}
type: Opaque
stringData: {password: VALUE}
"""
AT_FIRST, PLANNED, MEANWHILE = "canary-at-first", "canary-planned", "canary-meanwhile"


def a_secret(value: str) -> Input:
    return texts(SECRET.replace("VALUE", value))


def a_leak(value: str) -> Input:
    return texts(route(value), gateway())


async def living_with(given: Input) -> PlannedSystem:
    system = PlannedSystem("ambassador") if given == a_secret(AT_FIRST) else PlannedSystem(compiler)
    await system.offline.seed()
    await system.apply(given)
    return system


def saved(plan: Plan, given: Input) -> Saved:
    """As it comes out of its file."""
    whole = Saved(cluster_id=1, path="contrail", salt="s", input=given, plan=plan)
    return msgspec.json.decode(msgspec.json.encode(whole), type=Saved)


@pytest.mark.parametrize(
    ("input_of", "expected"),
    [
        (a_secret, ["different: update secret sample:certificate"]),
        (
            a_leak,
            ["different: update toy_route n:web", "different: update toy_listener n-g, which follows"],
        ),
    ],
)
async def test_a_secret_that_was_rotated_meanwhile_makes_a_plan_stale(
    input_of: Callable[[str], Input], expected: list[str]
) -> None:
    system = await living_with(input_of(AT_FIRST))
    given = input_of(PLANNED)
    then = saved(await system.plan(given, salt="s"), given)
    await system.apply(input_of(MEANWHILE))
    now = saved(await system.plan(given, salt="s"), given)
    assert then.plan.applied[0].fields == now.plan.applied[0].fields, "what is shown is the same"
    assert deviations(then, now) == expected


@pytest.mark.parametrize("input_of", [a_secret, a_leak])
async def test_while_secrets_stay_as_they_were_a_plan_holds(input_of: Callable[[str], Input]) -> None:
    system = await living_with(input_of(AT_FIRST))
    given = input_of(PLANNED)
    then, now = [saved(await system.plan(given, salt="s"), given) for _ in range(2)]
    assert deviations(then, now) == []


async def test_seals_show_nothing_and_are_in_no_plan_that_is_shown() -> None:
    system = await living_with(a_secret(AT_FIRST))
    (one,), (other,) = [(await system.plan(a_secret(PLANNED), salt=salt)).applied for salt in ("s", "t")]
    assert isinstance(one.seal, str)
    assert one.seal != other.seal
    plan = await system.plan(a_secret(PLANNED), salt="s")
    assert "seal" not in str(plan.document())
    assert "canary" not in msgspec.json.encode(plan).decode()


async def test_what_hides_nothing_has_no_seal() -> None:
    system = await living_with(a_leak(AT_FIRST))
    plan = await system.plan(texts(gateway(port=81)), salt="s")
    assert plan.applied[0].seal is msgspec.UNSET
