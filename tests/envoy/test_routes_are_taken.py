"""Envoy takes what is made of Mappings, every feature of them, and has nothing to warn of (deprecated fields).

Clusters are stand-ins here: what is asked is whether the routes are right.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.compilers.ambassador.routing.regexes import BadRegex, check
from tests.envoy.validating import bootstrap_of, complaints
from tests.support.ambassador.mappings import mapping, routes
from tests.support.ambassador.services import RATE_LIMIT

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

LABELS: dict[str, Any] = {
    "ambassador": [
        {"user": [{"request_headers": {"key": "user", "header_name": "x-user", "omit_if_not_present": True}}]},
        {"rest": [{"remote_address": {}}, {"source_cluster": {}}, {"destination_cluster": {}}]},
        {"text": [{"generic_key": {"value": "orders", "key": "kind"}}]},
    ]
}
FEATURES: dict[str, list[dict[str, Any]]] = {
    "matches": [
        mapping("exact", prefix_exact=True, case_sensitive=False),
        mapping("regex", prefix="/regex/[0-9]+", prefix_regex=True, case_sensitive=False, rewrite=""),
        mapping("regex-to-root", prefix="/root/.*", prefix_regex=True),
        mapping("headers", headers={"x-a": "1"}, regex_headers={"x-b": "(a|b)+"}, v2BoolHeaders=["x-c"]),
        mapping("query", query_parameters={"a": "1"}, regex_query_parameters={"b": "x.*"}, v2BoolQueryParameters=["c"]),
        mapping("method", method="get"),
        mapping("methods", method="GET|POST", method_regex=True),
        mapping("host", hostname=None, host="(a|b)[.]example", host_regex=True),
    ],
    "rewrites": [
        mapping("prefix", rewrite="/new/"),
        mapping("none", rewrite=""),
        mapping("regex", regex_rewrite={"pattern": "^/regex/([0-9]+)", "substitution": r"/\1"}),
        mapping("host", host_rewrite="new.example"),
        mapping("auto", auto_host_rewrite=True),
    ],
    "redirects": [
        mapping("plain", service="new.example", host_redirect=True),
        mapping("path", service="https://new.example:8443", host_redirect=True, path_redirect="/p"),
        mapping("prefix", service="new.example", host_redirect=True, prefix_redirect="/p/", redirect_response_code=303),
        mapping(
            "regex",
            service="new.example",
            host_redirect=True,
            regex_redirect={"pattern": "/regex/(.*)", "substitution": r"/\1"},
            redirect_response_code=308,
        ),
    ],
    "policies": [
        mapping("times", timeout_ms=0, idle_timeout_ms=0, priority="high"),
        mapping("retry", retry_policy={"retry_on": "retriable-4xx", "num_retries": 2, "per_try_timeout": "0.5s"}),
        mapping("cors", cors={"origins": ["*"], "methods": ["GET"], "credentials": True, "max_age": "60"}),
        mapping("upgrade", use_websocket=True, allow_upgrade=["websocket", "CONNECT"]),
        mapping("public", bypass_auth=True),
        mapping("context", auth_context_extensions={"a": "b"}),
        mapping("counted", labels=LABELS),
        mapping("sticky", resolver="endpoint", load_balancer={"policy": "ring_hash", "cookie": {"name": "s"}}),
        mapping("ttl", resolver="endpoint", load_balancer={"policy": "maglev", "cookie": {"name": "s", "ttl": "1m"}}),
        mapping("by-header", resolver="endpoint", load_balancer={"policy": "ring_hash", "header": "x-user"}),
        mapping("by-address", resolver="endpoint", load_balancer={"policy": "ring_hash", "source_ip": True}),
    ],
    "headers": [
        mapping(
            "headers",
            add_request_headers={"x-a": {"value": "%REQ(x-b)% 100%%"}, "x-empty": {"value": ""}},
            add_response_headers={"x-c": {"value": "1", "append": False}},
            remove_request_headers=["x-d"],
            remove_response_headers=["server"],
        ),
    ],
    "shares": [
        mapping("a", prefix="/app/", service="one", weight=20, host_rewrite="one.example"),
        mapping("b", prefix="/app/", service="two", weight=0, add_request_headers={"x-b": "1"}),
        mapping("c", prefix="/app/", service="three"),
        mapping("d", prefix="/app/", service="four", shadow=True, weight=10),
    ],
    "treated differently": [
        mapping("a", prefix="/app/", service="one", weight=33),
        mapping("b", prefix="/app/", service="two", rewrite="/v2/"),
        mapping("c", prefix="/app/", service="three", timeout_ms=100),
    ],
    "rejected": [mapping("bad", service="http://nowhere/path")],
}


@pytest.mark.parametrize("feature", FEATURES)
async def test_envoy_takes_the_routes_of_a_feature(feature: str, tmp_path: Path) -> None:
    found = await routes(RATE_LIMIT, *FEATURES[feature])
    assert found.configs
    assert complaints(bootstrap_of(found), tmp_path) == ""


@pytest.mark.parametrize(
    "pattern",
    ["/(?=a)", "/(?<!a)b", r"/(a)\1", "/a**", "/a++", "/[z-a]", "/a{1001}", r"/\y", "/(", "/[]"],
)
async def test_a_regular_expression_that_is_rejected_before_would_be_rejected_by_envoy(
    pattern: str, tmp_path: Path
) -> None:
    with pytest.raises(BadRegex):
        check(pattern, 200)
    assert complaints(await matching(pattern), tmp_path)


@pytest.mark.parametrize(
    "pattern", ["/[]a]", "/(?P<n>x){2,5}?", r"/\Q.*\E", r"/\pL[[:alpha:]\x7f-\xff]", r"/\012", "/x{,5}"]
)
async def test_one_that_passes_is_taken_by_envoy(pattern: str, tmp_path: Path) -> None:
    check(pattern, 200)
    assert complaints(await matching(pattern), tmp_path) == ""


async def matching(pattern: str) -> dict[str, Any]:
    """A configuration whose route has this pattern, whatever the compiler would say of it."""
    found = await routes(mapping("m", rewrite=""))
    return bootstrap_of(found, [{**found.only, "match": {"safe_regex": {"regex": pattern}}}])


async def test_an_expression_that_the_module_allows_is_not_too_large_for_envoy(tmp_path: Path) -> None:
    pattern = "/(?:ab){900}"
    check(pattern, 2_000)
    assert complaints(await matching(pattern), tmp_path) == ""
