"""Builds bootstraps of Envoy as JSON: one that uses an xDS server, and a static one that needs none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec
from envoy.config.route.v3 import route_pb2
from google.protobuf import any_pb2, json_format

from .elements import Element, Type
from .encoding import Unencodable, Version, encode
from .route_configurations import Assembly
from .snapshot_cache import SnapshotCache

XDS_CLUSTER = "intentc_xds"
_HTTP2 = {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {
            "http2_protocol_options": {"connection_keepalive": {"interval": "30s", "timeout": "10s"}}
        },
    }
}

_RUNTIME = {
    "layers": [
        {
            "name": "intentc",
            # A compiler's settings limit the size of regular expressions. Envoy's own limit is 100, and one larger
            # expression makes it reject the whole route configuration.
            "static_layer": {"re2.max_program_size.error_level": 2**31 - 1},
        }
    ]
}


class Address(NamedTuple):
    """A host and port to listen at or to connect to."""

    host: str
    port: int


def bootstrap(
    xds: Address,
    *,
    node: str = "intentc",
    incremental: bool = True,
) -> dict[str, Any]:
    """The bootstrap of an Envoy that asks the server at ``xds`` for everything, as ``node``.

    ``incremental``: responses hold only changes.
    """
    source = {"ads": {}, "resource_api_version": "V3"}
    services = [{"envoy_grpc": {"cluster_name": XDS_CLUSTER}}]
    return {
        "node": {"id": node, "cluster": "intentc"},
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC" if incremental else "GRPC",
                "transport_api_version": "V3",
                "grpc_services": services,
            },
            "cds_config": source,
            "lds_config": source,
        },
        "static_resources": {"clusters": [_xds_cluster(xds)]},
        "layered_runtime": _RUNTIME,
    }


def static_bootstrap(
    elements: Iterable[Element], *, left_out: Callable[[Element, Unencodable], None] | None = None
) -> dict[str, Any]:
    """The complete configuration of an Envoy with these ``elements``, which needs no xDS server.

    ``left_out`` is called with each element that is no valid message, and the others stay; without it,
    ``encoding.Unencodable`` is raised.
    """
    cache = SnapshotCache()
    for element in sorted(elements, key=lambda element: (element.kind, element.name)):
        try:
            version = encode(element)
        except Unencodable as error:
            if left_out is None:
                raise
            left_out(element, error)
            continue
        cache.want(version.key, version)
    in_force = {kind: [_config(one) for one in cache.members(kind, None)] for kind in Type if kind is not Type.ROUTES}
    configurations = {name: _routes(cache.assembly, name) for name in sorted(cache.assembly.configurations)}
    assignments = {one["cluster_name"]: one for one in in_force[Type.ENDPOINTS]}
    return {
        "node": {"id": "intentc", "cluster": "intentc"},
        "static_resources": {
            "listeners": [_with_routes(one, configurations) for one in in_force[Type.LISTENERS]],
            "clusters": [_with_endpoints(one, assignments) for one in in_force[Type.CLUSTERS]],
            "secrets": in_force[Type.SECRETS],
        },
        "layered_runtime": _RUNTIME,
    }


def _config(version: Version) -> dict[str, Any]:
    config: dict[str, Any] = msgspec.json.decode(version.config)
    return config


def _routes(assembly: Assembly, name: str) -> dict[str, Any]:
    """A route configuration as JSON."""
    message = route_pb2.RouteConfiguration()
    packed = any_pb2.Any.FromString(assembly.assemble(name))
    packed.Unpack(message)
    described: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return described


def _with_routes(value: Any, configurations: dict[str, dict[str, Any]]) -> Any:
    """Replace every ``rds`` by its route configuration, and remove every ``sds_config``: secrets are static too."""
    if isinstance(value, list):
        return [_with_routes(one, configurations) for one in value]
    if not isinstance(value, dict):
        return value
    changed = {name: _with_routes(one, configurations) for name, one in value.items() if name != "sds_config"}
    asked = changed.pop("rds", None)
    if isinstance(asked, dict):
        name = asked.get("route_config_name", "")
        changed["route_config"] = configurations.get(name, {"name": name})
    return changed


def _with_endpoints(config: dict[str, Any], assignments: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A cluster with its endpoints included, if it asked for them."""
    config = {name: _with_routes(value, {}) for name, value in config.items()}
    if config.get("type") != "EDS":
        return config
    asked = config.pop("eds_cluster_config", None) or {}
    assignment = assignments.get(asked.get("service_name") or config["name"], {})
    return config | {"type": "STATIC", "load_assignment": assignment | {"cluster_name": config["name"]}}


def _xds_cluster(xds: Address) -> dict[str, Any]:
    endpoint = {"address": {"socket_address": {"address": xds.host, "port_value": xds.port}}}
    return {
        "name": XDS_CLUSTER,
        "type": "STRICT_DNS",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": _HTTP2,
        "load_assignment": {
            "cluster_name": XDS_CLUSTER,
            "endpoints": [{"lb_endpoints": [{"endpoint": endpoint}]}],
        },
    }
