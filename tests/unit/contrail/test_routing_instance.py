"""A routing instance's own route target (docs/contrail.md D.1, D.3; E.1 TestCreateRoutingInstanceCreatesRouteTarget;
★3)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import AllocationRequest, Status
from intentc.model import Key
from tests.unit.contrail.tenant import INSTALLATION, PROJECT, Tenant, made, reasons, references

OWNER = f"{INSTALLATION}/a8edf702-7dd6-4cbc-b599-a7f8ace1d22b/route_target"


def instance_of(tenant: Tenant) -> Key:
    return tenant.put(
        "routing_instance",
        f"{PROJECT}:vn-blue:vn-blue",
        uuid="a8edf702-7dd6-4cbc-b599-a7f8ace1d22b",
        routing_instance_is_default=True,
    )


def test_it_asks_for_a_number_and_waits() -> None:
    tenant = Tenant()
    key = instance_of(tenant)
    outcome = tenant.run(key)
    assert (outcome.status, outcome.claims) == (Status.WAITING, ())
    assert outcome.requests == (AllocationRequest("route_target_number", OWNER, key, f"{PROJECT}:vn-blue:vn-blue"),)


def test_with_its_number_it_has_a_route_target_of_its_own() -> None:
    """One target, owned by the instance, and one reference without attribute (docs/contrail.md ★3)."""
    tenant = Tenant()
    key = instance_of(tenant)
    tenant.number(key, 8000100)
    outcome = tenant.run(key)
    assert list(made(outcome)) == [("route_target", "target:64512:8000100")]
    assert made(outcome)["route_target", "target:64512:8000100"].owner == key.uuid
    assert references(outcome) == {("vn-blue", "target:64512:8000100", "")}


@pytest.mark.parametrize("name", ["ip-fabric:__default__", "__link_local__:__link_local__"])
def test_those_of_the_fabric_have_none(name: Any) -> None:
    """They ask for no number either (docs/contrail.md ★3)."""
    tenant = Tenant()
    key = tenant.put("routing_instance", f"default-domain:default-project:{name}", routing_instance_is_default=True)
    outcome = tenant.run(key)
    assert (outcome.status, outcome.claims, outcome.requests) == (Status.DONE, (), ())


def test_one_that_a_user_makes_below_a_network_has_one_of_its_own_and_none_of_the_networks() -> None:
    """docs/contrail.md D.1: "any RI": only the lists are the primary one's alone."""
    tenant = Tenant()
    network, _ = tenant.network("vn-blue", route_target_list=["target:1:1"])
    name = f"{PROJECT}:vn-blue:mine"
    key = tenant.put("routing_instance", name, parent_type="virtual-network", parent_uuid=network.uuid)
    tenant.number(key, 8000107)
    outcome = tenant.run(key)
    assert list(made(outcome)) == [("route_target", "target:64512:8000107")]
    assert references(outcome) == {("mine", "target:64512:8000107", "")}
    assert references(tenant.run(network)) == {("vn-blue", "target:1:1", "")}


def test_one_that_a_user_made_below_a_network_that_is_gone_wants_nothing() -> None:
    tenant = Tenant()
    key = tenant.put("routing_instance", f"{PROJECT}:gone:mine", parent_type="virtual-network", parent_uuid="gone")
    outcome = tenant.run(key)
    assert (outcome.status, outcome.claims, outcome.requests) == (Status.DONE, (), ())


def test_the_autonomous_system_is_the_installations() -> None:
    tenant = Tenant()
    tenant.put("global_system_config", "default-global-system-config", autonomous_system=64999)
    key = instance_of(tenant)
    tenant.number(key, 8000100)
    outcome = tenant.run(key)
    assert list(made(outcome)) == [("route_target", "target:64999:8000100")]
    assert ("name", "global_system_config", "default-global-system-config") in outcome.reads


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
