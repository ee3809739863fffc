"""A routing instance's own route target (docs/contrail.md D.1, D.3; E.1 TestCreateRoutingInstanceCreatesRouteTarget;
★3)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import Status
from intentc.model import Key
from tests.unit.contrail.tenant import PROJECT, Tenant, made, reasons, references


def instance_of(tenant: Tenant) -> Key:
    return tenant.put(
        "routing_instance",
        f"{PROJECT}:vn-blue:vn-blue",
        uuid="a8edf702-7dd6-4cbc-b599-a7f8ace1d22b",
        routing_instance_is_default=True,
    )


@pytest.mark.parametrize(("number", "short"), [(8000100, 8000), (8000101, 8001), (8010001, 17901)])
def test_under_an_autonomous_system_of_four_bytes_the_number_has_two(number: Any, short: Any) -> None:
    tenant = Tenant()
    tenant.put("global_system_config", "default-global-system-config", autonomous_system=4200000000)
    key = instance_of(tenant)
    tenant.number(key, number)
    assert list(made(tenant.run(key))) == [("route_target", f"target:4200000000:{short}")]


@pytest.mark.parametrize("number", [8000099, 8000100 + 24768])
def test_a_number_without_a_place_under_four_bytes_is_reported(number: Any) -> None:
    tenant = Tenant()
    tenant.put("global_system_config", "default-global-system-config", autonomous_system=65536)
    key = instance_of(tenant)
    tenant.number(key, number)
    outcome = tenant.run(key)
    assert (outcome.claims, reasons(outcome)) == ((), ["RouteTargetNumber"])


def test_a_route_target_that_somebody_else_made_is_never_its_own() -> None:
    """It keeps that number, takes another, and says so; once the other's is gone the first counts again."""
    tenant = Tenant()
    _, key = tenant.network("vn")
    tenant.number(key, 8000100)
    theirs = tenant.put("route_target", ("target:64512:8000100",))
    outcome = tenant.run(key)
    assert (outcome.status, [request.owner.rpartition("/")[2] for request in outcome.requests]) == (
        Status.WAITING,
        ["route_target.2"],
    )
    tenant.number(key, 8000101, "route_target.2")
    outcome = tenant.run(key)
    assert references(outcome) == {("vn", "target:64512:8000101", "")}
    assert reasons(outcome) == ["RouteTargetTaken"]
    assert "target:64512:8000100" in outcome.problems[0].message
    del tenant.resources[theirs]
    outcome = tenant.run(key)
    assert (references(outcome), outcome.problems) == ({("vn", "target:64512:8000100", "")}, ())
