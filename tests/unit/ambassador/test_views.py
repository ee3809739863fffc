"""The views of services, host names and TCP connections, and what they leave out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from intentc import Overview
from intentc.compilers.ambassador.views import VIEWS
from intentc.inspection import Reader
from intentc.model import Problem
from tests.support.ambassador.hosts import MemoryGateway, host, listener, manifest, route, tls_host
from tests.support.ambassador.mappings import EVERYTHING, mapping
from tests.support.ambassador.pems import Pems
from tests.support.golden.cases import Case, cases
from tests.unit.ambassador.viewed import HandMade, rows

pytestmark = pytest.mark.anyio

ORIGIN = {"kind": "tcp_mapping", "name": "gate:db"}


def kubernetes(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **fields}


def service(name: str, port: int = 80) -> dict[str, Any]:
    return kubernetes("Service", name, spec={"ports": [{"port": port, "targetPort": 8080}]})


def endpoints(name: str, *addresses: str) -> dict[str, Any]:
    subsets = [{"addresses": [{"ip": address} for address in addresses], "ports": [{"port": 8080}]}]
    return kubernetes("Endpoints", name, subsets=subsets)


async def services(*resources: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = await rows(await MemoryGateway().apply(*EVERYTHING, *resources), "services")
    return {row["service"]: row for row in found}


async def test_a_service_by_dns_shows_the_name_that_is_looked_up_and_who_asked() -> None:
    found = (await services(mapping("one", service="https://echo:8443")))["https://echo:8443"]
    assert (found["found_by"], found["endpoints"], found["tls"]) == ("dns", ["echo.shop:8443"], True)
    assert found["origins"] == [{"kind": "mapping", "name": "shop:one", "field": "service"}]


async def test_a_service_by_endpoints_shows_them() -> None:
    resolver = manifest("KubernetesEndpointResolver", "endpoint", {}, "shop")
    found = await services(
        resolver, service("echo"), endpoints("echo", "10.0.0.1", "10.0.0.2"), mapping("one", resolver="endpoint")
    )
    assert (found["echo"]["found_by"], found["echo"]["endpoints"]) == ("endpoints", ["10.0.0.1:8080", "10.0.0.2:8080"])


async def test_a_service_that_an_ingress_names_is_called_by_its_name_and_port() -> None:
    backend = {"service": {"name": "echo", "port": {"number": 8080}}}
    paths = [{"path": "/a", "pathType": "Prefix", "backend": backend}]
    spec = {"ingressClassName": "ambassador", "rules": [{"host": "shop.example", "http": {"paths": paths}}]}
    ingress = {**kubernetes("Ingress", "shop", spec=spec), "apiVersion": "networking.k8s.io/v1"}
    ingress_class = {**kubernetes("IngressClass", "ambassador"), "apiVersion": "networking.k8s.io/v1"}
    ingress_class["spec"] = {"controller": "getambassador.io/ingress-controller"}
    gate = await MemoryGateway().apply(*EVERYTHING, service("echo", 8080), ingress_class, ingress)
    (route,) = await rows(gate, "routes")
    assert (route["match"], route["path"], route["to"]) == (
        "segments",
        "/a",
        [{"service": "echo:8080", "percent": 100}],
    )
    assert [row["service"] for row in await rows(gate, "services")] == ["echo:8080"]


async def test_a_service_shows_how_many_routes_lead_there_tcp_included() -> None:
    tcp = manifest("TCPMapping", "db", {"port": 6789, "service": "db:5432"})
    found = await services(mapping("one"), mapping("two"), mapping("three", service="other"), tcp)
    assert {name: row["routes"] for name, row in found.items()} == {"echo": 2, "other": 1, "db:5432": 1}


async def test_a_service_that_can_not_be_reached_says_so_and_why() -> None:
    found = (await services(mapping("one", tls="missing")))["echo"]
    assert (found["found_by"], found["endpoints"], found["problems"]) == ("nothing", [], ["NoTLSContext"])


async def test_services_that_stand_in_for_each_other_are_reported_together() -> None:
    auth = [manifest("AuthService", name, {"auth_service": f"{name}:3000", "proto": "http"}) for name in ("a", "b")]
    found = (await services(*auth))["a:3000, b:3000"]
    assert (found["found_by"], len(found["endpoints"])) == ("joined", 2)


async def test_a_host_name_shows_its_listener_its_side_and_what_becomes_of_insecure_requests(pems: Pems) -> None:
    gate = await MemoryGateway().apply(
        listener("web", securityModel="XFP", protocol="HTTPS"),
        pems.secret(),
        tls_host("shop", "shop.example", requestPolicy=route("Reject")),
    )
    found = {(row["domain"], row["side"]): row for row in await rows(gate, "domains")}
    assert found["shop.example", "tls"]["listener"] == "gate/web"
    assert found["shop.example", "cleartext"]["insecure"] == "Reject"
    assert {"kind": "host", "name": "gate:shop", "field": ""} in found["shop.example", "tls"]["origins"]


async def test_a_connection_shows_its_port_its_services_with_their_shares_and_its_mappings() -> None:
    gate = await MemoryGateway().apply(
        manifest("TCPMapping", "one", {"port": 6789, "service": "db-one:5432", "weight": 80}),
        manifest("TCPMapping", "two", {"port": 6789, "service": "db-two:5432", "weight": 20}),
    )
    (found,) = await rows(gate, "connections")
    assert (found["address"], found["hostnames"], found["tls"]) == ("0.0.0.0:6789", [], False)
    assert found["to"] == [{"service": "db-one:5432", "percent": 80}, {"service": "db-two:5432", "percent": 20}]
    assert [origin["name"] for origin in found["origins"]] == ["gate:one", "gate:two"]


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


def test_a_route_whose_cluster_is_not_there_yet_is_shown_all_the_same() -> None:
    config = {"match": {"prefix": "/"}, "route": {"cluster": "cluster_a-1"}}
    world = HandMade({"envoy_route": {"r": {"config": config, "tables": ["|*"], "sort_key": "1000000000\tr\t0001"}}})
    (found,) = world.rows("routes")
    assert found["to"] == [{"service": "cluster_a-1", "percent": 100}]


async def test_a_host_without_its_secret_is_reported_on_the_host_however_often_one_looks() -> None:
    """Defects 13 and 14: nothing was in the errors, and each look appended the notices again."""
    gate = await MemoryGateway().apply(listener("web", protocol="HTTPS"), tls_host("shop", "shop.example", "missing"))
    looks = [await rows(gate, "problems") for _ in range(3)]
    assert looks[0] == looks[1] == looks[2]
    assert ("host", "gate:shop") in [(row["kind"], row["name"]) for row in looks[0]]


@pytest.mark.parametrize("case", list(cases("ambassador")), ids=lambda case: str(case.name))
def test_every_element_that_golden_cases_make_can_be_looked_at(case: Case) -> None:
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
