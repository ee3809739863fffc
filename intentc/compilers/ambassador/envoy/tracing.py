"""Envoy's tracing in a connection manager, including its provider (not in the bootstrap; docs/ambassador.md §4.5).

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

from ..gateway.gateway import CustomTag, Tracing

_TYPES = "type.googleapis.com/envoy.config.trace.v3"


def tracing(settings: Tracing) -> dict[str, Any]:
    """``HttpConnectionManager.Tracing``."""
    # The span for the upstream call is the parent of the service's span: the service gets x-b3-parentspanid.
    config: dict[str, Any] = {"provider": _provider(settings), "spawn_upstream_span": True}
    for name in ("client_sampling", "random_sampling", "overall_sampling"):
        percent = getattr(settings, name)
        if percent is not None:
            config[name] = {"value": percent}
    if settings.custom_tags:
        config["custom_tags"] = [_tag(one) for one in settings.custom_tags]
    return config


def _provider(settings: Tracing) -> dict[str, Any]:
    match settings.driver:
        case "zipkin":
            return _named("zipkin", "ZipkinConfig", _zipkin(settings))
        case "datadog":
            config = {"collector_cluster": settings.cluster, "service_name": settings.service_name}
            if settings.collector_hostname:
                config["collector_hostname"] = settings.collector_hostname
            return _named("datadog", "DatadogConfig", config)
        case "opentelemetry":
            service = {"envoy_grpc": {"cluster_name": settings.cluster}}
            return _named(
                "opentelemetry",
                "OpenTelemetryConfig",
                {"grpc_service": service, "service_name": settings.service_name},
            )


def _zipkin(settings: Tracing) -> dict[str, Any]:
    config: dict[str, Any] = {
        "collector_cluster": settings.cluster,
        "collector_endpoint": settings.collector_endpoint,
        "collector_endpoint_version": settings.collector_endpoint_version,
        "trace_id_128bit": settings.trace_id_128bit,
    }
    if settings.collector_hostname:
        config["collector_hostname"] = settings.collector_hostname
    if settings.shared_span_context is not None:
        config["shared_span_context"] = settings.shared_span_context
    return config


def _tag(one: CustomTag) -> dict[str, Any]:
    if one.source == "literal":
        return {"tag": one.tag, "literal": {"value": one.value}}
    source = {"name": one.value}
    if one.default:
        source["default_value"] = one.default
    return {"tag": one.tag, one.source: source}


def _named(name: str, type_name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": f"envoy.tracers.{name}", "typed_config": {"@type": f"{_TYPES}.{type_name}", **config}}
