"""Which Hosts serve which routes, on which Listeners (docs/ambassador.md §4.5)."""

from __future__ import annotations

import pytest

from tests.support.ambassador.hosts import MemoryGateway, host, listener, mapping, tls_host
from tests.support.ambassador.pems import Pems

pytestmark = pytest.mark.anyio


async def test_an_additional_port_needs_a_listener() -> None:
    policy = {"insecure": {"action": "Redirect", "additionalPort": 8081}}
    gate = await MemoryGateway().apply(listener(), host("shop", "*", requestPolicy=policy))
    assert gate.problems() == [("host", "gate:shop", "NoListener")]
    await gate.apply(listener("plain", 8081, securityModel="INSECURE"))
    assert gate.problems() == []


async def test_a_host_of_another_gateway_is_none_of_ours() -> None:
    gate = await MemoryGateway().apply(listener(), host("theirs", "shop.example", ambassador_id=["other"]))
    assert gate.virtual_hosts() == {"gate/http|cleartext:*": [""]}


SHOP = {"matchLabels": {"app": "shop"}}


def unserved(gate: MemoryGateway) -> list[str]:
    return [name for _, name, reason in gate.problems() if reason == "NoHost"]


async def test_a_wildcard_within_a_label_is_found_too() -> None:
    gate = await MemoryGateway().apply(listener(), host("eu", "*-eu.example"), mapping("a", hostname="shop-eu.example"))
    assert "gate/http|cleartext:shop-eu.example" in gate.virtual_hosts()
    assert unserved(gate) == []


async def test_routes_guarded_by_client_certificates_are_not_served_under_another_name(pems: Pems) -> None:
    """Else whoever asks for another name when TLS begins would reach it by the name in the request."""
    guarded = tls_host("guarded", "*.example", tls={"cert_required": True, "ca_secret": "ca"})
    gate = await MemoryGateway().apply(
        *pems.secrets(),
        listener(protocol="HTTPS"),
        guarded,
        tls_host("all", "*"),
        mapping("a", hostname="a.example"),
    )
    assert sorted(name for name in gate.virtual_hosts() if name.endswith("a.example")) == [
        "gate/http|cleartext:a.example",
        "gate/http|tls|gate:guarded:a.example",
    ]


async def test_routes_of_a_closed_host_are_not_served_under_another_name(pems: Pems) -> None:
    gate = await MemoryGateway().apply(
        *pems.secrets(),
        listener(protocol="HTTPS"),
        tls_host("closed", "*.example", "missing"),
        tls_host("all", "*"),
        mapping("a", hostname="a.example"),
    )
    assert [name for name in gate.virtual_hosts() if name.endswith("a.example")] == ["gate/http|cleartext:a.example"]


async def test_a_mapping_crosses_only_the_hosts_in_whose_scope_it_stands() -> None:
    gate = await MemoryGateway().apply(
        listener(),
        host("chosen", "*.example.com", mappingSelector=SHOP),
        mapping("a", hostname="a.example.*", labels={"app": "shop"}),
        mapping("b", hostname="b.example.*"),
    )
    tables = sorted(table for route in gate.elements("envoy_route").values() for table in route["tables"])
    assert [table for table in tables if table.endswith(".com")] == ["gate:chosen|*.example.com"]
    assert unserved(gate) == ["gate:b"]
