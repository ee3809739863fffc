"""Envoy takes the configuration of every golden case, as ``compile -o envoy`` prints it, without a warning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.envoy.validating import complaints
from tests.golden.cases import Case, cases
from tests.golden.compiling import compiled

pytestmark = pytest.mark.envoy

CASES = list(cases("ambassador"))
MANAGER = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"


def served(routes: list[dict[str, Any]]) -> dict[str, Any]:
    """A listener with these routes: those that no Host of the case has would go unseen otherwise."""
    manager = {
        "@type": MANAGER,
        "stat_prefix": "strays",
        "http_filters": [{"name": "router", "typed_config": {"@type": ROUTER}}],
        "route_config": {"virtual_hosts": [{"name": "strays", "domains": ["*"], "routes": routes}]},
    }
    return {
        "name": "strays",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 1}},
        "filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}],
    }


def test_there_are_cases() -> None:
    assert len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_envoy_takes_what_is_compiled(case: Case, tmp_path: Path) -> None:
    ended = compiled("ambassador", case.given, output="envoy", options=("--with-secrets",))
    assert ended.code == 0, ended.err
    bootstrap = json.loads(ended.out)
    static = bootstrap["static_resources"]
    elements = case.document()["resources"]
    routes = [element["config"] for element in elements if element["kind"] == "envoy_route"]
    clusters = {element["config"]["name"] for element in elements if element["kind"] == "envoy_cluster"}
    assert {cluster["name"] for cluster in static["clusters"]} == clusters
    assert routes or clusters or static["listeners"]
    static["listeners"].append(served(routes))
    assert complaints(bootstrap, tmp_path) == ""


def test_what_envoy_would_refuse_is_told(tmp_path: Path) -> None:
    """So that the others do not pass with a validation that never fails."""
    cluster = {"name": "a", "type": "STRICT_DNS", "connect_timeout": "1s", "respect_dns_ttl": True}
    assert "respect_dns_ttl" in complaints({"static_resources": {"clusters": [cluster]}}, tmp_path)
    assert "nonsense" in complaints({"static_resources": {"nonsense": []}}, tmp_path)
    bad = [{"match": {"prefix": "/"}, "route": {"cluster": "nowhere"}}]
    assert "nowhere" in complaints({"static_resources": {"listeners": [served(bad)]}}, tmp_path)
