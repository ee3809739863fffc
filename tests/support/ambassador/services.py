"""What all Listeners share: the resources (Module, AuthService …), and the connection manager that follows from them.

Every connection manager is read as Envoy reads it (``ParseDict`` rejects what its message does not know), whatever the
test asks of it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

import envoy.extensions
from envoy.extensions.filters.network.http_connection_manager.v3.http_connection_manager_pb2 import (
    HttpConnectionManager,
)
from google.protobuf.json_format import ParseDict

from tests.support.ambassador.hosts import MemoryGateway, listener, manifest

_FOLDERS = ("filters.http", "access_loggers", "compression.gzip")


def module(name: str = "ambassador", namespace: str = "gate", **config: Any) -> dict[str, Any]:
    return manifest("Module", name, {"config": config}, namespace)


def auth(name: str = "auth", **spec: Any) -> dict[str, Any]:
    return manifest("AuthService", name, {"auth_service": "auth:3000", **spec})


def rate_limit(name: str = "limits", **spec: Any) -> dict[str, Any]:
    return manifest("RateLimitService", name, {"service": "limits:8081", "protocol_version": "v3", **spec})


def tracing(name: str = "traces", **spec: Any) -> dict[str, Any]:
    return manifest("TracingService", name, {"service": "zipkin:9411", "driver": "zipkin", **spec})


def log(name: str = "log", **spec: Any) -> dict[str, Any]:
    return manifest("LogService", name, {"service": "log:4000", "driver": "http", "protocol_version": "v3", **spec})


async def gateway(*resources: dict[str, Any]) -> MemoryGateway:
    """A Listener ``gate/http`` together with ``resources``."""
    return await MemoryGateway().apply(listener(), *resources)


def manager(gate: MemoryGateway) -> dict[str, Any]:
    """The connection manager of the one chain of the Listener."""
    (chain,) = gate.chains("gate/http")
    return checked(chain["filters"][0]["typed_config"])


def checked(config: dict[str, Any]) -> dict[str, Any]:
    _load()
    ParseDict({name: value for name, value in config.items() if name != "@type"}, HttpConnectionManager())
    return config


def filters(gate: MemoryGateway) -> dict[str, dict[str, Any]]:
    """Name → configuration of the HTTP filters, in order."""
    return {one["name"]: one["typed_config"] for one in manager(gate)["http_filters"]}


def guards(gate: MemoryGateway) -> list[str]:
    """The names of the filters between those that are always there: probes before, the router after."""
    names = [name.removeprefix("envoy.filters.http.") for name in filters(gate)]
    assert names[:2] == ["liveness_probe", "readiness_probe"]
    assert names[-1] == "router"
    return names[2:-1]


def script(config: dict[str, Any]) -> str:
    text: str = config["default_source_code"]["inline_string"]
    return text


def clusters(gate: MemoryGateway) -> list[str]:
    """The names of the clusters, without their hashes."""
    return [name.rpartition("-")[0] for name in gate.elements("envoy_cluster")]


@functools.cache
def _load() -> None:
    """json_format finds the extensions in ``Any`` by their names, once they are imported."""
    importlib.import_module("xds.type.v3.typed_struct_pb2")
    for trace in ("zipkin", "datadog", "opentelemetry"):
        importlib.import_module(f"envoy.config.trace.v3.{trace}_pb2")
    for folder in _FOLDERS:
        package = importlib.import_module(f"{envoy.extensions.__name__}.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if found.name.endswith("_pb2"):
                importlib.import_module(found.name)


EVERY_FILTER: dict[str, Any] = {
    "enable_grpc_http11_bridge": True,
    "enable_grpc_web": True,
    "grpc_stats": {"services": [{"name": "a.B", "method_names": ["c"]}]},
    "lua_scripts": "function envoy_on_request(handle) end",
    "gzip": {"compression_level": "SPEED", "content_type": ["text/html"], "min_content_length": 64},
    "buffer": {"max_request_bytes": 1000},
    "ip_allow": [{"peer": "127.0.0.1"}],
}


RATE_LIMIT = manifest("RateLimitService", "limits", {"service": "limits:9000", "protocol_version": "v3"}, "ambassador")
