"""Which listeners Ingresses get, and with which certificates (docs/appgw.md §6.5, §6.6)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, secret, service

pytestmark = pytest.mark.anyio

CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
ROOT = ("/", "Prefix", "cart")


def tls(*hosts: str, name: str = "cert") -> list[dict[str, Any]]:
    return [{"hosts": list(hosts), "secretName": name}]


def cert(name: str = "cert") -> dict[str, Any]:
    return secret(name, *pair(name))


async def test_a_name_without_tls_is_served_on_80(compiled: Any) -> None:
    found = await compiled().given(*CART, ingress("web", rule("Shop.test", ROOT)))
    assert found.sites() == ["Http 80 shop.test"]
    assert found.problems == []


async def test_a_name_with_a_certificate_is_served_on_443_alone(compiled: Any) -> None:
    found = await compiled().given(*CART, cert(), ingress("web", rule("shop.test", ROOT), tls=tls("shop.test")))
    assert found.sites() == ["Https 443 shop.test"]
    (certificate,) = found.all("certificate")
    assert certificate["fq_name"] == ["cert-shop-cert"]
    assert certificate["secret"] == "shop:cert"
    assert len(certificate["digest"]) == 64


async def test_a_redirected_name_is_served_on_both_and_redirects(compiled: Any) -> None:
    web = ingress("web", rule("shop.test", ROOT), annotations={"ssl-redirect": "true"}, tls=tls("shop.test"))
    found = await compiled().given(*CART, cert(), web)
    assert found.sites() == ["Http 80 shop.test", "Https 443 shop.test"]
    ((name, redirect),) = found.contents("redirect").items()
    secure = next(n for n, one in found.contents("listener").items() if one["protocol"] == "Https")
    assert name == f"sslr-{secure}"
    assert redirect["targetListener"]["id"].endswith(f"/httpListeners/{secure}")
    rules = [one for one in found.contents("rule").values() if "redirectConfiguration" in one]
    assert len(rules) == 1


async def test_an_override_of_a_redirected_name_replaces_the_https_port_alone(compiled: Any) -> None:
    annotations = {"ssl-redirect": "true", "override-frontend-port": "8443"}
    web = ingress("web", rule("shop.test", ROOT), annotations=annotations, tls=tls("shop.test"))
    found = await compiled().given(*CART, cert(), web)
    assert found.sites() == ["Http 80 shop.test", "Https 8443 shop.test"]


@pytest.mark.parametrize(
    ("secrets", "reason"),
    [
        ([], "SecretNotFound"),
        ([secret("cert", *pair("cert"), type="Opaque")], "SecretNotFound"),
        ([secret("cert", "bm8=", pair("cert").key)], "SecretInvalid"),
        ([secret("cert", pair("cert").chain, pair("other").key)], "SecretInvalid"),
    ],
)
async def test_without_a_usable_secret_the_name_is_not_served_in_the_clear(
    compiled: Any, secrets: list[Any], reason: str
) -> None:
    challenge = ("/.well-known/acme-challenge/", "Prefix", "cart")
    web = ingress("web", rule("shop.test", ROOT, challenge), tls=tls("shop.test"))
    found = await compiled().given(*CART, *secrets, web)
    assert found.sites() == ["Http 80 shop.test"]
    ((_, path_map),) = found.contents("path_map").items()
    assert [one["properties"]["paths"] for one in path_map["pathRules"]] == [["/.well-known/acme-challenge/*"]]
    assert path_map["defaultBackendAddressPool"]["id"].endswith("/defaultaddresspool")
    assert found.problems == [("shop:web", reason)]


async def test_a_store_without_a_cluster_keeps_string_data(compiled: Any) -> None:
    chain, key = (base64.b64decode(text).decode() for text in pair("cert"))
    text = {**secret("cert", "", ""), "data": {}, "stringData": {"tls.crt": chain, "tls.key": key}}
    found = await compiled().given(*CART, text, ingress("web", rule("shop.test", ROOT), tls=tls("shop.test")))
    assert found.sites() == ["Https 443 shop.test"]
    assert found.problems == []


async def test_an_installed_certificate_serves_in_place_of_a_missing_secret(compiled: Any) -> None:
    web = ingress("web", rule("shop.test", ROOT), annotations={"appgw-ssl-certificate": "own"}, tls=tls("shop.test"))
    found = await compiled().given(*CART, web, ssl_certificate_names=["own"])
    assert found.sites() == ["Https 443 shop.test"]
    assert found.listener("shop.test", "Https")["sslCertificate"]["id"].endswith("/sslCertificates/own")
    assert found.problems == [("shop:web", "SecretNotFound")]


async def test_a_wildcard_entry_covers_one_label_and_one_without_hosts_covers_all(compiled: Any) -> None:
    rules = [rule(host, ROOT) for host in ("a.shop.test", "a.b.shop.test", "other.test")]
    wild = await compiled().given(*CART, cert(), ingress("web", *rules, tls=tls("*.shop.test")))
    assert wild.sites() == ["Http 80 a.b.shop.test", "Http 80 other.test", "Https 443 a.shop.test"]
    every = await compiled().given(*CART, cert(), ingress("web", *rules, tls=[{"secretName": "cert"}]))
    assert {site.partition(" ")[0] for site in every.sites()} == {"Https"}


async def test_a_name_of_the_extension_takes_the_entry_of_the_host(compiled: Any) -> None:
    annotations = {"hostname-extension": "b.test,a.test"}
    web = ingress("web", rule("shop.test", ROOT), annotations=annotations, tls=tls("shop.test"))
    found = await compiled().given(*CART, cert(), web)
    assert found.sites() == ["Https 443 shop.test b.test a.test"]


async def test_six_names_of_a_rule_have_two_listeners(compiled: Any) -> None:
    more = ",".join(f"n{number}.test" for number in range(5))
    web = ingress("web", rule("shop.test", ROOT), annotations={"hostname-extension": more})
    found = await compiled().given(*CART, web)
    assert found.sites() == ["Http 80 n4.test", "Http 80 shop.test n0.test n1.test n2.test n3.test"]


async def test_two_ingresses_of_one_name_share_its_listener(compiled: Any) -> None:
    one, other = (ingress(name, rule("shop.test", (f"/{name}", "Exact", "cart"))) for name in ("one", "other"))
    found = await compiled().given(*CART, one, other)
    assert found.sites() == ["Http 80 shop.test"]
    ((_, path_map),) = found.contents("path_map").items()
    names = [one["name"] for one in path_map["pathRules"]]
    assert names == ["pr-shop-other-rule-0-path-0", "pr-shop-one-rule-0-path-0"]


async def test_two_rules_of_one_ingress_for_one_name_are_one(compiled: Any) -> None:
    paths = [rule("shop.test", (path, "Exact", "cart")) for path in ("/a", "/b")]
    found = await compiled().given(*CART, ingress("web", *paths))
    assert found.sites() == ["Http 80 shop.test"]
    ((_, path_map),) = found.contents("path_map").items()
    assert len(path_map["pathRules"]) == 2


async def test_a_second_protocol_on_a_port_loses(compiled: Any) -> None:
    plain = ingress("a", rule("a.test", ROOT), annotations={"override-frontend-port": "8443"})
    secure = ingress("b", rule("b.test", ROOT), annotations={"override-frontend-port": "8443"}, tls=tls("b.test"))
    found = await compiled().given(*CART, cert(), plain, secure)
    assert found.sites() == ["Http 8443 a.test"]
    assert found.problems == [("shop:b", "PortProtocolConflict")]


async def test_a_wildcard_name_is_not_redirected(compiled: Any) -> None:
    web = ingress("web", rule("*.shop.test", ROOT), annotations={"ssl-redirect": "true"}, tls=tls("*.shop.test"))
    found = await compiled().given(*CART, cert(), web)
    assert found.sites() == ["Https 443 *.shop.test"]
    assert found.problems == [("shop:web", "RedirectWildcardHost")]


async def test_invalid_names_are_left_out(compiled: Any) -> None:
    web = ingress("web", rule("bad_-.test", ROOT), annotations={"hostname-extension": "ok.test"})
    found = await compiled().given(*CART, web)
    assert found.sites() == ["Http 80 ok.test"]
    assert found.problems == [("shop:web", "HostInvalid")]


async def test_without_an_ingress_there_is_a_default_listener(compiled: Any) -> None:
    found = await compiled().given()
    assert found.sites() == ["Http 80"]
    assert list(found.contents("pool")) == ["defaultaddresspool"]
    assert list(found.contents("probe")) == ["defaultprobe-Http"]
    (listener,) = found.all("listener")
    assert listener["default"] is True


async def test_until_the_gateway_is_read_there_is_nothing(compiled: Any) -> None:
    found = compiled()
    await found.service.create(*CART, ingress("web", rule("shop.test", ROOT)))
    assert found.service.offline.outputs() == []
    assert found.problems == []
