"""Which resource takes effect where several claim the same: a hostname, a port, the settings of the gateway, a name.

Never by order of arrival, never one of another namespace against the gateway's own, and always the stricter one.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.clusters import cluster_of, endpoints, resolver, service, subset
from tests.support.ambassador.hosts import MemoryGateway, host, listener, manifest, mapping, secret, tls_host
from tests.support.ambassador.pems import Pems
from tests.support.ambassador.services import auth, filters, gateway, guards, module, rate_limit

pytestmark = pytest.mark.anyio

ASKING = {"cert_required": True, "ca_secret": "ca"}


def authority(pems: Pems) -> dict[str, Any]:
    return secret("ca", tls_crt=pems.authority)


def https(name: str = "https", **spec: Any) -> dict[str, Any]:
    return listener(name, 8443, protocol="HTTPS", **spec)


def by_tls(gate: MemoryGateway) -> list[str]:
    return [name for name in gate.virtual_hosts() if "|tls" in name]


def in_namespace(resource: dict[str, Any], namespace: str) -> dict[str, Any]:
    return {**resource, "metadata": {**resource["metadata"], "namespace": namespace}}


# Hosts of one hostname


async def test_a_host_that_asks_for_certificates_closes_without_its_authority(pems: Pems) -> None:
    guarded, other = tls_host("a", "shop.example", tls=ASKING), tls_host("b", "shop.example")
    gate = await MemoryGateway().apply(pems.secret(), authority(pems), https(), guarded, other)
    await gate.service.delete(authority(pems))
    assert by_tls(gate) == []
    assert gate.problems() == [("host", "gate:a", "NoSecret"), ("host", "gate:b", "DuplicateHostname")]


async def test_so_does_one_whose_certificate_goes(pems: Pems) -> None:
    guarded = tls_host("a", "shop.example", "missing", tls=ASKING)
    gate = await MemoryGateway().apply(pems.secret(), authority(pems), https(), guarded, tls_host("b", "shop.example"))
    assert by_tls(gate) == []


async def test_so_does_one_of_which_nobody_knows_what_it_asks_for(pems: Pems) -> None:
    unknown = host("a", "shop.example", tlsContext={"name": "gone"})
    gate = await MemoryGateway().apply(pems.secret(), https(), unknown, tls_host("b", "shop.example"))
    assert by_tls(gate) == []


async def test_a_host_that_asks_for_none_leaves_its_hostname_to_others(pems: Pems) -> None:
    gate = await MemoryGateway().apply(pems.secret(), https(), tls_host("a", "*", "missing"), tls_host("b", "*"))
    assert by_tls(gate) == ["gate/https|tls:*"]


async def test_a_host_that_asks_for_certificates_counts_before_others(pems: Pems) -> None:
    asking = tls_host("z", "*", tls={"ca_secret": "ca"})
    gate = await MemoryGateway().apply(pems.secret(), authority(pems), https(), asking, tls_host("a", "*"))
    assert ("host", "gate:a", "DuplicateHostname") in gate.problems()


def tcp(pems: Pems, *resources: dict[str, Any]) -> list[dict[str, Any]]:
    orders = manifest("TCPMapping", "orders", {"port": 6789, "host": "db.example", "service": "db:5432"})
    return [pems.secret(), orders, *resources]


async def test_connections_are_closed_too_when_the_authority_goes(pems: Pems) -> None:
    guarded, other = tls_host("a", "db.example", tls=ASKING), tls_host("b", "db.example")
    gate = await MemoryGateway().apply(*tcp(pems, authority(pems), guarded, other))
    assert len(gate.chains("tcp-6789")) == 1
    await gate.service.delete(authority(pems))
    assert gate.elements("envoy_listener") == {}
    assert ("tcp_mapping", "gate:orders", "InvalidTLS") in gate.problems()


async def test_a_context_that_asks_for_certificates_counts_before_others(pems: Pems) -> None:
    lists = {"hosts": ["db.example"], "secret": "cert"}
    guarded, other = manifest("TLSContext", "z", {**lists, **ASKING}), manifest("TLSContext", "a", lists)
    gate = await MemoryGateway().apply(*tcp(pems, authority(pems), guarded, other))
    (chain,) = gate.chains("tcp-6789")
    assert chain["transport_socket"]["typed_config"]["require_client_certificate"] is True
    await gate.service.delete(authority(pems))
    assert gate.elements("envoy_listener") == {}


# Listeners of one port

SELF = {"namespace": {"from": "SELF"}}


@pytest.mark.parametrize(
    "useless",
    [
        pytest.param({"protocolStack": ["HTTP", "UDP"]}, id="can't listen"),
        pytest.param({"hostBinding": SELF}, id="serves nobody"),
        pytest.param({"protocol": "TCP"}, id="no TCPMapping"),
    ],
)
async def test_a_listener_that_listens_to_nobody_takes_no_port(useless: dict[str, Any]) -> None:
    first = in_namespace(listener("a", **useless), "a")
    gate = await MemoryGateway().apply(first, listener("good"), host("all", "*"))
    assert list(gate.elements("envoy_listener")) == ["gate/good"]
    assert "a:a" in {name for _, name, _ in gate.problems()}


async def test_it_takes_the_port_once_it_has_somebody_to_serve() -> None:
    first = in_namespace(listener("a", hostBinding=SELF), "a")
    gate = await MemoryGateway().apply(first, listener("good"), host("all", "*"))
    await gate.apply(host("own", "own.example", namespace="a"))
    assert list(gate.elements("envoy_listener")) == ["a/a"]
    assert ("listener", "gate:good", "PortTaken") in gate.problems()
    await gate.service.delete(host("own", "own.example", namespace="a"))
    assert list(gate.elements("envoy_listener")) == ["gate/good"]


async def test_a_listener_whose_hosts_are_closed_keeps_its_port() -> None:
    """Else they would be open on another one, in clear text perhaps."""
    secure = in_namespace(listener("a", protocol="HTTPS", securityModel="SECURE"), "a")
    gate = await MemoryGateway().apply(
        secure, listener("good", securityModel="INSECURE"), tls_host("shop", "*", "missing")
    )
    assert gate.elements("envoy_listener") == {}
    assert ("listener", "gate:good", "PortTaken") in gate.problems()


async def test_a_host_that_only_the_listener_without_its_port_takes_is_reported() -> None:
    second = in_namespace(listener("b", hostBinding=SELF), "h")
    gate = await MemoryGateway().apply(
        listener("good", hostBinding=SELF), second, host("all", "*"), host("own", "own", "h")
    )
    assert gate.problems() == [
        ("host", "h:own", "NoListener"),
        ("listener", "gate:good", "PortShared"),
        ("listener", "h:b", "PortTaken"),
    ]


# Settings of the gateway: that of its own namespace, else the first by name


async def test_the_module_of_the_gateways_namespace_counts() -> None:
    empty, own = module(namespace="a"), module(namespace="default", ip_deny=[{"peer": "10.0.0.0/8"}])
    gate = await gateway(empty, own)
    assert guards(gate) == ["rbac", "cors"]
    assert gate.problems() == [("module", "a:ambassador", "SecondModule")]


async def test_the_rate_limit_service_of_the_gateways_namespace_counts() -> None:
    gate = await gateway(in_namespace(rate_limit("a"), "a"), in_namespace(rate_limit("z", domain="own"), "default"))
    assert filters(gate)["envoy.filters.http.ratelimit"]["domain"] == "own"
    assert gate.problems() == [("rate_limit_service", "a:a", "SecondRateLimitService")]


async def test_the_auth_service_of_the_gateways_namespace_counts() -> None:
    lax = in_namespace(auth("a", proto="http", failure_mode_allow=True), "a")
    gate = await gateway(lax, in_namespace(auth("z", proto="http"), "default"))
    assert not filters(gate)["envoy.filters.http.ext_authz"].get("failure_mode_allow")
    assert gate.problems() == [("auth_service", "a:a", "DifferentAuthService")]


async def test_auth_services_that_contradict_each_other_elsewhere_let_nobody_in() -> None:
    lax = in_namespace(auth("a", proto="http", failure_mode_allow=True), "a")
    gate = await gateway(lax, in_namespace(auth("z", proto="http"), "z"))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert gate.problems() == [
        ("auth_service", "a:a", "DifferentAuthService"),
        ("auth_service", "z:z", "DifferentAuthService"),
    ]
    await gate.service.delete(lax)
    assert "ext_authz" in guards(gate)
    assert gate.problems() == []


async def test_nobody_elsewhere_replaces_an_unusable_auth_service() -> None:
    lax, broken = auth("a", proto="http", failure_mode_allow=True), auth("z", proto="http", path_prefix="check")
    gate = await gateway(in_namespace(lax, "a"), in_namespace(broken, "z"))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert gate.problems() == [("auth_service", "a:a", "DifferentAuthService"), ("auth_service", "z:z", "InvalidPath")]


async def test_an_auth_service_without_its_tls_context_lets_nobody_in() -> None:
    gate = await gateway(auth(proto="http", failure_mode_allow=True, tls="gone"))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert gate.problems() == [("auth_service", "gate:auth", "NoTLSContext")]
    await gate.apply(manifest("TLSContext", "gone", {"sni": "auth.example"}))
    assert "ext_authz" in guards(gate)
    await gate.service.delete(manifest("TLSContext", "gone", {"sni": "auth.example"}))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert gate.service.offline.engine.evaluator.missing_reactions == {}


async def test_nor_does_one_whose_resolver_is_not_supported() -> None:
    consul = manifest("ConsulResolver", "far", {"address": "x", "datacenter": "d"})
    gate = await gateway(module(resolver="far"), consul, auth(proto="http", failure_mode_allow=True))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    await gate.service.delete(consul)
    await gate.apply(manifest("KubernetesServiceResolver", "far", {}))
    assert guards(gate) == ["cors", "ext_authz"]
    assert gate.service.offline.engine.evaluator.missing_reactions == {}


# Names


async def test_nobody_elsewhere_replaces_a_resolver_that_is_always_there() -> None:
    other = resolver("ConsulResolver", "endpoint", "zz", address="x", datacenter="d")
    found = await cluster_of(service(), endpoints(subset("10.0.0.1")), other, resolver="endpoint")
    assert found.only["type"] == "EDS"


async def test_the_gateways_namespace_may_replace_it() -> None:
    own = resolver("KubernetesServiceResolver", "endpoint", "default")
    found = await cluster_of(service(), endpoints(subset("10.0.0.1")), own, resolver="endpoint")
    assert found.only.get("type") != "EDS"


def upstream_context(namespace: str, sni: str) -> dict[str, Any]:
    return manifest("TLSContext", "up", {"sni": sni}, namespace)


async def test_the_context_of_the_gateways_namespace_precedes_those_elsewhere() -> None:
    contexts = [upstream_context("infra", "a.example"), upstream_context("default", "b.example")]
    gate = await MemoryGateway().apply(*contexts, mapping("m", hostname="*", tls="up"), host("all", "*"), listener())
    (cluster,) = gate.elements("envoy_cluster").values()
    assert cluster["config"]["transport_socket"]["typed_config"]["sni"] == "b.example"


async def test_which_of_several_contexts_elsewhere_is_meant_is_asked_and_not_guessed() -> None:
    contexts = [upstream_context("infra", "a.example"), upstream_context("zz", "b.example")]
    gate = await MemoryGateway().apply(*contexts, mapping("m", hostname="*", tls="up"), host("all", "*"), listener())
    (problem,) = gate.service.problems
    assert (problem.name, problem.reason) == ("gate:m", "AmbiguousTLSContext")
    assert "infra:up, zz:up" in problem.message
    (cluster,) = gate.elements("envoy_cluster").values()
    assert "transport_socket" not in cluster["config"]
    assert cluster["config"]["load_assignment"]["endpoints"] == []
