"""What a Mapping matches and its route tables: rejected matches, versions (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import host, route
from tests.support.ambassador.mappings import mapping, routes

pytestmark = pytest.mark.anyio


async def test_a_mapping_becomes_a_route_to_its_service() -> None:
    found = await routes(mapping("orders", service="orders.shop:8080"))
    assert found.only["match"] == {"prefix": "/orders/"}
    assert found.only["route"]["cluster"].startswith("cluster_orders_shop_8080-")
    assert found.only["route"]["timeout"] == "3.000s"
    assert found.only["route"]["prefix_rewrite"] == "/"
    assert found.problems() == []


async def test_its_route_names_table_clusters_and_origins() -> None:
    found = await routes(mapping("orders", hostname="Shop.Example"))
    (element,) = found.elements
    assert element["tables"] == ["|shop.example"]
    assert element["clusters"] == [element["config"]["route"]["cluster"]]
    assert element["origins"] == [{"kind": "mapping", "name": "shop:orders", "field": "prefix"}]
    assert element["config"]["name"].startswith("orders-")


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ({"prefix_exact": True}, {"path": "/m/"}),
        ({"prefix": "/m/[0-9]+", "prefix_regex": True}, {"safe_regex": {"regex": "/m/[0-9]+"}}),
        ({"case_sensitive": False}, {"prefix": "/m/", "case_sensitive": False}),
        (
            {"prefix": "/m/[a-f]+", "prefix_regex": True, "case_sensitive": False},
            {"safe_regex": {"regex": "(?i)/m/[a-f]+"}},
        ),
        (
            {"method": "post"},
            {"prefix": "/m/", "headers": [{"name": ":method", "string_match": {"exact": "POST"}}]},
        ),
        (
            {"method": "GET|PUT", "method_regex": True},
            {"prefix": "/m/", "headers": [{"name": ":method", "string_match": {"safe_regex": {"regex": "GET|PUT"}}}]},
        ),
        (
            {"headers": {"X-Kind": "a"}, "regex_headers": {"x-id": "[0-9]+"}},
            {
                "prefix": "/m/",
                "headers": [
                    {"name": "x-id", "string_match": {"safe_regex": {"regex": "[0-9]+"}}},
                    {"name": "x-kind", "string_match": {"exact": "a"}},
                ],
            },
        ),
        (
            {"query_parameters": {"Page": "1"}, "regex_query_parameters": {"size": "[0-9]+"}},
            {
                "prefix": "/m/",
                "query_parameters": [
                    {"name": "Page", "string_match": {"exact": "1"}},
                    {"name": "size", "string_match": {"safe_regex": {"regex": "[0-9]+"}}},
                ],
            },
        ),
        (
            {"v2BoolHeaders": ["x-a"], "v2BoolQueryParameters": ["q"]},
            {
                "prefix": "/m/",
                "headers": [{"name": "x-a", "present_match": True}],
                "query_parameters": [{"name": "q", "present_match": True}],
            },
        ),
        (
            {"hostname": None, "host": "(a|b)[.]example", "host_regex": True},
            {
                "prefix": "/m/",
                "headers": [{"name": ":authority", "string_match": {"safe_regex": {"regex": "(a|b)[.]example"}}}],
            },
        ),
    ],
)
async def test_what_is_matched(spec: dict[str, Any], match: dict[str, Any]) -> None:
    found = await routes(mapping("m", **spec))
    assert found.only["match"] == match
    assert found.problems() == []


async def test_a_header_that_need_only_be_there_is_matched_so() -> None:
    """Defect 11: the peer compares with nothing, and Envoy rejects the whole configuration."""
    found = await routes(mapping("m", version="v2", headers={"x-a": True}))
    assert found.only["match"]["headers"] == [{"name": "x-a", "present_match": True}]


# Hostnames and tables


@pytest.mark.parametrize(
    ("spec", "table"),
    [
        ({"hostname": "a.example", "host": "b.example"}, "|a.example"),
        ({"hostname": None, "host": "b.example", "headers": {":authority": "c.example"}}, "|b.example"),
        ({"hostname": None, "headers": {":authority": "c.example"}}, "|c.example"),
        ({"hostname": None, "regex_headers": {":authority": "c[.]example"}}, "|*"),
        ({"hostname": "*.example"}, "|*.example"),
        ({"hostname": "*"}, "|*"),
    ],
)
async def test_the_first_of_hostname_host_and_authority_counts(spec: dict[str, Any], table: str) -> None:
    found = await routes(mapping("m", **spec))
    assert [element["tables"] for element in found.elements] == [[table]]


@pytest.mark.parametrize("version", ["v2", "v3alpha1"])
async def test_an_authority_that_no_name_equals_has_no_route(version: str) -> None:
    found = await routes(mapping("m", version=version, hostname=None, headers={":authority": "*"}))
    assert found.elements == []
    assert found.problems() == [("shop:m", "InvalidHost")]


async def test_in_v2_host_may_have_a_wildcard() -> None:
    found = await routes(mapping("m", version="v2", hostname=None, host="*.example"))
    assert [element["tables"] for element in found.elements] == [["|*.example"]]


async def test_a_host_that_selects_it_has_a_table_of_its_own() -> None:
    selecting = host(
        "chosen", "*", "shop", mappingSelector={"matchLabels": {"team": "a"}}, requestPolicy=route("Route")
    )
    labelled = mapping("m", hostname=None)
    labelled["metadata"]["labels"] = {"team": "a"}
    found = await routes(selecting, labelled, mapping("other"))
    tables = {element["config"]["match"]["prefix"]: element["tables"] for element in found.elements}
    assert tables == {"/m/": ["shop:chosen|*"], "/other/": ["|*"]}


async def test_with_a_hostname_it_stands_in_both() -> None:
    selecting = host("chosen", "a.example", "shop", selector={"matchLabels": {"team": "a"}})
    labelled = mapping("m", hostname="a.example")
    labelled["metadata"]["labels"] = {"team": "a"}
    found = await routes(selecting, labelled)
    assert [element["tables"] for element in found.elements] == [["shop:chosen|a.example", "|a.example"]]


async def test_without_hostname_and_selection_it_reports_that_it_is_not_routed() -> None:
    found = await routes(mapping("m", hostname=None))
    assert found.elements == []
    assert found.problems() == [("shop:m", "NotAttached")]


async def test_a_hostname_that_no_host_serves_is_reported() -> None:
    found = await routes(mapping("m", hostname="lost.example"))
    assert found.problems() == []
    await found.gate.service.delete(host("all", "*"))
    await found.gate.apply(host("one", "served.example"))
    assert found.problems() == [("shop:m", "NoHost")]


# Rejections


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"prefix": "orders/"}, "InvalidPrefix"),
        ({"prefix": "/a\tb"}, "InvalidPrefix"),
        ({"hostname": "a.*.example"}, "InvalidHostname"),
        ({"hostname": None, "host": "*.example"}, "InvalidHost"),
        ({"prefix": "/(?!x)", "prefix_regex": True}, "InvalidRegex"),
        ({"prefix": "/[0-9]{300}", "prefix_regex": True}, "InvalidRegex"),
        ({"regex_headers": {"x": "("}}, "InvalidRegex"),
        ({"regex_query_parameters": {"x": "("}}, "InvalidRegex"),
        ({"method": "(", "method_regex": True}, "InvalidRegex"),
        ({"hostname": None, "host": "(", "host_regex": True}, "InvalidRegex"),
        ({"headers": {"x": {"a": "b"}}}, "InvalidMatch"),
        ({"headers": {"x": False}}, "InvalidMatch"),
        ({"headers": {"x y": "1"}}, "InvalidMatch"),
        ({"query_parameters": {"": "1"}}, "InvalidMatch"),
    ],
)
async def test_a_match_that_can_not_be_is_reported_and_hurts_nobody_else(spec: dict[str, Any], reason: str) -> None:
    found = await routes(mapping("bad", **spec), mapping("good"))
    assert found.paths == ["/good/"]
    assert found.problems() == [("shop:bad", reason)]


@pytest.mark.parametrize("field", ["error_response_overrides", "outlier_detection"])
async def test_what_is_not_supported_is_reported_and_the_mapping_stays_routed(field: str) -> None:
    """Defect 9."""
    overrides = [{"on_status_code": 404, "body": {"text_format": "x"}}]
    value: Any = overrides if field.startswith("error") else {"x": 1}
    found = await routes(mapping("m", **{field: value}))
    assert found.paths == ["/m/"]
    assert found.problems() == [("shop:m", "Unsupported")]


async def test_v1_is_read_and_reported() -> None:
    found = await routes(mapping("m", version="v1"))
    assert found.paths == ["/m/"]
    assert found.problems() == [("shop:m", "OldVersion")]


@pytest.mark.parametrize(
    ("ids", "settings", "served"),
    [
        (None, {}, True),
        (["default"], {}, True),
        (["other"], {}, False),
        ("other", {"ambassador.id": "other"}, True),
        (["a", "other"], {"ambassador.id": "other"}, True),
        (None, {"ambassador.id": "other"}, False),
        (["_automatic_"], {"ambassador.id": "other"}, True),
    ],
)
async def test_only_mappings_of_this_gateway_count(ids: Any, settings: dict[str, Any], served: bool) -> None:
    found = await routes(mapping("m", ambassador_id=ids), settings=settings)
    assert bool(found.elements) == served
    assert found.problems() == []
