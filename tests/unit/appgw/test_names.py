"""Names and ids of sub-resources (docs/appgw.md §5)."""

from __future__ import annotations

import pytest

from intentc.compilers.appgw.sub_resource_names import (
    Names,
    distinct,
    gateway_id,
    limited,
    listener_mark,
    path_rule_id,
    sub_id,
)

NAMES = Names("p-")
LONG = "pb-a-team-with-a-long-name-checkout-service-for-customers-https-checkout-ingress-public-eu"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (NAMES.probe("shop", "cart", "http", "web"), "p-pb-shop-cart-http-web"),
        (NAMES.default_probe("Https"), "p-defaultprobe-Https"),
        (NAMES.settings("shop", "cart", "http", 8080, "web"), "p-bp-shop-cart-http-8080-web"),
        (NAMES.default_settings(), "p-defaulthttpsetting"),
        (NAMES.pool("shop", "cart", "80", 8080), "p-pool-shop-cart-80-bp-8080"),
        (NAMES.default_pool(), "p-defaultaddresspool"),
        (NAMES.certificate("shop", "tls"), "p-cert-shop-tls"),
        (NAMES.port(443), "p-fp-443"),
        (NAMES.listener("h"), "p-fl-h"),
        (NAMES.path_map("h"), "p-url-h"),
        (NAMES.rule("h"), "p-rr-h"),
        (NAMES.redirect("p-fl-h"), "p-sslr-p-fl-h"),
        (NAMES.path_rule("shop", "web", 0, 2), "p-pr-shop-web-rule-0-path-2"),
        (NAMES.rewrite_set("shop", "headers"), "crd-shop-headers"),
    ],
)
def test_a_name_says_what_it_is_made_of(name: str, expected: str) -> None:
    assert name == expected


def test_a_name_of_over_80_characters_is_cut_with_a_digest() -> None:
    assert limited(LONG) == "pb-a-team-with-a-long-name-checkout-service-for-d9eb2cfc00acbf4c4d6edd1316e79962"
    assert limited("x" * 80) == "x" * 80
    assert len(limited("x" * 81)) == 80


def test_two_sources_of_one_name_have_two_names() -> None:
    assert NAMES.certificate("a-b", "c") == NAMES.certificate("a", "b-c")
    assert distinct("cert-a-b-c", ("a-b", "c")) != distinct("cert-a-b-c", ("a", "b-c"))
    assert len(distinct("x" * 90, ("a",))) == 80


def test_a_listener_is_named_after_its_frontend_port_and_hosts() -> None:
    assert listener_mark("Public", 443, ("shop.contoso.test",)) == "f059794b41f217d7663984c9f3e95cda"
    assert listener_mark("Private", 443, ("shop.contoso.test",)) != "f059794b41f217d7663984c9f3e95cda"


def test_ids_begin_with_that_of_the_gateway() -> None:
    gateway = gateway_id("s", "g", "gw")
    assert gateway == "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/applicationGateways/gw"
    assert sub_id(gateway, "probes", "p") == f"{gateway}/probes/p"
    assert path_rule_id(gateway, "url-h", "pr") == f"{gateway}/urlPathMaps/url-h/pathRules/pr"
