"""TCPMappings and their connections: ports, names in the TLS handshake, weights, timeouts."""

from __future__ import annotations

from typing import Any

import envoy.extensions.filters.listener.tls_inspector.v3.tls_inspector_pb2
import envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2
import envoy.extensions.filters.network.tcp_proxy.v3.tcp_proxy_pb2
import envoy.extensions.transport_sockets.tls.v3.tls_pb2  # noqa: F401 - json_format finds them by their names
import pytest
from envoy.config.listener.v3.listener_pb2 import Listener
from google.protobuf.json_format import ParseDict

from tests.support.ambassador.hosts import NAMESPACE, MemoryGateway, host, listener, manifest, secret
from tests.support.certificates import Authority

pytestmark = pytest.mark.anyio

DATABASE = host("database", "db.example", tlsSecret={"name": "certificate"})


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The Secret ``certificate``."""
    issued = Authority(tmp_path_factory.mktemp("tcp") / "authority").issue("db.example")
    return secret("certificate", tls_crt=issued.certificate.read_bytes(), tls_key=issued.key.read_bytes())


def tcp_mapping(name: str, port: int = 6789, **spec: Any) -> dict[str, Any]:
    return manifest("TCPMapping", name, {"port": port, "service": f"{name}:5432", **spec})


async def gate(*resources: dict[str, Any], settings: dict[str, Any] | None = None) -> MemoryGateway:
    return await MemoryGateway(settings).apply(*resources)


def chains(found: MemoryGateway, name: str = "tcp-6789") -> list[dict[str, Any]]:
    ParseDict(found.elements("envoy_listener")[name]["config"], Listener())
    return found.chains(name)


def proxy(chain: dict[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = chain["filters"][0]["typed_config"]
    return config


def weights(chain: dict[str, Any]) -> dict[str, int]:
    """The start of each cluster's name → its part of the connections."""
    clusters = proxy(chain)["weighted_clusters"]["clusters"]
    return {cluster["name"].rpartition("-")[0]: cluster["weight"] for cluster in clusters}


async def test_a_port_without_a_listener_gets_one_of_its_own() -> None:
    found = await gate(tcp_mapping("orders"))
    (chain,) = chains(found)
    assert "filter_chain_match" not in chain
    assert proxy(chain)["cluster"] in found.elements("envoy_cluster")
    config = found.elements("envoy_listener")["tcp-6789"]["config"]
    assert config["address"]["socket_address"] == {"address": "0.0.0.0", "port_value": 6789}
    assert found.problems() == []


async def test_its_origin_is_the_tcp_mapping() -> None:
    found = await gate(tcp_mapping("orders"))
    (origin,) = found.elements("envoy_listener")["tcp-6789"]["origins"]
    assert (origin["kind"], origin["name"]) == ("tcp_mapping", f"{NAMESPACE}:orders")


async def test_a_listener_of_the_port_serves_it() -> None:
    found = await gate(tcp_mapping("orders"), listener("tcp", 6789, protocol="TCP"))
    assert list(found.elements("envoy_listener")) == [f"{NAMESPACE}/tcp"]
    assert proxy(*chains(found, f"{NAMESPACE}/tcp"))["stat_prefix"] == "ingress_tcp_6789"
    assert found.problems() == []


async def test_a_listener_that_cant_listen_is_not_replaced() -> None:
    found = await gate(tcp_mapping("orders"), listener("tcp", 6789, protocolStack=["UDP"]))
    assert found.elements("envoy_listener") == {}
    assert ("tcp_mapping", f"{NAMESPACE}:orders", "NoListener") in found.problems()


async def test_an_address_of_its_own_has_a_listener_of_its_own() -> None:
    found = await gate(tcp_mapping("orders", address="127.0.0.2"), listener("tcp", 6789, protocol="TCP"))
    config = found.elements("envoy_listener")["tcp-127.0.0.2-6789"]["config"]
    assert config["address"]["socket_address"]["address"] == "127.0.0.2"


