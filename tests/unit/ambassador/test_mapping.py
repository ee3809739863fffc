"""What a Mapping matches, and how the Mappings of a group share its route (docs/ambassador.md §4.3, §4.4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.mappings import mapping, routes, upstreams

pytestmark = pytest.mark.anyio


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


def canary(name: str, service: str, **spec: Any) -> dict[str, Any]:
    return mapping(name, **{"prefix": "/app/", "service": service, **spec})


async def test_a_member_without_a_share_is_reported() -> None:
    found = await routes(canary("a", "one", weight=100), canary("b", "two"))
    assert upstreams(found.only) == {"cluster_one_80": 100, "cluster_two_80": 0}
    assert found.problems() == [("shop:b", "NoRequests")]


async def test_where_all_have_the_weight_0_they_share_equally_and_are_reported() -> None:
    found = await routes(canary("a", "one", weight=0), canary("b", "two", weight=0))
    assert upstreams(found.only) == {"cluster_one_80": 1, "cluster_two_80": 1}
    assert found.problems() == [("shop:a", "NoWeight"), ("shop:b", "NoWeight")]


async def test_the_first_of_two_redirects_counts() -> None:
    found = await routes(
        canary("a", "new.example", host_redirect=True), canary("b", "other.example", host_redirect=True)
    )
    assert found.only["redirect"]["host_redirect"] == "new.example"
    assert found.problems() == [("shop:b", "GroupRedirects")]


async def test_a_shadow_of_nothing_is_reported_and_makes_no_route() -> None:
    found = await routes(canary("x", "two", shadow=True))
    assert found.elements == []
    assert found.problems() == [("shop:x", "NothingToShadow")]


async def test_requests_that_nobody_serves_never_fall_to_a_wider_route() -> None:
    found = await routes(canary("a", "http://one/path"), mapping("wide", prefix="/"))
    rejecting, wide = found.configs
    assert rejecting["match"] == {"prefix": "/app/"}
    assert rejecting["direct_response"] == {"status": 503}
    assert "route" in wide
    assert found.problems() == [("shop:a", "InvalidService")]
