"""The views of services, host names and TCP connections, and what they leave out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc import Overview
from intentc.compilers.ambassador.views import VIEWS
from intentc.inspection import Reader
from intentc.model import Problem
from tests.support.ambassador.hosts import MemoryGateway, host, listener, tls_host
from tests.support.ambassador.mappings import EVERYTHING
from tests.support.ambassador.pems import Pems
from tests.support.golden.cases import Case, cases
from tests.unit.ambassador.viewed import HandMade, rows

pytestmark = pytest.mark.anyio

ORIGIN = {"kind": "tcp_mapping", "name": "gate:db"}


def kubernetes(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **fields}


def service(name: str, port: int = 80) -> dict[str, Any]:
    return kubernetes("Service", name, spec={"ports": [{"port": port, "targetPort": 8080}]})


async def services(*resources: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = await rows(await MemoryGateway().apply(*EVERYTHING, *resources), "services")
    return {row["service"]: row for row in found}


def test_a_connection_is_found_where_equal_filters_of_a_listener_stand_once() -> None:
    proxy = {"name": "envoy.filters.network.tcp_proxy", "typed_config": {"cluster": "cluster_db-1"}}
    match = {"server_names": ["db.example"]}
    config = {
        "address": {"socket_address": {"address": "::", "port_value": 1}},
        "filter_chains": [{"filters": 1, "filter_chain_match": match, "transport_socket": {}}],
    }
    world = HandMade(
        {
            "envoy_listener": {"l": {"config": config, "shared_filters": [[], [proxy]], "origins": [ORIGIN]}},
            "envoy_cluster": {"cluster_db-1": {"config": {}, "origins": [ORIGIN]}},
        },
        [Problem("tcp_mapping", "gate:db", "Odd", "shown")],
    )
    (found,) = world.rows("connections")
    assert (found["address"], found["hostnames"], found["tls"]) == ("[::]:1", ["db.example"], True)
    assert (found["to"], found["problems"]) == ([{"service": "cluster_db", "percent": 100}], ["Odd"])


@pytest.mark.parametrize("case", list(cases("ambassador")), ids=lambda case: str(case.name))
def test_every_element_of_the_golden_cases_can_be_viewed(case: Case) -> None:
    document = case.document()
    objects: dict[str, dict[str, dict[str, Any]]] = {}
    for element in document["resources"]:
        objects.setdefault(element["kind"], {})[":".join(element["fq_name"])] = element
    world = HandMade(objects, [Problem(**problem) for problem in document["problems"]])
    shown = {view: world.rows(view) for view in VIEWS}
    for view, kind in (("routes", "envoy_route"), ("services", "envoy_cluster"), ("domains", "envoy_virtual_host")):
        assert len(shown[view]) == len(objects.get(kind, {}))


async def test_nothing_compiled_is_nothing_shown() -> None:
    """Defect 14: before the first good configuration the page itself failed."""
    gate = MemoryGateway()
    assert [await rows(gate, view) for view in ("problems", *VIEWS)] == [[]] * (1 + len(VIEWS))


async def test_no_view_has_a_secret(pems: Pems) -> None:
    gate = await MemoryGateway().apply(
        listener("web", protocol="HTTPS"), pems.secret(), tls_host("shop", "shop.example"), host("plain", "*")
    )
    everything = [await rows(gate, view) for view in ("problems", *VIEWS)]
    assert pems.key.decode().splitlines()[1] not in json.dumps(everything)


async def test_a_view_that_looks_at_secrets_finds_them_concealed(pems: Pems) -> None:
    gate = await MemoryGateway().apply(
        listener("web", protocol="HTTPS"), pems.secret(), tls_host("shop", "shop.example")
    )
    looking = Overview("", ("secret", "envoy_secret"), ("row",), lambda compiled: (
        {"row": dict(found)} for kind in ("secret", "envoy_secret") for found in compiled.objects(kind)
    ))  # fmt: skip
    found = await Reader(gate.service.offline.engine, {"all": looking}).rows("all", lambda row: True)
    assert {row["row"]["kind"] for row in found} == {"secret", "envoy_secret"}
    assert {row["row"].get("config", row["row"].get("data")) for row in found} == {"<secret>"}