@pytest.mark.parametrize(("own", "address"), [("127.0.0.1", "127.0.0.1"), ("0:0:0:0:0:0:0:0", "::"), ("::", "0::0")])
async def test_the_gateways_own_address_is_no_other(own: str, address: str) -> None:
    found = await gate(tcp_mapping("orders", address=address), settings={"ambassador.bind_address": own})
    assert list(found.elements("envoy_listener")) == ["tcp-6789"]


@pytest.mark.parametrize(
    ("given", "parts"),
    [((80, 20), {"a": 80, "b": 20}), ((20, 30), {"a": 20, "b": 30}), ((10, None), {"a": 10, "b": 90})],
)
async def test_weights_are_parts_and_no_running_totals(given: tuple[int | None, ...], parts: dict[str, int]) -> None:
    """Defect 4; and where they sum to less than 100 their sum is the whole."""
    members = zip("ab", given, strict=True)
    found = await gate(*(tcp_mapping(name, **({"weight": w} if w is not None else {})) for name, w in members))
    assert weights(*chains(found)) == {f"cluster_{name}_5432": part for name, part in parts.items()}
    assert found.problems() == []


async def test_the_same_service_named_twice_gets_both_parts() -> None:
    members = (("a", "x", 20), ("b", "y", 30), ("c", "x", 50))
    found = await gate(*(tcp_mapping(name, service=service, weight=weight) for name, service, weight in members))
    assert weights(*chains(found)) == {"cluster_x_80": 70, "cluster_y_80": 30}


async def test_a_weight_too_much_is_reported_on_the_one_that_has_it() -> None:
    found = await gate(tcp_mapping("a", weight=80), tcp_mapping("b", weight=30), tcp_mapping("c"))
    assert weights(*chains(found)) == {"cluster_a_5432": 80, "cluster_c_5432": 20}
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:b", "WeightOver100")]


async def test_who_gets_no_connections_is_reported() -> None:
    found = await gate(tcp_mapping("a", weight=100), tcp_mapping("b"))
    assert proxy(*chains(found))["cluster"].startswith("cluster_a_")
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:b", "NoConnections")]


async def test_names_with_dots_and_equal_names_in_two_namespaces_are_members_of_their_own() -> None:
    again = manifest("TCPMapping", "app.v1", {"port": 6789, "service": "other"}, "shop")
    found = await gate(tcp_mapping("app.v1", service="v1"), tcp_mapping("app.v2", service="v2"), again)
    assert weights(*chains(found)) == {"cluster_v1_80": 100, "cluster_v2_80": 100, "cluster_other_80": 100}


@pytest.mark.parametrize("written", ["30000", 30000])
async def test_the_idle_timeout_is_a_text_or_a_number(written: str | int) -> None:
    """Defect 10."""
    found = await gate(tcp_mapping("orders", idle_timeout_ms=written))
    assert proxy(*chains(found))["idle_timeout"] == "30.000s"


async def test_an_idle_timeout_of_zero_is_none_and_without_one_envoys_own_counts() -> None:
    assert proxy(*chains(await gate(tcp_mapping("orders", idle_timeout_ms="0"))))["idle_timeout"] == "0.000s"
    assert "idle_timeout" not in proxy(*chains(await gate(tcp_mapping("orders"))))


@pytest.mark.parametrize("written", ["soon", "9" * 5000])
async def test_an_idle_timeout_that_is_none_is_left_out_and_reported(written: str) -> None:
    found = await gate(tcp_mapping("orders", idle_timeout_ms=written))
    assert "idle_timeout" not in proxy(*chains(found))
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:orders", "InvalidIdleTimeout")]


async def test_of_different_idle_timeouts_the_first_counts() -> None:
    found = await gate(tcp_mapping("a", idle_timeout_ms="1000"), tcp_mapping("b", idle_timeout_ms="2000"))
    assert proxy(*chains(found))["idle_timeout"] == "1.000s"
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:b", "DiffersFromGroup")]


