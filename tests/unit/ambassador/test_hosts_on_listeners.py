"""Which Hosts are served on which Listeners, and what happens to insecure requests (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import MemoryGateway, host, listener, route, route_configurations

pytestmark = pytest.mark.anyio

NO_CHALLENGE = {
    "name": ":path",
    "string_match": {"prefix": "/.well-known/acme-challenge/"},
    "invert_match": True,
}


async def test_a_host_is_a_virtual_host_of_each_listener_that_takes_it() -> None:
    gate = await MemoryGateway().apply(listener("one", 8080), listener("two", 8081), host("shop", "shop.example"))
    assert gate.virtual_hosts() == {"gate/one|cleartext:shop.example": [""], "gate/two|cleartext:shop.example": [""]}
    assert gate.problems() == []


async def test_all_hosts_in_clear_text_share_one_chain() -> None:
    gate = await MemoryGateway().apply(listener(), host("a", "a.example"), host("b", "*.example"), host("all", "*"))
    (chain,) = gate.chains("gate/http")
    assert chain["filter_chain_match"] == {"transport_protocol": "raw_buffer"}
    assert route_configurations([chain]) == ["gate/http|cleartext"]


async def test_a_host_with_a_selector_serves_only_its_own_tables() -> None:
    gate = await MemoryGateway().apply(listener(), host("shop", "*", mappingSelector={"matchLabels": {"app": "shop"}}))
    assert gate.virtual_hosts() == {"gate/http|cleartext:*": ["gate:shop"]}


async def test_hosts_of_one_hostname_are_one_virtual_host_with_the_tables_of_both() -> None:
    gate = await MemoryGateway().apply(
        listener(), host("shop", "*", mappingSelector={"matchLabels": {"app": "shop"}}), host("rest", "*")
    )
    assert gate.virtual_hosts() == {"gate/http|cleartext:*": ["", "gate:shop"]}
    assert gate.problems() == []


@pytest.mark.parametrize(
    ("binding", "taken"),
    [
        ({"namespace": {"from": "ALL"}}, ["far.example", "near.example"]),
        ({"namespace": {"from": "SELF"}}, ["near.example"]),
        ({"selector": {"matchLabels": {"tier": "front"}}}, ["far.example"]),
        ({"namespace": {"from": "SELF"}, "selector": {"matchLabels": {"tier": "front"}}}, []),
    ],
)
async def test_a_listener_takes_the_hosts_of_its_binding(binding: dict[str, Any], taken: list[str]) -> None:
    gate = await MemoryGateway().apply(
        listener(hostBinding=binding),
        host("near", "near.example"),
        host("far", "far.example", namespace="far", labels={"tier": "front"}),
    )
    assert sorted(element["domain"] for element in gate.elements("envoy_virtual_host").values()) == taken


async def test_a_host_that_no_listener_takes_says_so() -> None:
    gate = await MemoryGateway().apply(
        listener(hostBinding={"namespace": {"from": "SELF"}}), host("far", "*", namespace="far")
    )
    assert ("host", "far:far", "NoListener") in gate.problems()
    assert ("listener", "gate:http", "NoHost") in gate.problems()


async def test_insecure_requests_are_redirected_unless_a_host_says_otherwise() -> None:
    gate = await MemoryGateway().apply(listener(), host("shop", "shop.example"))
    (first,) = gate.head("gate/http|cleartext:shop.example")
    assert first["redirect"] == {"https_redirect": True}
    assert first["match"]["headers"] == [
        NO_CHALLENGE,
        {
            "name": "x-forwarded-proto",
            "string_match": {"exact": "https"},
            "invert_match": True,
            "treat_missing_header_as_empty": True,
        },
    ]


async def test_whoever_is_redirected_need_not_prove_who_he_is() -> None:
    gate = await MemoryGateway().apply(listener(), host("shop", "shop.example"))
    (first,) = gate.head("gate/http|cleartext:shop.example")
    assert first["typed_per_filter_config"]["envoy.filters.http.ext_authz"]["disabled"] is True


@pytest.mark.parametrize(
    ("model", "action", "expected"),
    [
        ("XFP", "Route", None),
        ("SECURE", "Redirect", None),
        ("SECURE", "Reject", None),
        ("INSECURE", "Route", None),
        ("INSECURE", "Redirect", {"redirect": {"https_redirect": True}}),
        ("INSECURE", "Reject", {"direct_response": {"status": 404}}),
    ],
)
async def test_the_security_model_says_which_requests_are_insecure(
    model: str, action: str, expected: dict[str, Any] | None
) -> None:
    gate = await MemoryGateway().apply(listener(securityModel=model), host("shop", "*", requestPolicy=route(action)))
    head = gate.head("gate/http|cleartext:*")
    if expected is None:
        assert head == []
    else:
        assert expected.items() <= head[0].items()
        assert head[0]["match"]["headers"] == [NO_CHALLENGE]


async def test_of_hosts_of_one_hostname_the_stricter_action_counts_and_the_other_is_reported() -> None:
    gate = await MemoryGateway().apply(
        listener(), host("lax", "*", requestPolicy=route("Route")), host("strict", "*", requestPolicy=route("Reject"))
    )
    assert gate.head("gate/http|cleartext:*")[0]["direct_response"] == {"status": 404}
    assert gate.problems() == [("host", "gate:lax", "DuplicateHostname")]


async def test_while_there_is_no_host_everything_is_served() -> None:
    gate = await MemoryGateway().apply(listener())
    assert gate.virtual_hosts() == {"gate/http|cleartext:*": [""]}
    assert gate.head("gate/http|cleartext:*") == []
    assert gate.problems() == []


async def test_with_the_first_host_nothing_stands_in_any_more() -> None:
    gate = await MemoryGateway().apply(listener())
    await gate.apply(host("shop", "shop.example"))
    assert gate.virtual_hosts() == {"gate/http|cleartext:shop.example": [""]}
    await gate.service.delete(host("shop", "shop.example"))
    assert gate.virtual_hosts() == {"gate/http|cleartext:*": [""]}


async def test_a_host_that_cannot_be_served_is_no_reason_to_serve_everything() -> None:
    gate = await MemoryGateway().apply(listener(), host("odd", "Shop.Example"))
    assert gate.virtual_hosts() == {}
    assert ("host", "gate:odd", "InvalidHostname") in gate.problems()


async def test_of_two_listeners_on_one_port_the_first_by_name_listens() -> None:
    gate = await MemoryGateway().apply(listener("one"), listener("two"), host("shop", "*"))
    assert list(gate.elements("envoy_listener")) == ["gate/one"]
    assert gate.problems() == [("listener", "gate:one", "PortShared"), ("listener", "gate:two", "PortTaken")]
    await gate.service.delete(listener("one"))
    assert list(gate.elements("envoy_listener")) == ["gate/two"]


async def test_a_listener_that_makes_no_sense_takes_no_host() -> None:
    gate = await MemoryGateway().apply(listener(protocolStack=["HTTP", "UDP"]), host("shop", "*"))
    assert gate.elements("envoy_listener") == {}
    assert gate.problems() == [("host", "gate:shop", "NoListener"), ("listener", "gate:http", "Unsupported")]


async def test_an_additional_port_needs_a_listener() -> None:
    policy = {"insecure": {"action": "Redirect", "additionalPort": 8081}}
    gate = await MemoryGateway().apply(listener(), host("shop", "*", requestPolicy=policy))
    assert gate.problems() == [("host", "gate:shop", "NoListener")]
    await gate.apply(listener("plain", 8081, securityModel="INSECURE"))
    assert gate.problems() == []


async def test_what_asks_for_a_certificate_from_others_is_reported() -> None:
    gate = await MemoryGateway().apply(
        listener(), host("shop", "*", acmeProvider={"authority": "https://acme.example"})
    )
    assert gate.problems() == [("host", "gate:shop", "Unsupported")]


async def test_a_host_of_another_gateway_is_none_of_ours() -> None:
    gate = await MemoryGateway().apply(listener(), host("theirs", "shop.example", ambassador_id=["other"]))
    assert gate.virtual_hosts() == {"gate/http|cleartext:*": [""]}


async def test_settings_of_a_listener_reach_its_socket_and_its_filter() -> None:
    gate = MemoryGateway({"ambassador.bind_address": "127.0.0.1"})
    await gate.apply(listener(protocol="HTTPPROXY", l7Depth=2, statsPrefix="front", http2MaxConcurrentStreams=7))
    config = gate.elements("envoy_listener")["gate/http"]["config"]
    manager = config["filter_chains"][0]["filters"][0]["typed_config"]
    assert config["address"] == {"socket_address": {"address": "127.0.0.1", "port_value": 8080}}
    assert [one["name"] for one in config["listener_filters"]] == ["envoy.filters.listener.proxy_protocol"]
    assert manager["xff_num_trusted_hops"] == 2
    assert manager["stat_prefix"] == "front"
    assert manager["http2_protocol_options"] == {"max_concurrent_streams": 7}


async def test_elements_say_which_resources_they_come_from() -> None:
    gate = await MemoryGateway().apply(listener(), host("shop", "*"))
    shop, http = {"kind": "host", "name": "gate:shop"}, {"kind": "listener", "name": "gate:http"}
    assert gate.elements("envoy_listener")["gate/http"]["origins"] == [shop, http]
    assert gate.elements("envoy_virtual_host")["gate/http|cleartext:*"]["origins"] == [shop]


async def test_a_further_host_costs_itself_and_the_listener() -> None:
    gate = await MemoryGateway().apply(listener(), *(host(f"h{number}", f"h{number}.example") for number in range(50)))
    runs = gate.service.offline.engine.progress.evaluations
    await gate.apply(host("more", "more.example"))
    assert gate.service.offline.engine.progress.evaluations - runs <= 5
    assert gate.service.offline.engine.progress.missing_reactions == {}
