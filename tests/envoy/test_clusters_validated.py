"""What compiles to clusters is taken by a real Envoy, without a warning (``envoy --mode validate``)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from envoy.config.bootstrap.v3.bootstrap_pb2 import Bootstrap
from envoy.config.cluster.v3.cluster_pb2 import Cluster
from google.protobuf import json_format

from intentc.bridges.xds.encoding import parsed
from intentc.dev.envoy_server import find_binary
from tests.envoy.validating import complaints
from tests.support.ambassador.clusters import clusters, endpoints, resolver, service, subset
from tests.support.ambassador.hosts import manifest
from tests.support.ambassador.mappings import mapping, module
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

HTTP = {"health_check": {"http": {"path": "/healthz", "expected_statuses": [{"min": 200, "max": 299}]}}}
HEADERS = {"health_check": {"http": {"path": "/", "add_request_headers": {"x-a": {"value": "1", "append": False}}}}}
GRPC = {"health_check": {"grpc": {"upstream_name": "echo", "authority": "a"}}, "timeout": "250ms"}
PODS = (service(), endpoints(subset("10.0.0.1", "10.0.0.2")), resolver("KubernetesEndpointResolver", "mine"))
ADS = {
    "name": "xds",
    "connect_timeout": "1s",
    "type": "STATIC",
    "typed_extension_protocol_options": {
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
    },
    "load_assignment": {"cluster_name": "xds", "endpoints": []},
}

CASES: dict[str, dict[str, Any]] = {
    "by its name": {},
    "by an address": {"service": "[2001:db8::1]:8080"},
    "by logical DNS": {"dns_type": "logical_dns", "respect_dns_ttl": True, "enable_ipv6": True},
    "by endpoints": {"resolver": "mine"},
    "forbidden": {"service": "127.0.0.1"},
    "with TLS": {"service": "https://echo"},
    "with TLS of a context": {"service": "echo", "tls": "upstream", "grpc": True},
    "with a context that is missing": {"tls": "missing"},
    "with limits": {
        "circuit_breakers": [{"max_connections": 0}, {"priority": "high", "max_requests": 1, "max_retries": 1}],
        "connect_timeout_ms": 1,
        "cluster_idle_timeout_ms": 1000,
        "cluster_max_connection_lifetime_ms": 1000,
        "keepalive": {"idle_time": 30, "interval": 5, "probes": 3},
        "stats_name": "echo:stats",
    },
    "with the longest times": {"connect_timeout_ms": 2**31 - 1, "cluster_idle_timeout_ms": 2**31 - 1},
    "with several health checks": {"resolver": "endpoint", "health_checks": [HTTP, HTTP, HEADERS]},
    "with health checks over gRPC": {"resolver": "endpoint", "grpc": True, "health_checks": [GRPC, GRPC]},
    "with health checks over gRPC without gRPC": {"resolver": "endpoint", "health_checks": [GRPC]},
    "least request": {"resolver": "endpoint", "load_balancer": {"policy": "least_request"}},
    "ring hash": {"resolver": "endpoint", "load_balancer": {"policy": "ring_hash", "header": "x-user"}},
    "maglev": {"resolver": "endpoint", "load_balancer": {"policy": "maglev", "source_ip": True}},
}


async def test_envoy_takes_every_cluster_without_a_warning(tmp_path: Path) -> None:
    context = manifest("TLSContext", "upstream", {"sni": "echo.example", "min_tls_version": "v1.2"}, "shop")
    mappings = (mapping(f"m{number}", **spec) for number, spec in enumerate(CASES.values()))
    found = await clusters(*PODS, context, module(proper_case=True), *mappings)
    configs = list(found.configs.values())
    assert len(configs) == len(CASES)
    assert complaints(_bootstrap(configs), tmp_path) == ""


async def test_envoy_takes_endpoints_without_a_warning(tmp_path: Path) -> None:
    found = await clusters(*PODS, mapping("m", resolver="mine"))
    (assignment,) = (element["config"] for element in found.gate.elements("envoy_endpoints").values())
    config = {key: value for key, value in found.only.items() if key != "eds_cluster_config"}
    static = {**config, "type": "STATIC", "load_assignment": assignment}
    assert complaints(_bootstrap([static]), tmp_path) == ""


def _bootstrap(configs: list[dict[str, Any]]) -> dict[str, Any]:
    source = {"api_type": "GRPC", "transport_api_version": "V3"}
    return {
        "node": {"id": "test", "cluster": "test"},
        "static_resources": {"clusters": [ADS, *configs]},
        "dynamic_resources": {"ads_config": {**source, "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}}]}},
    }


async def test_envoy_takes_the_names_of_health_checks_as_they_are_sent(tmp_path: Path) -> None:
    """Defect 11: the packages of messages don't know these names, so that JSON alone proves nothing."""
    found = await clusters(*PODS, mapping("m", resolver="mine", health_checks=[HTTP, HTTP]))
    sent = json_format.ParseDict(_bootstrap([]), Bootstrap())
    sent.static_resources.clusters.add().MergeFromString(parsed(found.only, Cluster()).SerializeToString())
    path = tmp_path / "bootstrap.pb"
    path.write_bytes(sent.SerializeToString())
    assert _rejection(path) == ""


def _rejection(path: Path) -> str:
    """What Envoy says against the configuration in a file of JSON or protobuf; empty if it takes it."""
    command = [str(find_binary()), "--mode", "validate", "--config-path", str(path), "--disable-hot-restart"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    return done.stderr if done.returncode else ""