async def test_circuit_breakers_are_the_clusters() -> None:
    found = await gate(tcp_mapping("orders", circuit_breakers=[{"max_connections": 7}]))
    (cluster,) = found.elements("envoy_cluster").values()
    assert cluster["config"]["circuit_breakers"]["thresholds"][0]["max_connections"] == 7


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"host": "not a name"}, "InvalidHostname"),
        ({"address": "localhost"}, "InvalidAddress"),
        ({"service": "http://"}, "InvalidService"),
        ({"tls": 7}, "InvalidTLS"),
    ],
)
async def test_what_cant_be_understood_takes_no_part_and_is_reported(spec: dict[str, Any], reason: str) -> None:
    found = await gate(tcp_mapping("orders", **spec), tcp_mapping("other", 7000))
    assert list(found.elements("envoy_listener")) == ["tcp-7000"]
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:orders", reason)]


async def test_one_of_another_gateway_has_no_effect() -> None:
    found = await gate(tcp_mapping("orders", ambassador_id=["other"]))
    assert found.elements("envoy_listener") == {}
    assert found.problems() == []


# Names asked for by TLS


async def test_tls_for_its_host_comes_from_the_host_that_covers_it(certified: dict[str, Any]) -> None:
    found = await gate(tcp_mapping("orders", host="db.example"), DATABASE, certified)
    (chain,) = chains(found)
    assert chain["filter_chain_match"] == {"transport_protocol": "tls", "server_names": ["db.example"]}
    assert f"{NAMESPACE}:certificate|tls" in found.elements("envoy_secret")
    assert proxy(chain)["stat_prefix"] == "ingress_tls_6789"


async def test_a_wildcard_host_lends_its_certificate(certified: dict[str, Any]) -> None:
    wildcard = host("all", "*.example", tlsSecret={"name": "certificate"})
    found = await gate(tcp_mapping("orders", host="db.example"), wildcard, certified)
    assert chains(found)[0]["filter_chain_match"]["server_names"] == ["db.example"]


async def test_without_a_host_the_tls_context_that_lists_it_counts(certified: dict[str, Any]) -> None:
    context = manifest("TLSContext", "database", {"hosts": ["db.example"], "secret": "certificate"})
    found = await gate(tcp_mapping("orders", host="db.example"), context, certified)
    assert "transport_socket" in chains(found)[0]


async def test_without_a_certificate_nobody_is_let_in() -> None:
    found = await gate(tcp_mapping("orders", host="db.example"))
    assert found.elements("envoy_listener") == {}
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:orders", "NoTLSContext")]


async def test_a_host_whose_certificate_is_missing_is_not_passed_over(certified: dict[str, Any]) -> None:
    """A TLSContext or a worse Host would admit clients that the better one keeps out."""
    context = manifest("TLSContext", "database", {"hosts": ["db.example"], "secret": "certificate"})
    missing = host("database", "db.example", tlsSecret={"name": "missing"})
    found = await gate(tcp_mapping("orders", host="db.example"), missing, context, certified)
    assert found.elements("envoy_listener") == {}
    assert ("tcp_mapping", f"{NAMESPACE}:orders", "InvalidTLS") in found.problems()


async def test_it_is_served_as_soon_as_its_certificate_comes(certified: dict[str, Any]) -> None:
    found = await gate(tcp_mapping("orders", host="db.example"), DATABASE)
    assert found.elements("envoy_listener") == {}
    await found.apply(certified)
    assert len(chains(found)) == 1


async def test_groups_of_one_port_are_chains_of_one_listener(certified: dict[str, Any]) -> None:
    found = await gate(tcp_mapping("plain"), tcp_mapping("orders", host="db.example"), DATABASE, certified)
    assert [chain["name"] for chain in chains(found)] == ["tcphost-6789||", "tcphost-6789||db.example"]


async def test_on_a_port_of_a_host_the_tcp_mapping_of_the_same_name_counts_and_the_host_is_reported(
    certified: dict[str, Any],
) -> None:
    secure = listener("https", 8443, protocol="HTTPS", securityModel="SECURE")
    found = await gate(tcp_mapping("orders", 8443, host="db.example"), DATABASE, certified, secure)
    (chain,) = chains(found, f"{NAMESPACE}/https")
    assert chain["filters"][0]["name"] == "envoy.filters.network.tcp_proxy"
    assert ("host", f"{NAMESPACE}:database", "TakenByTCPMapping") in found.problems()
