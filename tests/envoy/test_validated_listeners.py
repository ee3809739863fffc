"""Envoy itself takes the listeners, virtual hosts and secrets that Hosts and Listeners become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.compilers.ambassador.tls_context import CIPHER_SUITES, CURVES
from tests.envoy.validating import complaints
from tests.support.ambassador.hosts import MemoryGateway, host, listener, manifest, secret, tls_host
from tests.support.ambassador.pems import Pems

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

XDS: dict[str, Any] = {
    "name": "xds",
    "load_assignment": {
        "cluster_name": "xds",
        "endpoints": [
            {"lb_endpoints": [{"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 1}}}}]}
        ],
    },
    "typed_extension_protocol_options": {
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
    },
}
ADS = {
    "api_type": "GRPC",
    "transport_api_version": "V3",
    "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}}],
}


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return Pems(tmp_path_factory.mktemp("pems"))


def rejected(gate: MemoryGateway, folder: Path) -> str:
    """What Envoy has against all that was made. Routes come by ADS in the listeners, and once more inline; secrets are
    static, so that Envoy opens them."""
    listeners = [static(element["config"]) for element in gate.elements("envoy_listener").values()]
    assert listeners
    tables: dict[str, list[dict[str, Any]]] = {}
    for name, element in gate.elements("envoy_virtual_host").items():
        host = {"name": name, "domains": [element["domain"]], "routes": element.get("head") or []}
        tables.setdefault(element["route_configuration"], []).append(host)
    inline = [inline_listener(number, hosts) for number, hosts in enumerate(tables.values())]
    secrets = [element["config"] for element in gate.elements("envoy_secret").values()]
    return complaints(
        {
            "node": {"id": "test", "cluster": "test"},
            "dynamic_resources": {"ads_config": ADS},
            "static_resources": {"listeners": [*listeners, *inline], "clusters": [XDS], "secrets": secrets},
        },
        folder,
    )


def static(config: Any) -> Any:
    """The same with secrets by their names alone: those of the bootstrap."""
    if isinstance(config, list):
        return [static(one) for one in config]
    if isinstance(config, dict):
        return {key: static(value) for key, value in config.items() if key != "sds_config"}
    return config


def inline_listener(number: int, virtual_hosts: list[dict[str, Any]]) -> dict[str, Any]:
    types = "type.googleapis.com/envoy.extensions.filters"
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{types}.http.router.v3.Router"}}
    manager = {
        "@type": f"{types}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "inline",
        "http_filters": [router],
        "route_config": {"name": "inline", "virtual_hosts": virtual_hosts},
    }
    return {
        "name": f"inline-{number}",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 10000 + number}},
        "filter_chains": [{"filters": [{"name": "manager", "typed_config": manager}]}],
    }


@pytest.mark.parametrize("model", ["XFP", "SECURE", "INSECURE"])
@pytest.mark.parametrize("protocol", ["HTTP", "HTTPS", "HTTPPROXY", "HTTPSPROXY"])
async def test_listeners_of_each_protocol(protocol: str, model: str, pems: Pems, tmp_path: Path) -> None:
    gate = await MemoryGateway().apply(
        *pems.secrets(),
        listener(protocol=protocol, securityModel=model, l7Depth=1, http2MaxConcurrentStreams=10),
        tls_host("a", "a.example"),
        tls_host("b", "*.b.example", requestPolicy={"insecure": {"action": "Reject"}}),
        tls_host("all", "*", tls={"min_tls_version": "v1.2", "alpn_protocols": "h2,http/1.1"}),
        host("plain", "plain.*"),
    )
    assert rejected(gate, tmp_path) == ""


async def test_client_certificates_and_revoked_ones(pems: Pems, tmp_path: Path) -> None:
    guarded = {"cert_required": True, "ca_secret": "ca", "crl_secret": "crl"}
    gate = await MemoryGateway().apply(
        *pems.secrets(),
        secret("crl", crl_pem=pems.revoked),
        listener(protocol="HTTPS"),
        tls_host("a", "*", tls=guarded),
    )
    assert gate.problems() == []
    assert rejected(gate, tmp_path) == ""


async def test_every_version_suite_and_curve_that_is_let_in(pems: Pems, tmp_path: Path) -> None:
    context = manifest(
        "TLSContext",
        "all",
        {
            "secret": "cert",
            "min_tls_version": "v1.0",
            "max_tls_version": "v1.3",
            "cipher_suites": [*sorted(CIPHER_SUITES), "[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]"],
            "ecdh_curves": sorted(CURVES),
        },
    )
    gate = await MemoryGateway().apply(
        *pems.secrets(), context, listener(protocol="HTTPS"), host("a", "*", tlsContext={"name": "all"})
    )
    assert gate.problems() == []
    assert rejected(gate, tmp_path) == ""
