"""Envoy takes the configuration of every golden case, as ``compile -o envoy`` prints it, without a warning."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.envoy.validating import complaints, complaints_of_each
from tests.support.forking import Ended
from tests.support.golden.cases import Case, cases
from tests.support.golden.compiling import compiled

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


class Shown(NamedTuple):
    """A case as it was compiled, the configuration that Envoy was shown, and what it has against that."""

    ended: Ended
    bootstrap: dict[str, Any]
    routes: list[dict[str, Any]]
    clusters: set[str]
    complaints: str


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shown]:
    """Case → what came of it; all of them are shown to Envoy together."""
    found: dict[str, Shown] = {}
    for case in CASES:
        ended = compiled("ambassador", case.given, output="envoy", options=("--with-secrets",))
        elements = case.document()["resources"]
        routes = [element["config"] for element in elements if element["kind"] == "envoy_route"]
        clusters = {element["config"]["name"] for element in elements if element["kind"] == "envoy_cluster"}
        bootstrap = json.loads(ended.out) if ended.code == 0 else {"static_resources": {}}
        bootstrap["static_resources"].setdefault("listeners", []).append(served(routes))
        found[case.name] = Shown(ended, bootstrap, routes, clusters, "")
    folder = tmp_path_factory.mktemp("validated")
    compiled_ones = {name: one.bootstrap for name, one in found.items() if one.ended.code == 0}
    complaints = complaints_of_each(compiled_ones, folder)
    return {name: one._replace(complaints=complaints.get(name, "")) for name, one in found.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_envoy_takes_what_is_compiled(case: Case, shown: dict[str, Shown]) -> None:
    one = shown[case.name]
    assert one.ended.code == 0, one.ended.err
    static = one.bootstrap["static_resources"]
    assert {cluster["name"] for cluster in static["clusters"]} == one.clusters
    assert one.routes or one.clusters or len(static["listeners"]) > 1
    assert one.complaints == ""


def test_the_wrong_one_of_many_cases_is_reported(tmp_path: Path) -> None:
    good, bad = ([{"match": {"prefix": "/"}, "route": {"cluster": name}}] for name in ("there", "nowhere"))
    clusters = [{"name": "there", "type": "STATIC", "connect_timeout": "1s"}]
    other = [{"name": "there", "type": "STATIC", "connect_timeout": "2s", "respect_dns_ttl": True}]
    elsewhere = [{"name": "nowhere", "type": "STATIC", "connect_timeout": "1s"}]
    bootstraps = {
        "has what another lacks": {"static_resources": {"listeners": [], "clusters": elsewhere}},
        "good": {"static_resources": {"listeners": [served(good)], "clusters": clusters}},
        "bad": {"static_resources": {"listeners": [served(bad)], "clusters": clusters}},
        "also good": {"static_resources": {"listeners": [served(good)], "clusters": clusters}},
        "deprecated": {"static_resources": {"listeners": [served(good)], "clusters": other}},
    }
    found = complaints_of_each(bootstraps, tmp_path)
    assert {name for name, text in found.items() if text} == {"bad", "deprecated"}
    assert "nowhere" in found["bad"]
    assert "respect_dns_ttl" in found["deprecated"]


def test_what_envoy_would_reject_is_reported(tmp_path: Path) -> None:
    """So that the others do not pass with a validation that never fails."""
    cluster = {"name": "a", "type": "STRICT_DNS", "connect_timeout": "1s", "respect_dns_ttl": True}
    assert "respect_dns_ttl" in complaints({"static_resources": {"clusters": [cluster]}}, tmp_path)
    assert "nonsense" in complaints({"static_resources": {"nonsense": []}}, tmp_path)
    bad = [{"match": {"prefix": "/"}, "route": {"cluster": "nowhere"}}]
    assert "nowhere" in complaints({"static_resources": {"listeners": [served(bad)]}}, tmp_path)
