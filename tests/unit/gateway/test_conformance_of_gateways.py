"""The assertions of the Gateway API's conformance tests that concern the status of GatewayClasses and Gateways.

Made again from their descriptions, since the tests themselves need a cluster with pods. ``CASES`` names those that are
golden pairs; the others are here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway.documents import ADMIN, HTTP, gateway, gateway_class
from tests.unit.gateway.worlds import World

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
CASES = {
    "GatewayModifyListeners": "listeners/modified",
    "GatewayInvalidRouteKind": "listeners/route_kinds",
    "GatewayInvalidTLSConfiguration": "listeners/secret_malformed",
    "GatewayListenerUnsupportedProtocol": "listeners/some_valid",
    "GatewayInvalidParametersRef": "parameters/infrastructure_missing",
    "GatewayClassInvalidParametersRef": "classes/missing_parameters",
    "GatewaySecretMissingReferenceGrant": "listeners/secret_not_granted",
    "GatewaySecretInvalidReferenceGrant": "listeners/secret_granted_other_namespace",
    "GatewaySecretReferenceGrantSpecific": "listeners/secret_granted_by_name",
    "GatewaySecretReferenceGrantAllInNamespace": "listeners/secret_granted",
    "GatewayStaticAddresses": "addresses/load_balancer_given",
    "GatewayWithAttachedRoutes": "listeners/attached_routes",
    "GatewayInfrastructure": "parameters/infrastructure",
}
HERE = (
    "GatewayClassObservedGenerationBump",
    "GatewayObservedGenerationBump",
    "GatewayNameMaximumLength",
    "GatewayOptionalAddressValue",
)


def test_each_is_a_golden_pair_or_here_and_the_page_lists_it() -> None:
    page = (ROOT / "docs" / "gateway.md").read_text()
    for name, case in CASES.items():
        assert (ROOT / "tests" / "golden" / "gateway" / f"{case}.in.yaml").exists(), name
    assert [name for name in (*CASES, *HERE) if f"`{name}`" not in page] == []


def generations(status: dict[str, Any]) -> set[int]:
    """The observed generations of all conditions, those of listeners included."""
    holders = [status, *status.get("listeners", ())]
    return {one["observedGeneration"] for holder in holders for one in holder["conditions"]}


async def test_gateway_class_observed_generation_bump() -> None:
    world = World()
    await world.create(gateway_class())
    assert generations(world.status("gateway_class contour")) == {1}
    await world.update(gateway_class(description="another"))
    assert generations(world.status("gateway_class contour")) == {2}


async def test_gateway_observed_generation_bump() -> None:
    world = World()
    await world.create(gateway_class(), gateway("web", HTTP))
    assert generations(world.status("gateway shop:web")) == {1}
    await world.update(gateway("web", HTTP, ADMIN))
    assert generations(world.status("gateway shop:web")) == {2}
    assert world.said("gateway shop:web")["Programmed"] == "True/Programmed"


async def test_gateway_name_maximum_length() -> None:
    world, name = World(), "a" * 63
    await world.create(gateway_class(), gateway(name, HTTP))
    assert world.said(f"gateway shop:{name}")["Programmed"] == "True/Programmed"
    assert max(len(place.rpartition("/")[2]) for place in world.objects if place.startswith("Service ")) <= 63


async def test_gateway_optional_address_value() -> None:
    world = World()
    await world.create(gateway_class(), gateway("web", HTTP, addresses=[{"type": "IPAddress"}]))
    found = world.said("gateway shop:web")
    assert found["Programmed"] == "True/Programmed"
    assert len(found["addresses"]) == 1
