"""The example requests that people are shown are requests that the elements answer."""

from __future__ import annotations

from typing import Any

from intentc.bridges.xds.elements import Element
from intentc.dev.example_requests import ports, requests


def listener(name: str, port: int, *chains: dict[str, Any], address: str = "0.0.0.0") -> Element:
    place = {"socket_address": {"address": address, "port_value": port}}
    return Element("envoy_listener", name, 1, {"name": name, "address": place, "filter_chains": list(chains)})


def chain(configuration: str, **further: Any) -> dict[str, Any]:
    return {"filters": [{"typed_config": {"rds": {"route_config_name": configuration}}}], **further}


def virtual_host(configuration: str, domain: str, *scopes: str) -> Element:
    return Element(
        "envoy_virtual_host",
        f"{configuration}:{domain}",
        1,
        {},
        route_configuration=configuration,
        domain=domain,
        scopes=scopes or ("",),
    )


def route(name: str, table: str, match: dict[str, Any], sort_key: str = "") -> Element:
    return Element("envoy_route", name, 1, {"name": name, "match": match}, tables=(table,), sort_key=sort_key or name)


def curls(*elements: Element) -> list[str]:
    return [request.curl for request in requests(elements)]


WEB = listener("web", 8080, chain("web|cleartext"))


def test_a_prefix_for_any_host_is_asked_at_its_port() -> None:
    elements = WEB, virtual_host("web|cleartext", "*"), route("a", "|*", {"prefix": "/a/"})
    assert curls(*elements) == ["curl -s http://127.0.0.1:8080/a/"]


def test_the_first_route_is_shown_first() -> None:
    routes = [route("a", "|*", {"prefix": "/a/"}), route("b", "|*", {"path": "/b"})]
    assert curls(WEB, virtual_host("web|cleartext", "*"), *routes) == [
        "curl -s http://127.0.0.1:8080/b",
        "curl -s http://127.0.0.1:8080/a/",
    ]


def test_host_method_and_headers_are_said() -> None:
    conditions = [
        {"name": ":method", "string_match": {"exact": "POST"}},
        {"name": "x-canary", "string_match": {"exact": "al ways"}},
    ]
    elements = virtual_host("web|cleartext", "*.a.org"), route("a", "|*.a.org", {"prefix": "/", "headers": conditions})
    assert curls(WEB, *elements) == [
        "curl -s -H 'Host: any.a.org' -X POST -H 'x-canary: al ways' http://127.0.0.1:8080/"
    ]


def test_a_name_behind_tls_is_resolved_to_this_machine() -> None:
    secure = listener("web", 8443, chain("web|tls", transport_socket={"name": "tls"}))
    elements = virtual_host("web|tls", "a.org"), route("a", "|a.org", {"prefix": "/"})
    assert curls(secure, *elements) == ["curl -s -k --resolve a.org:8443:127.0.0.1 https://a.org:8443/"]


def test_a_wider_table_serves_a_narrower_host_of_its_scope_only() -> None:
    hosts = virtual_host("web|cleartext", "a.org", "", "ns:one"), virtual_host("web|cleartext", "b.org")
    routes = route("all", "|*", {"prefix": "/all"}), route("one", "ns:one|*", {"prefix": "/one"})
    assert curls(WEB, *hosts, *routes) == [
        "curl -s -H 'Host: a.org' http://127.0.0.1:8080/one",
        "curl -s -H 'Host: a.org' http://127.0.0.1:8080/all",
        "curl -s -H 'Host: b.org' http://127.0.0.1:8080/all",
    ]


def test_what_one_example_cant_show_is_left_out() -> None:
    matches: list[dict[str, Any]] = [
        {"safe_regex": {"regex": "/a.*"}},
        {"prefix": "/b", "query_parameters": [{"name": "q"}]},
        {"prefix": "/c", "headers": [{"name": "x", "present_match": True}]},
        {"prefix": "/d", "headers": [{"name": "x", "string_match": {"exact": "1"}, "invert_match": True}]},
    ]
    routes = [route(str(number), "|*", match) for number, match in enumerate(matches)]
    assert curls(WEB, virtual_host("web|cleartext", "*"), *routes) == []


def test_the_ports_are_those_of_tcp() -> None:
    udp = {"socket_address": {"address": "0.0.0.0", "port_value": 8080, "protocol": "UDP"}}
    quic = Element("envoy_listener", "quic", 1, {"name": "quic", "address": udp})
    named = [(port.name, port.address, port.port) for port in ports([WEB, quic, listener("b", 1, address="127.0.0.1")])]
    assert named == [("b", "127.0.0.1", 1), ("web", "0.0.0.0", 8080)]
