"""The route table as people see it: what matches, in which order, and where it goes (docs/ambassador.md §4.6)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc import Row
from tests.support.ambassador.hosts import MemoryGateway, host, listener
from tests.support.ambassador.mappings import EVERYTHING, mapping
from tests.unit.ambassador.viewed import rows

pytestmark = pytest.mark.anyio


async def routes(*resources: dict[str, Any]) -> list[Row]:
    return await rows(await MemoryGateway().apply(*EVERYTHING, *resources), "routes")


async def test_a_route_is_what_its_mapping_says() -> None:
    (route,) = await routes(
        mapping("orders", method="POST", headers={"x-kind": "mobile"}, query_parameters={"page": "1"}, precedence=3)
    )
    assert {**route, "route": ""} == {
        "hostnames": ["*"],
        "path": "/orders/",
        "match": "prefix",
        "method": "POST",
        "headers": ["x-kind=mobile"],
        "query": ["page=1"],
        "precedence": 3,
        "to": [{"service": "echo", "percent": 100}],
        "mirrored": [],
        "hosts": [],
        "origins": [{"kind": "mapping", "name": "shop:orders", "field": "prefix"}],
        "problems": [],
        "route": "",
    }


@pytest.mark.parametrize(
    ("spec", "match", "path"),
    [
        ({}, "prefix", "/a/"),
        ({"prefix": "/a", "prefix_exact": True}, "exact", "/a"),
        ({"prefix": "/a/[0-9]+", "prefix_regex": True}, "regex", "/a/[0-9]+"),
    ],
)
async def test_the_path_says_how_it_is_matched(spec: dict[str, Any], match: str, path: str) -> None:
    (route,) = await routes(mapping("a", **spec))
    assert (route["match"], route["path"]) == (match, path)


async def test_conditions_say_whether_they_are_texts_or_patterns_or_only_presence() -> None:
    (route,) = await routes(
        mapping("a", headers={"x-there": True, "x-is": "1"}, regex_headers={"x-like": "[0-9]+"}, method="GET|PUT",
                method_regex=True)
    )  # fmt: skip
    assert sorted(route["headers"]) == ["x-is=1", "x-like~[0-9]+", "x-there"]
    assert route["method"] == "GET|PUT"


async def test_routes_of_a_host_name_stand_in_the_order_in_which_they_are_asked() -> None:
    found = await routes(
        mapping("short", prefix="/a"),
        mapping("long", prefix="/a/b/c"),
        mapping("first", prefix="/", precedence=1),
        mapping("elsewhere", prefix="/a/b/c/d", hostname="z.example"),
    )
    assert [route["path"] for route in found] == ["/", "/a/b/c", "/a", "/a/b/c/d"]
    assert [route["hostnames"] for route in found] == [["*"], ["*"], ["*"], ["z.example"]]


async def test_a_canary_shows_each_service_with_its_share() -> None:
    (route,) = await routes(
        mapping("one", prefix="/app/", service="app-v1"), mapping("two", prefix="/app/", service="app-v2", weight=30)
    )
    assert route["to"] == [{"service": "app-v1", "percent": 70}, {"service": "app-v2", "percent": 30}]
    assert [origin["name"] for origin in route["origins"]] == ["shop:one", "shop:two"]


async def test_routes_that_divide_the_requests_show_their_own_part_and_not_the_running_total() -> None:
    found = await routes(
        mapping("one", prefix="/app/", service="a", weight=20, rewrite="/x"),
        mapping("two", prefix="/app/", service="b", weight=30, rewrite="/y"),
        mapping("three", prefix="/app/", service="c", weight=50, rewrite="/z"),
    )
    assert sum(route["to"][0]["percent"] for route in found) == 100
    assert {route["to"][0]["service"]: route["to"][0]["percent"] for route in found} == {"a": 20, "b": 30, "c": 50}


async def test_a_redirect_shows_where_to_and_by_which_code() -> None:
    (route,) = await routes(
        mapping("old", service="new.example", host_redirect=True, path_redirect="/p", redirect_response_code=308)
    )
    assert route["to"] == [{"redirect": "//new.example/p", "code": 308}]


async def test_a_shadow_is_no_destination() -> None:
    (route,) = await routes(
        mapping("real", prefix="/app/"), mapping("copy", prefix="/app/", service="other", shadow=True, weight=25)
    )
    assert route["to"] == [{"service": "echo", "percent": 100}]
    assert route["mirrored"] == [{"service": "other", "percent": 25}]


async def test_a_route_shows_the_problems_of_its_mappings() -> None:
    found = await routes(mapping("good"), mapping("bad", tls="missing"))
    assert {route["path"]: route["problems"] for route in found} == {"/good/": [], "/bad/": ["NoTLSContext"]}


async def test_a_route_that_a_host_selects_names_the_host() -> None:
    gate = MemoryGateway()
    await gate.apply(*EVERYTHING)
    chosen = mapping("chosen")
    chosen["metadata"]["labels"] = {"for": "shop"}
    selecting = {
        "apiVersion": "getambassador.io/v3alpha1",
        "kind": "Host",
        "metadata": {"name": "shop", "namespace": "gate"},
        "spec": {"hostname": "shop.example", "mappingSelector": {"matchLabels": {"for": "shop"}}},
    }
    await gate.apply(selecting, chosen)
    assert [route["hostnames"] for route in await rows(gate, "routes") if route["hosts"]] == [["*", "shop.example"]]
    assert "gate:shop" in [host for route in await rows(gate, "routes") for host in route["hosts"]]


async def test_a_route_that_only_a_selecting_host_serves_is_asked_by_the_name_of_that_host() -> None:
    chosen = mapping("chosen")
    chosen["metadata"]["labels"] = {"for": "shop"}
    selecting = host("shop", "shop.example", mappingSelector={"matchLabels": {"for": "shop"}})
    gate = await MemoryGateway().apply(listener(), selecting, chosen, mapping("other"))
    found = {route["path"]: route["hostnames"] for route in await rows(gate, "routes")}
    assert found == {"/chosen/": ["shop.example"], "/other/": ["*"]}
