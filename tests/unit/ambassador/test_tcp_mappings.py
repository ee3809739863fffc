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


async def test_a_listener_that_cant_listen_is_not_replaced() -> None:
    found = await gate(tcp_mapping("orders"), listener("tcp", 6789, protocolStack=["UDP"]))
    assert found.elements("envoy_listener") == {}
    assert ("tcp_mapping", f"{NAMESPACE}:orders", "NoListener") in found.problems()


@pytest.mark.parametrize(("own", "address"), [("127.0.0.1", "127.0.0.1"), ("0:0:0:0:0:0:0:0", "::"), ("::", "0::0")])
async def test_the_gateways_own_address_is_no_other(own: str, address: str) -> None:
    found = await gate(tcp_mapping("orders", address=address), settings={"ambassador.bind_address": own})
    assert list(found.elements("envoy_listener")) == ["tcp-6789"]


async def test_a_weight_too_much_is_reported_on_the_one_that_has_it() -> None:
    found = await gate(tcp_mapping("a", weight=80), tcp_mapping("b", weight=30), tcp_mapping("c"))
    assert weights(*chains(found)) == {"cluster_a_5432": 80, "cluster_c_5432": 20}
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:b", "WeightOver100")]


async def test_a_mapping_without_connections_is_reported() -> None:
    found = await gate(tcp_mapping("a", weight=100), tcp_mapping("b"))
    assert proxy(*chains(found))["cluster"].startswith("cluster_a_")
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:b", "NoConnections")]


@pytest.mark.parametrize("written", ["soon", "9" * 5000])
async def test_an_idle_timeout_that_is_none_is_left_out_and_reported(written: str) -> None:
    found = await gate(tcp_mapping("orders", idle_timeout_ms=written))
    assert "idle_timeout" not in proxy(*chains(found))
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:orders", "InvalidIdleTimeout")]


async def test_the_first_of_different_idle_timeouts_counts() -> None:
    found = await gate(tcp_mapping("a", idle_timeout_ms="1000"), tcp_mapping("b", idle_timeout_ms="2000"))
    assert proxy(*chains(found))["idle_timeout"] == "1.000s"
    assert found.problems() == [("tcp_mapping", f"{NAMESPACE}:b", "DiffersFromGroup")]


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


async def test_a_tcp_mapping_counts_before_a_host_of_its_name(
    certified: dict[str, Any],
) -> None:
    secure = listener("https", 8443, protocol="HTTPS", securityModel="SECURE")
    found = await gate(tcp_mapping("orders", 8443, host="db.example"), DATABASE, certified, secure)
    (chain,) = chains(found, f"{NAMESPACE}/https")
    assert chain["filters"][0]["name"] == "envoy.filters.network.tcp_proxy"
    assert ("host", f"{NAMESPACE}:database", "TakenByTCPMapping") in found.problems()
