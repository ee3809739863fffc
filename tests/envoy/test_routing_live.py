"""Requests through the whole chain: which Mapping gets them, and what its service sees."""

from __future__ import annotations

import pytest

from tests.envoy.backends import backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import NAMESPACE, ambassador, host, listener, mapping, service

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]


async def test_the_longest_prefix_gets_the_request(live: GatewaySystem) -> None:
    async with backend("short") as short, backend("long") as long:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("short", short.port),
            service("long", long.port),
            mapping("a", "/shop/", "short"),
            mapping("b", "/shop/books/", "long"),
        )
        assert live.problems == []
        assert await live.service("/shop/toys/") == "short"
        assert await live.service("/shop/books/1") == "long"
        assert await live.service("/elsewhere") == "status 404"


async def test_precedence_beats_length_and_headers_beat_none(live: GatewaySystem) -> None:
    async with backend("plain") as plain, backend("tester") as tester, backend("first") as first:
        await live.apply(
            listener("web", live.port),
            host("all"),
            *(service(name, one.port) for name, one in (("plain", plain), ("tester", tester), ("first", first))),
            mapping("a-plain", "/api/v1/", "plain"),
            mapping("b-tester", "/api/v1/", "tester", headers={"x-tester": "yes"}),
            mapping("c-first", "/api/", "first", precedence=1, headers={"x-urgent": "yes"}),
        )
        assert await live.service("/api/v1/x") == "plain"
        assert await live.service("/api/v1/x", x_tester="yes") == "tester"
        assert await live.service("/api/v1/x", x_tester="yes", x_urgent="yes") == "first"


async def test_host_names_and_globs_choose_their_own_mappings(live: GatewaySystem) -> None:
    names = ("exact", "suffix", "any")
    async with backend("exact") as exact, backend("suffix") as suffix, backend("any") as everything:
        ports = (exact.port, suffix.port, everything.port)
        await live.apply(
            listener("web", live.port),
            host("all"),
            host("shop", "shop.example.org"),
            host("org", "*.example.org"),
            *(service(name, port) for name, port in zip(names, ports, strict=True)),
            mapping("exact", "/", "exact", hostname="shop.example.org"),
            mapping("suffix", "/", "suffix", hostname="*.example.org"),
            mapping("any", "/", "any", hostname="*"),
        )
        assert live.problems == []
        assert await live.service("/", "shop.example.org") == "exact"
        assert await live.service("/", "mail.example.org") == "suffix"
        assert await live.service("/", "elsewhere.test") == "any"


async def test_the_service_sees_what_the_mapping_makes_of_the_request(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            mapping("kept", "/kept/", "one", rewrite="", host_rewrite="inside.test"),
            mapping("cut", "/cut/", "one", add_request_headers={"x-put-in": {"value": "yes"}},
                    remove_request_headers=["x-secret"], add_response_headers={"x-came-back": {"value": "yes"}}),
            mapping("changed", "/v1/", "one", regex_rewrite={"pattern": "/v1/([0-9]+)", "substitution": "/id/\\1/x"}),
        )  # fmt: skip
        kept = (await live.get("/kept/a")).json()
        assert (kept["path"], kept["headers"]["host"]) == ("/kept/a", "inside.test")
        cut = await live.get("/cut/a", x_secret="no")
        assert (cut.json()["path"], cut.headers["x-came-back"]) == ("/a", "yes")
        assert cut.json()["headers"]["x-put-in"] == "yes"
        assert "x-secret" not in cut.json()["headers"]
        assert (await live.get("/v1/17")).json()["path"] == "/id/17/x"


async def test_redirects_name_the_place_and_the_code(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port),
            host("all"),
            service("one", one.port),
            mapping("moved", "/old/", "new.example.org", host_redirect=True, path_redirect="/new/",
                    redirect_response_code=302),
        )  # fmt: skip
        moved = await live.get("/old/a")
        assert (moved.status_code, moved.headers["location"]) == (302, "http://new.example.org/new/")


async def test_insecure_requests_are_redirected_or_rejected_as_the_host_says(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(
            listener("web", live.port),
            host("redirecting", "redirect.test", "Redirect"),
            host("rejecting", "reject.test", "Reject"),
            host("routing", "route.test", "Route"),
            service("one", one.port),
            *(mapping(name, "/", "one", hostname=f"{name}.test") for name in ("redirect", "reject", "route")),
        )
        redirected = await live.get("/a?b=c", "redirect.test")
        assert (redirected.status_code, redirected.headers["location"]) == (301, "https://redirect.test/a?b=c")
        assert await live.service("/a", "reject.test") in ("status 403", "status 404")
        assert await live.service("/a", "route.test") == "one"


async def test_an_update_and_a_delete_change_routing_at_once(live: GatewaySystem) -> None:
    async with backend("blue") as blue, backend("green") as green:
        changing = mapping("changing", "/a/", "blue")
        await live.apply(
            listener("web", live.port), host("all"), service("blue", blue.port), service("green", green.port), changing
        )
        assert await live.service("/a/") == "blue"
        await live.apply(mapping("changing", "/a/", "green"))
        assert await live.service("/a/") == "green"
        await live.delete(changing)
        assert await live.service("/a/") == "status 404"


async def test_a_port_in_the_host_header_leads_past_no_host(live: GatewaySystem) -> None:
    """Not to the Host for everything, where nothing is redirected."""
    async with backend("shop") as shop, backend("any") as everything:
        await live.apply(
            listener("web", live.port),
            host("all"),
            host("shop", "shop.example.org"),
            service("shop", shop.port),
            service("any", everything.port),
            mapping("shop", "/", "shop", hostname="shop.example.org"),
            mapping("any", "/", "any", hostname="*"),
        )
        assert await live.service("/", "shop.example.org") == "shop"
        assert await live.service("/", f"shop.example.org:{live.port}") == "shop"
        assert await live.service("/", f"other.example.org:{live.port}") == "any"


async def test_annotations_ingresses_and_crossing_wildcards_are_routed_as_emissary_does(live: GatewaySystem) -> None:
    config = (
        "{apiVersion: ambassador/v2, kind: Mapping, name: noted_mapping, host: '*', prefix: /noted/, service: echo}"
    )
    target = {"service": {"name": "echo", "port": {"number": 80}}}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {
            "name": "inward",
            "namespace": NAMESPACE,
            "annotations": {"kubernetes.io/ingress.class": "Ambassador"},
        },
        "spec": {"rules": [{"http": {"paths": [{"path": "/in", "pathType": "Prefix", "backend": target}]}}]},
    }
    async with backend("echo") as echo:
        carrier, endpoints = service("echo", echo.port)
        carrier["metadata"] = {**carrier["metadata"], "annotations": {"getambassador.io/config": config}}
        await live.apply(
            listener("web", live.port),
            host("all"),
            host("wide", "*.example.org"),
            ambassador("Module", "ambassador", config={"resolver": "endpoint", "gzip": {"enabled": True, "odd": 1}}),
            carrier,
            endpoints,
            ingress,
            mapping("cross", "/cross/", "echo", hostname="shop.example.*"),
        )
        assert [reason for _, _, reason in live.problems] == ["UnknownSetting"]
        assert (await live.get("/noted/a")).json()["path"] == "/a"
        assert (await live.get("/in/a")).json()["path"] == "/a"
        assert await live.service("/cross/", "shop.example.org") == "echo"
        assert await live.service("/cross/", "mail.example.org") == "status 404"
        await live.delete(carrier)
        assert await live.service("/noted/a") == "status 404"
