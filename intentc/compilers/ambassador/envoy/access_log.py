"""Envoy's access logs: one for each LogService, then the file (docs/ambassador.md §4.5).

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..durations import duration
from ..gateway.gateway import Gateway, LogSink
from ..settings.module_settings import ModuleSettings

_TYPES = "type.googleapis.com/envoy.extensions.access_loggers"
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


def access_logs(gateway: Gateway) -> list[dict[str, Any]]:
    """The access logs ``{name, typed_config}`` of a connection manager."""
    traced_by = gateway.tracing.driver if gateway.tracing is not None else ""
    return [*(_service(sink) for sink in gateway.logs), _file(gateway.settings, traced_by)]


def _service(sink: LogSink) -> dict[str, Any]:
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


def _file(settings: ModuleSettings, traced_by: str) -> dict[str, Any]:
    return _log(
        "file", "file.v3.FileAccessLog", {"path": settings.envoy_log_path, "log_format": _format(settings, traced_by)}
    )


def _format(settings: ModuleSettings, traced_by: str) -> dict[str, Any]:
    """Both JSON types give numbers as numbers: the form that gave them as text is deprecated in Envoy."""
    if settings.envoy_log_type == "text":
        return {"text_format_source": {"inline_string": (settings.envoy_log_format or TEXT_FORMAT) + "\n"}}
    if settings.envoy_log_format:
        return {"json_format": msgspec.json.decode(settings.envoy_log_format)}
    return {"json_format": JSON_FORMAT | (_DATADOG_FORMAT if traced_by == "datadog" else {})}


def _log(name: str, type_name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"envoy.access_loggers.{name}", "typed_config": {"@type": f"{_TYPES}.{type_name}", **config}}
