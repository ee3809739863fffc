"""Which service limits request rates (docs/ambassador.md §4.3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import MemoryGateway
from tests.support.ambassador.services import filters, gateway, guards, module, rate_limit

pytestmark = pytest.mark.anyio


def limiter(gate: MemoryGateway) -> dict[str, Any]:
    return filters(gate)["envoy.filters.http.ratelimit"]


async def test_requests_are_counted_by_grpc_in_the_domain_of_the_module() -> None:
    config = limiter(await gateway(rate_limit(), module(default_label_domain="shop")))
    assert (config["domain"], config["timeout"]) == ("shop", "0.020s")
    assert config["rate_limit_service"]["transport_api_version"] == "V3"


async def test_its_own_domain_goes_before_that_of_the_module() -> None:
    assert limiter(await gateway(rate_limit(domain="own")))["domain"] == "own"


async def test_use_resource_exhausted_code_is_spelt_as_in_the_crd() -> None:
    """Defect 10: the peer reads another name, and the field had no effect."""
    gate = await gateway(rate_limit(grpc={"use_resource_exhausted_code": True}))
    assert limiter(gate)["rate_limited_as_resource_exhausted"] is True


async def test_one_counts_and_the_other_is_reported() -> None:
    gate = await gateway(rate_limit("b"), rate_limit("a", domain="a"))
    assert limiter(gate)["domain"] == "a"
    assert gate.problems() == [("rate_limit_service", "gate:b", "SecondRateLimitService")]


async def test_one_that_can_not_be_asked_limits_nothing_and_is_reported() -> None:
    gate = await gateway(rate_limit(protocol_version="v2"))
    assert guards(gate) == ["cors"]
    assert gate.problems() == [("rate_limit_service", "gate:limits", "UnsupportedProtocol")]


async def test_one_that_can_not_be_asked_lets_nobody_in_if_it_says_failure_mode_deny() -> None:
    gate = await gateway(rate_limit(service="a/b", failure_mode_deny=True))
    assert guards(gate) == ["cors", "misconfigured_rate_limit_service"]
    assert gate.problems() == [("rate_limit_service", "gate:limits", "InvalidService")]
