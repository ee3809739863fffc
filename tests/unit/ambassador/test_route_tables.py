"""How tables of Mappings find the Hosts that serve their hostname (docs/ambassador.md §4.5, Host ↔ Mapping)."""

from __future__ import annotations

import pytest

from tests.support.ambassador.hosts import MemoryGateway, host, listener, mapping, tls_host
from tests.support.ambassador.pems import Pems

pytestmark = pytest.mark.anyio

SHOP = {"matchLabels": {"app": "shop"}}


def unserved(gate: MemoryGateway) -> list[str]:
    return [name for _, name, reason in gate.problems() if reason == "NoHost"]


async def test_a_mapping_of_the_hosts_own_name_needs_no_further_virtual_host() -> None:
    gate = await MemoryGateway().apply(listener(), host("shop", "shop.example"), mapping("a", hostname="shop.example"))
    assert gate.virtual_hosts() == {"gate/http|cleartext:shop.example": [""]}
    assert unserved(gate) == []


async def test_a_mapping_of_a_name_that_a_host_covers_has_a_virtual_host_under_its_rules() -> None:
    gate = await MemoryGateway().apply(listener(), host("all", "*.example"), mapping("a", hostname="shop.example"))
    assert gate.virtual_hosts() == {
        "gate/http|cleartext:*.example": [""],
        "gate/http|cleartext:shop.example": [""],
    }
    assert gate.head("gate/http|cleartext:shop.example") == gate.head("gate/http|cleartext:*.example")


async def test_a_mapping_for_all_names_is_multiplied_by_no_host() -> None:
    gate = await MemoryGateway().apply(
        listener(), host("a", "a.example"), host("b", "*.b.example"), mapping("any", hostname="*")
    )
    assert sorted(gate.virtual_hosts()) == ["gate/http|cleartext:*.b.example", "gate/http|cleartext:a.example"]
    assert len(gate.elements("envoy_route")) == 1
    assert unserved(gate) == []


async def test_a_mapping_that_no_host_covers_says_so() -> None:
    gate = await MemoryGateway().apply(listener(), host("shop", "shop.example"), mapping("a", hostname="other.example"))
    assert unserved(gate) == ["gate:a"]
    await gate.apply(host("other", "*.example"))
    assert unserved(gate) == []


async def test_the_best_host_that_covers_a_name_governs_it() -> None:
    reject = {"insecure": {"action": "Reject"}}
    gate = await MemoryGateway().apply(
        listener(),
        host("all", "*", requestPolicy={"insecure": {"action": "Route"}}),
        host("better", "*.example", requestPolicy=reject),
        mapping("a", hostname="shop.example"),
    )
    assert gate.head("gate/http|cleartext:shop.example")[0]["direct_response"] == {"status": 404}


async def test_a_host_that_selects_others_does_not_serve_a_mapping() -> None:
    """As in Envoy: the best virtual host answers, and no worse one after it."""
    gate = await MemoryGateway().apply(
        listener(),
        host("all", "*"),
        host("shop", "*.example", mappingSelector=SHOP),
        mapping("a", hostname="a.example"),
    )
    assert "gate/http|cleartext:a.example" not in gate.virtual_hosts()
    assert unserved(gate) == ["gate:a"]


async def test_a_host_serves_the_mappings_that_it_selects() -> None:
    gate = await MemoryGateway().apply(
        listener(),
        host("shop", "*.example", mappingSelector=SHOP),
        mapping("a", hostname="a.example", labels={"app": "shop"}),
        mapping("b", labels={"app": "shop"}),
    )
    assert gate.virtual_hosts() == {
        "gate/http|cleartext:*.example": ["gate:shop"],
        "gate/http|cleartext:a.example": ["gate:shop"],
    }
    assert unserved(gate) == []


async def test_a_wildcard_within_a_label_is_found_too() -> None:
    gate = await MemoryGateway().apply(listener(), host("eu", "*-eu.example"), mapping("a", hostname="shop-eu.example"))
    assert "gate/http|cleartext:shop-eu.example" in gate.virtual_hosts()
    assert unserved(gate) == []


async def test_what_a_host_guards_by_certificates_is_not_served_under_another_name(pems: Pems) -> None:
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


async def test_what_a_closed_host_guards_is_not_served_under_another_name(pems: Pems) -> None:
    gate = await MemoryGateway().apply(
        *pems.secrets(),
        listener(protocol="HTTPS"),
        tls_host("closed", "*.example", "missing"),
        tls_host("all", "*"),
        mapping("a", hostname="a.example"),
    )
    assert [name for name in gate.virtual_hosts() if name.endswith("a.example")] == ["gate/http|cleartext:a.example"]


async def test_a_further_mapping_costs_neither_hosts_nor_listeners() -> None:
    gate = await MemoryGateway().apply(
        listener(), *(host(f"h{number}", f"h{number}.example") for number in range(50)), mapping("any", hostname="*")
    )
    written = len(gate.service.written)
    await gate.apply(mapping("more", hostname="*"))
    assert {operation.key.kind for operation in gate.service.written[written:]} <= {"envoy_route", "envoy_cluster"}
    assert gate.service.offline.engine.progress.missing_reactions == {}


@pytest.mark.parametrize(
    ("of_host", "of_mapping", "regex"),
    [
        ("*.example.com", "a.example.*", r"(?i)a\.example\..+"),
        ("a.example.*", "*.example.com", r"(?i).+\.example\.com(:[0-9]+)?"),
    ],
)
async def test_a_host_and_a_mapping_meet_where_some_name_fits_both(of_host: str, of_mapping: str, regex: str) -> None:
    gate = await MemoryGateway().apply(listener(), host("wide", of_host), mapping("a", hostname=of_mapping))
    assert unserved(gate) == []
    crossing = [route for route in gate.elements("envoy_route").values() if f"|{of_host}" in route["tables"]]
    (condition,) = crossing[0]["config"]["match"]["headers"]
    assert condition == {"name": ":authority", "string_match": {"safe_regex": {"regex": regex}}}
    await gate.service.delete(host("wide", of_host))
    assert not any(f"|{of_host}" in route["tables"] for route in gate.elements("envoy_route").values())


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
