"""Which Ingresses fit into a gateway, and what stays of the others (docs/appgw.md §9)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.bridges.azure.document import Assembled
from intentc.bridges.azure.document.fitting import LIMITS, limits_of
from tests.support.appgw.manifests import backend, endpoint_slice, ingress, rule, service
from tests.support.appgw.random_worlds import gateway
from tests.support.appgw.router import dangling
from tests.support.appgw.system import DocumentSystem

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1", "10.0.0.2"))
ROOT = ("/", "Prefix", "cart")
OLD, NEW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


async def assembled(*given: Any, **limits: int) -> Assembled:
    system = DocumentSystem(gateway())
    await system.start()
    await system.put(*CART, *given)
    found = system.assembled(limits=limits)
    assert dangling(found.document) == []
    return found


def hosts(found: Assembled) -> list[str]:
    listeners = found.document["properties"]["httpListeners"]
    return sorted(host for one in listeners for host in one["properties"]["hostNames"])


async def test_the_older_ingress_stays() -> None:
    new, old = (ingress(n, rule(f"{n}.test", ROOT), created=at) for n, at in (("a", NEW), ("z", OLD)))
    found = await assembled(new, old, httpListeners=1)
    assert hosts(found) == ["z.test"]
    assert found.left_out == ("shop:a",)
    assert [(one.owner, one.reason) for one in found.problems] == [("shop:a", "CapacityExceeded")]
    settings = [one["name"] for one in found.document["properties"]["backendHttpSettingsCollection"]]
    assert settings == ["bp-shop-cart-80-8080-z"]


async def test_a_younger_one_that_fits_stays_though_an_older_one_does_not() -> None:
    big = ingress("big", rule("b1.test", ROOT), rule("b2.test", ROOT), created=OLD)
    small = ingress("small", rule("s.test", ROOT), created=NEW)
    assert hosts(await assembled(big, small, httpListeners=1)) == ["s.test"]


async def test_path_rules_of_one_that_does_not_fit_leave_the_map() -> None:
    one, other = (
        ingress(name, rule("shop.test", *((f"/{name}{n}", "Exact", "cart") for n in range(2))), created=at)
        for name, at in (("one", OLD), ("other", NEW))
    )
    found = await assembled(one, other, pathRules=3)
    (path_map,) = found.document["properties"]["urlPathMaps"]
    assert [entry["name"] for entry in path_map["properties"]["pathRules"]] == [
        f"pr-shop-one-rule-0-path-{n}" for n in range(2)
    ]


async def test_the_default_of_one_that_does_not_fit_is_the_default_pool() -> None:
    one = ingress("one", rule("shop.test", ("/a", "Exact", "cart")), created=OLD)
    other = ingress("other", rule("shop.test", ROOT), created=NEW)
    found = await assembled(one, other, backendHttpSettingsCollection=1)
    (path_map,) = found.document["properties"]["urlPathMaps"]
    assert path_map["properties"]["defaultBackendAddressPool"]["id"].endswith("/defaultaddresspool")


async def test_a_map_without_path_rules_is_a_basic_rule() -> None:
    one = ingress("one", rule("shop.test", ROOT), created=OLD)
    other = ingress("other", rule("shop.test", ("/a", "Exact", "cart")), created=NEW)
    found = await assembled(one, other, backendHttpSettingsCollection=1)
    content = found.document["properties"]
    assert content["urlPathMaps"] == []
    (only,) = content["requestRoutingRules"]
    assert only["properties"]["ruleType"] == "Basic"
    assert only["properties"]["backendHttpSettings"]["id"].endswith("/bp-shop-cart-80-8080-one")


async def test_a_pool_with_too_many_addresses_does_not_fit() -> None:
    found = await assembled(
        ingress("web", rule("shop.test", ROOT)), ingress("own", defaultBackend=backend("cart")), targets=1
    )
    assert found.left_out == ("shop:own", "shop:web")


def test_an_old_rule_set_of_a_firewall_has_lower_limits() -> None:
    firewall = {"sku": {"tier": "WAF_v2"}, "webApplicationFirewallConfiguration": {"ruleSetVersion": "3.1"}}
    assert limits_of({"properties": firewall}, {})["backendAddressPools"] == 40
    assert limits_of({"properties": {**firewall, "sku": {"tier": "Standard_v2"}}}, {}) == dict(LIMITS)
    assert limits_of({}, {"frontendPorts": 7})["frontendPorts"] == 7
