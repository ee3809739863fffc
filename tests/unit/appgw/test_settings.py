"""Settings, by the names of AGIC's helm chart and of its environment (docs/appgw.md §4)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import InvalidInput
from intentc.plugins import check_settings, find_compilers
from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, service

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
WEB = ingress("web", rule("shop.test", ("/a", "Prefix", "cart")))


def target(**spec: Any) -> Manifest:
    metadata = {"name": "reserved", "namespace": "shop"}
    kind = {"apiVersion": "appgw.ingress.k8s.io/v1", "kind": "AzureIngressProhibitedTarget"}
    return {**kind, "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("name", ["subResourceNamePrefix", "APPGW_CONFIG_NAME_PREFIX"])
async def test_a_prefix_begins_all_names(compiled: Any, name: str) -> None:
    found = await compiled(**{name: "p-"}).given(*CART, WEB)
    assert list(found.contents("pool")) == ["p-defaultaddresspool", "p-pool-shop-cart-80-bp-8080"]


@pytest.mark.parametrize("name", ["kubernetes.watchNamespace", "KUBERNETES_WATCHNAMESPACE"])
async def test_only_watched_namespaces_count(compiled: Any, name: str) -> None:
    assert (await compiled(**{name: "shop, pay"}).given(*CART, WEB)).sites() == ["Http 80 shop.test"]
    assert (await compiled(**{name: "pay"}).given(*CART, WEB)).sites() == ["Http 80"]


@pytest.mark.parametrize("name", ["usePrivateIP", "USE_PRIVATE_IP"])
@pytest.mark.parametrize("value", [True, "true"])
async def test_all_ingresses_may_be_private(compiled: Any, name: str, value: Any) -> None:
    found = await compiled(**{name: value}).given(*CART, WEB)
    assert found.listener("shop.test")["frontendIPConfiguration"]["id"].endswith("/private")


@pytest.mark.parametrize(
    "given", [{"shared": True}, {"APPGW_ENABLE_SHARED_APPGW": "true"}, {"ownership": "prohibited"}]
)
async def test_in_a_shared_gateway_targets_are_reserved(compiled: Any, given: dict[str, Any]) -> None:
    nobody = await compiled(**given).given(*CART, WEB)
    assert nobody.sites() == []
    assert nobody.problems == [("shop:web", "NoProhibitedTargets")]
    found = await compiled(**given).given(*CART, WEB, target(hostname="Shop.test", paths=["/a/*"]))
    assert found.problems == [("shop:web", "ProhibitedTarget")]
    other = await compiled(**given).given(*CART, WEB, target(hostname="other.test"))
    assert other.sites() == ["Http 80 shop.test"]


async def test_a_site_of_a_foreign_listener_is_left_out_if_marks_decide(compiled: Any) -> None:
    foreign = [{"name": "theirs", "port": 80, "hosts": ["shop.test"]}]
    found = await compiled(ownership="marked").given(*CART, WEB, foreign_listeners=foreign)
    assert found.listener("shop.test") is None
    assert found.problems == [("shop:web", "ForeignListener")]


async def test_an_unknown_mode_is_reported(compiled: Any) -> None:
    found = await compiled(ownership="all").given(*CART, WEB)
    assert "appgw.ownership is 'all'" in found.service.problems[0].message


async def test_prefixes_may_match_as_texts(compiled: Any) -> None:
    found = await compiled(prefix_matching="string").given(*CART, WEB)
    ((_, path_map),) = found.contents("path_map").items()
    assert path_map["pathRules"][0]["properties"]["paths"] == ["/a*"]


async def test_an_external_name_may_be_an_address(compiled: Any) -> None:
    external = service("cart", type="ExternalName", externalName="cart.example")
    found = await compiled(external_name="on").given(external, WEB)
    assert found.contents("pool")["pool-shop-cart-80-bp-80"] == {"backendAddresses": [{"fqdn": "cart.example"}]}


async def test_the_settings_may_name_the_gateway(compiled: Any) -> None:
    identity = "/subscriptions/x/resourceGroups/y/providers/Microsoft.Network/applicationGateways/gateway"
    found = await compiled(subscriptionId="x", resourceGroup="y", name="gateway").given(*CART, WEB)
    (document,) = found.all("document")
    assert document["gateway"] == identity
    assert found.all("port")[0]["config"]["id"] == f"{identity}/frontendPorts/fp-80"


@pytest.mark.parametrize("name", ["MULTI_CLUSTER_MODE", "APPGW_ENABLE_ISTIO_INTEGRATION"])
def test_what_is_not_offered_is_rejected(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"unknown setting intentc.settings.appgw.{name}"):
        check_settings({f"appgw.{name}": True}, find_compilers(["appgw"]))


def test_what_means_nothing_here_is_accepted() -> None:
    check_settings({"appgw.HTTP_SERVICE_PORT": 8123, "appgw.verbosityLevel": 3}, find_compilers(["appgw"]))
