"""In a shared gateway only what somebody can reach is added (docs/appgw.md §6.10, §10)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.appgw.foreign_gateways import entry, reference
from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, service
from tests.support.appgw.random_worlds import gateway
from tests.support.appgw.system import DocumentSystem

pytestmark = pytest.mark.anyio
SERVICES = [
    one
    for number, name in enumerate(("cart", "pay", "home"))
    for one in (service(name), endpoint_slice(name, f"10.0.0.{number + 1}"))
]
BACKENDS = ("backendAddressPools", "backendHttpSettingsCollection", "probes")


def target(**spec: Any) -> Manifest:
    kind = {"apiVersion": "appgw.ingress.k8s.io/v1", "kind": "AzureIngressProhibitedTarget"}
    return {**kind, "metadata": {"name": "reserved", "namespace": "shop"}, "spec": spec}


def shared_gateway() -> dict[str, Any]:
    """The team has all of ``shop.test``."""
    document = gateway()
    content = document["properties"]
    for collection in (*BACKENDS, "httpListeners", "urlPathMaps", "requestRoutingRules"):
        content[collection] = []
    content["backendAddressPools"] = [
        entry("backendAddressPools", "team", backendAddresses=[{"ipAddress": "10.9.0.1"}])
    ]
    content["backendHttpSettingsCollection"] = [
        entry("backendHttpSettingsCollection", "team", port=80, protocol="Http")
    ]
    public, port = reference("frontendIPConfigurations", "public"), reference("frontendPorts", "web")
    members = {"frontendIPConfiguration": public, "frontendPort": port, "protocol": "Http", "hostNames": ["shop.test"]}
    content["httpListeners"] = [entry("httpListeners", "team", **members)]
    leads_to = {
        "backendAddressPool": reference("backendAddressPools", "team"),
        "backendHttpSettings": reference("backendHttpSettingsCollection", "team"),
    }
    listener = reference("httpListeners", "team")
    content["requestRoutingRules"] = [
        entry("requestRoutingRules", "team", httpListener=listener, priority=100, ruleType="Basic", **leads_to)
    ]
    return document


async def backends(*manifests: Manifest) -> set[str]:
    """The pools, settings and probes in the document."""
    system = DocumentSystem(shared_gateway(), {"ownership": "prohibited"})
    await system.start()
    await system.put(*SERVICES, *manifests)
    content = system.assembled().document["properties"]
    return {one["name"] for collection in BACKENDS for one in content[collection]}


def of(*services: str) -> set[str]:
    """The names of what is made for services, and of what the team has."""
    made = {f"{part}-shop-{name}-80-{port}" for name in services for part, port in (("pool", "bp-8080"),)}
    made |= {f"bp-shop-{name}-80-8080-web" for name in services} | {f"pb-shop-{name}-80-web" for name in services}
    return made | {"team"}


async def test_a_backend_that_only_reserved_paths_use_is_not_in_the_document() -> None:
    web = ingress("web", rule("shop.test", ("/reserved", "Prefix", "cart"), ("/pay", "Prefix", "pay")))
    assert await backends(web, target(hostname="shop.test", paths=["/reserved/*"])) == of("pay")


async def test_a_backend_of_a_reserved_path_that_another_path_uses_stays() -> None:
    web = ingress("web", rule("shop.test", ("/reserved", "Prefix", "pay"), ("/pay", "Prefix", "pay")))
    assert await backends(web, target(hostname="shop.test", paths=["/reserved/*"])) == of("pay")


async def test_a_default_backend_is_left_out_if_all_paths_are_reserved() -> None:
    web = ingress("web", rule("shop.test", ("/reserved", "Prefix", "cart")))
    web["spec"]["defaultBackend"] = {"service": {"name": "home", "port": {"number": 80}}}
    assert await backends(web, target(hostname="shop.test")) == {"team"}


async def test_default_parts_are_left_out_if_others_keep_their_default() -> None:
    web = ingress("web", rule("shop.test", ("/pay", "Prefix", "pay")))
    found = await backends(web, target(hostname="shop.test", paths=["/reserved/*"]))
    assert not {name for name in found if name.startswith("default")}
    assert "pool-shop-pay-80-bp-8080" in found
