"""Envoy's filter that asks an AuthService whether to allow a request (docs/ambassador.md §4.3, §4.5).

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

from ..durations import duration
from ..gateway.gateway import AuthFilter

ALWAYS_ASKED_WITH = (
    "authorization",
    "cookie",
    "from",
    "proxy-authorization",
    "user-agent",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
)
"""Request headers that an AuthService over HTTP always receives, in addition to those that Envoy adds."""
ALWAYS_ANSWERED_WITH = ("authorization", "location", "proxy-authenticate", "set-cookie", "www-authenticate")
"""Headers of its response that are always passed on: to the upstream if it allows the request, otherwise to the client.
"""


def authorization(auth: AuthFilter) -> dict[str, Any]:
    """The fields of ``envoy.extensions.filters.http.ext_authz.v3.ExtAuthz``."""
    config: dict[str, Any] = {
        "transport_api_version": "V3",
        "clear_route_cache": True,
        "failure_mode_allow": auth.failure_mode_allow,
    }
    config |= _grpc(auth) if auth.protocol == "grpc" else _http(auth)
    if auth.max_body_bytes:
        config["with_request_body"] = {
            "max_request_bytes": auth.max_body_bytes,
            "allow_partial_message": auth.partial_body,
        }
    if auth.status_on_error:
        config["status_on_error"] = {"code": auth.status_on_error}
    return config


def _grpc(auth: AuthFilter) -> dict[str, Any]:
    service = {"envoy_grpc": {"cluster_name": auth.cluster}, "timeout": duration(auth.timeout_ms)}
    return {"grpc_service": service}


def _http(auth: AuthFilter) -> dict[str, Any]:
    answered = _exactly({*ALWAYS_ANSWERED_WITH, *auth.authorization_headers})
    service: dict[str, Any] = {
        # Envoy ignores the host and asks the cluster, but requires a whole URL.
        "server_uri": {"uri": f"http://{auth.host}", "cluster": auth.cluster, "timeout": duration(auth.timeout_ms)},
        "authorization_response": {"allowed_upstream_headers": answered, "allowed_client_headers": answered},
    }
    if auth.path_prefix:
        service["path_prefix"] = auth.path_prefix
    if auth.add_headers:
        service["authorization_request"] = {
            "headers_to_add": [{"key": name, "value": value} for name, value in auth.add_headers]
        }
    return {
        "http_service": service,
        "allowed_headers": _exactly({*ALWAYS_ASKED_WITH, *auth.request_headers}),
    }


def _exactly(names: set[str]) -> dict[str, Any]:
    return {"patterns": [{"exact": name, "ignore_case": True} for name in sorted(names)]}
