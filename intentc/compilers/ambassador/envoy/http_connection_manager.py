"""Envoy's HTTP connection manager, which handles every HTTP connection of a listener (docs/ambassador.md §4.5).

Routes arrive by RDS. What differs between listeners is an argument; what they share is in the ``Gateway``.

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

from ..durations import duration
from ..gateway.gateway import Gateway
from ..settings.module_settings import ModuleSettings
from .access_log import access_logs
from .http_filters import http_filters
from .tracing import tracing

HTTP_CONNECTION_MANAGER = "envoy.filters.network.http_connection_manager"
_TYPE = (
    f"type.googleapis.com/{HTTP_CONNECTION_MANAGER.replace('envoy.', 'envoy.extensions.', 1)}.v3.HttpConnectionManager"
)
_FROM_ADS = {"ads": {}, "resource_api_version": "V3"}


def http_connection_manager(
    gateway: Gateway,
    *,
    stat_prefix: str,
    route_configuration: str,
    l7_depth: int = 0,
    http2_max_concurrent_streams: int = 0,
) -> dict[str, Any]:
    """The network filter ``{name, typed_config}`` of a filter chain.

    ``route_configuration``: the name to request by RDS. ``l7_depth``: trusted proxies in front of this listener; 0: the
    Module's value. ``http2_max_concurrent_streams`` 0: Envoy's default.
    """
    settings = gateway.settings
    config: dict[str, Any] = {
        "@type": _TYPE,
        "codec_type": "AUTO",
        "stat_prefix": stat_prefix,
        "rds": {"route_config_name": route_configuration, "config_source": _FROM_ADS},
        "http_filters": http_filters(gateway),
        "access_log": access_logs(gateway),
        "normalize_path": True,
        "merge_slashes": settings.merge_slashes,
        "use_remote_address": settings.use_remote_address,
        "xff_num_trusted_hops": l7_depth or settings.xff_num_trusted_hops,
        "server_name": settings.server_name,
        "preserve_external_request_id": settings.preserve_external_request_id,
        "strip_matching_host_port": settings.strip_matching_host_port,
        "forward_client_cert_details": settings.forward_client_cert_details,
        "common_http_protocol_options": _common_options(settings),
        "http_protocol_options": _http1_options(settings),
    }
    if settings.reject_requests_with_escaped_slashes:
        config["path_with_escaped_slashes_action"] = "REJECT_REQUEST"
    if settings.max_request_headers_kb is not None:
        config["max_request_headers_kb"] = settings.max_request_headers_kb
    details = {name: True for name in ("subject", "cert", "chain", "dns", "uri")
               if getattr(settings.set_current_client_cert_details, name)}  # fmt: skip
    if details:
        config["set_current_client_cert_details"] = details
    if http2_max_concurrent_streams:
        config["http2_protocol_options"] = {"max_concurrent_streams": http2_max_concurrent_streams}
    if gateway.tracing is not None:
        config |= {"generate_request_id": True, "tracing": tracing(gateway.tracing)}
    return {"name": HTTP_CONNECTION_MANAGER, "typed_config": config}


def _common_options(settings: ModuleSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"headers_with_underscores_action": settings.headers_with_underscores_action}
    if settings.listener_idle_timeout_ms:
        options["idle_timeout"] = duration(settings.listener_idle_timeout_ms)
    return options


def _http1_options(settings: ModuleSettings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "accept_http_10": settings.enable_http10,
        "allow_chunked_length": settings.allow_chunked_length,
    }
    if settings.proper_case:
        options["header_key_format"] = {"proper_case_words": {}}
    return options
