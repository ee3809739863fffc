"""Envoy's HTTP connection manager, which handles every HTTP connection of a listener, with its access logs and its
tracing (docs/ambassador.md §4.5).

Routes arrive by RDS. What differs between listeners is an argument; what they share is in the ``Gateway``. Each
LogService has an access log, before that of the file; tracing includes its provider, which is not in the bootstrap.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..http_gateway import CustomTag, Gateway, LogSink, Tracing
from ..settings.module_settings import ModuleSettings
from ..settings.traffic import duration
from . import given, present
from .http_filters import http_filters

_LOGGERS = "type.googleapis.com/envoy.extensions.access_loggers"
TEXT_FORMAT = (
    'ACCESS [%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% '
    "%RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "
    '"%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"'
)
JSON_FORMAT = {
    "start_time": "%START_TIME%",
    "method": "%REQ(:METHOD)%",
    "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
    "protocol": "%PROTOCOL%",
    "response_code": "%RESPONSE_CODE%",
    "response_flags": "%RESPONSE_FLAGS%",
    "bytes_received": "%BYTES_RECEIVED%",
    "bytes_sent": "%BYTES_SENT%",
    "duration": "%DURATION%",
    "upstream_service_time": "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
    "x_forwarded_for": "%REQ(X-FORWARDED-FOR)%",
    "user_agent": "%REQ(USER-AGENT)%",
    "request_id": "%REQ(X-REQUEST-ID)%",
    "authority": "%REQ(:AUTHORITY)%",
    "upstream_host": "%UPSTREAM_HOST%",
    "upstream_cluster": "%UPSTREAM_CLUSTER%",
    "upstream_local_address": "%UPSTREAM_LOCAL_ADDRESS%",
    "downstream_local_address": "%DOWNSTREAM_LOCAL_ADDRESS%",
    "downstream_remote_address": "%DOWNSTREAM_REMOTE_ADDRESS%",
    "requested_server_name": "%REQUESTED_SERVER_NAME%",
    "upstream_transport_failure_reason": "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
}
_DATADOG_FORMAT = {"dd.trace_id": "%REQ(X-DATADOG-TRACE-ID)%", "dd.span_id": "%REQ(X-DATADOG-PARENT-ID)%"}


def _log_service(sink: LogSink) -> dict[str, Any]:
    config: dict[str, Any] = {
        "common_config": {
            "log_name": sink.log_name,
            "grpc_service": {"envoy_grpc": {"cluster_name": sink.cluster}},
            "transport_api_version": "V3",
            "buffer_flush_interval": duration(sink.flush_interval_ms),
            "buffer_size_bytes": sink.flush_bytes,
        }
    }
    if sink.driver == "tcp":
        return _log("tcp_grpc", "grpc.v3.TcpGrpcAccessLogConfig", config)
    config |= {
        "additional_request_headers_to_log": list(sink.request_headers),
        "additional_response_headers_to_log": list(sink.response_headers),
        "additional_response_trailers_to_log": list(sink.trailers),
    }
    return _log("http_grpc", "grpc.v3.HttpGrpcAccessLogConfig", config)


def _format(settings: ModuleSettings, traced_by: str) -> dict[str, Any]:
    """Both JSON types give numbers as numbers: the form that gave them as text is deprecated in Envoy."""
    if settings.envoy_log_type == "text":
        return {"text_format_source": {"inline_string": (settings.envoy_log_format or TEXT_FORMAT) + "\n"}}
    if settings.envoy_log_format:
        return {"json_format": msgspec.json.decode(settings.envoy_log_format)}
    return {"json_format": JSON_FORMAT | (_DATADOG_FORMAT if traced_by == "datadog" else {})}


def _log(name: str, type_name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"envoy.access_loggers.{name}", "typed_config": {"@type": f"{_LOGGERS}.{type_name}", **config}}


_TRACERS = "type.googleapis.com/envoy.config.trace.v3"


def tracing(settings: Tracing) -> dict[str, Any]:
    """``HttpConnectionManager.Tracing``."""
    samplings = ("client_sampling", "random_sampling", "overall_sampling")
    percents = given(**{name: getattr(settings, name) for name in samplings})
    return {
        "provider": _provider(settings),
        # The span for the upstream call is the parent of the service's span: the service gets x-b3-parentspanid.
        "spawn_upstream_span": True,
        **{name: {"value": percent} for name, percent in percents.items()},
        **present(custom_tags=[_tag(one) for one in settings.custom_tags]),
    }


def _provider(settings: Tracing) -> dict[str, Any]:
    config: dict[str, Any]
    match settings.driver:
        case "zipkin":
            config = {
                "collector_cluster": settings.cluster,
                "collector_endpoint": settings.collector_endpoint,
                "collector_endpoint_version": settings.collector_endpoint_version,
                "trace_id_128bit": settings.trace_id_128bit,
                **present(collector_hostname=settings.collector_hostname),
                **given(shared_span_context=settings.shared_span_context),
            }
            return _tracer("zipkin", "ZipkinConfig", config)
        case "datadog":
            config = {"collector_cluster": settings.cluster, "service_name": settings.service_name}
            config |= present(collector_hostname=settings.collector_hostname)
            return _tracer("datadog", "DatadogConfig", config)
        case "opentelemetry":
            service = {"envoy_grpc": {"cluster_name": settings.cluster}}
            config = {"grpc_service": service, "service_name": settings.service_name}
            return _tracer("opentelemetry", "OpenTelemetryConfig", config)


def _tag(one: CustomTag) -> dict[str, Any]:
    if one.source == "literal":
        return {"tag": one.tag, "literal": {"value": one.value}}
    return {"tag": one.tag, one.source: {"name": one.value, **present(default_value=one.default)}}


def _tracer(name: str, type_name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"envoy.tracers.{name}", "typed_config": {"@type": f"{_TRACERS}.{type_name}", **config}}


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
    traced_by = gateway.tracing.driver if gateway.tracing is not None else ""
    file = {"path": settings.envoy_log_path, "log_format": _format(settings, traced_by)}
    config: dict[str, Any] = {
        "@type": _TYPE,
        "codec_type": "AUTO",
        "stat_prefix": stat_prefix,
        "rds": {"route_config_name": route_configuration, "config_source": _FROM_ADS},
        "http_filters": list(http_filters(gateway)),
        "access_log": [*map(_log_service, gateway.logs), _log("file", "file.v3.FileAccessLog", file)],
        "normalize_path": True,
        "merge_slashes": settings.merge_slashes,
        "use_remote_address": settings.use_remote_address,
        "xff_num_trusted_hops": l7_depth or settings.xff_num_trusted_hops,
        "server_name": settings.server_name,
        "preserve_external_request_id": settings.preserve_external_request_id,
        "strip_matching_host_port": settings.strip_matching_host_port,
        "forward_client_cert_details": settings.forward_client_cert_details,
        "common_http_protocol_options": {
            "headers_with_underscores_action": settings.headers_with_underscores_action,
            **present(idle_timeout=settings.listener_idle_timeout_ms and duration(settings.listener_idle_timeout_ms)),
        },
        "http_protocol_options": {
            "accept_http_10": settings.enable_http10,
            "allow_chunked_length": settings.allow_chunked_length,
            **present(header_key_format=settings.proper_case and {"proper_case_words": {}}),
        },
        **given(max_request_headers_kb=settings.max_request_headers_kb),
        **present(
            path_with_escaped_slashes_action=settings.reject_requests_with_escaped_slashes and "REJECT_REQUEST",
            set_current_client_cert_details=present(**msgspec.structs.asdict(settings.set_current_client_cert_details)),
            http2_protocol_options=present(max_concurrent_streams=http2_max_concurrent_streams),
        ),
    }
    if gateway.tracing is not None:
        config |= {"generate_request_id": True, "tracing": tracing(gateway.tracing)}
    return {"name": HTTP_CONNECTION_MANAGER, "typed_config": config}
