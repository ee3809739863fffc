"""Policies of a route as Envoy's JSON: retries, hashing, rate limits, header changes, per-route settings of filters.

Settings of a filter (``envoy.filters.http.cors``, ``envoy.filters.http.ext_authz``) are written whether the filter is
present or not. Envoy accepts both, so no route depends on the gateway's services.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..durations import duration, milliseconds
from ..routing.route_action import Core, HeaderChanges
from ..settings.traffic import Cors, HeaderAddition, LabelAction, LoadBalancer, RetryPolicy

CORS_FILTER = "envoy.filters.http.cors"
AUTH_FILTER = "envoy.filters.http.ext_authz"
_TYPE = "type.googleapis.com/envoy.extensions.filters.http"


def retry_policy(policy: RetryPolicy) -> dict[str, Any]:
    found: dict[str, Any] = {"retry_on": policy.retry_on}
    if policy.num_retries is not None:
        found["num_retries"] = policy.num_retries
    if policy.per_try_timeout:
        found["per_try_timeout"] = duration(milliseconds(policy.per_try_timeout) or 0)
    return found


def hash_policy(balancer: LoadBalancer) -> dict[str, Any]:
    """The part of a request that chooses its endpoint, for a balancer that hashes."""
    if balancer.cookie is not None:
        cookie = {"name": balancer.cookie.name}
        if balancer.cookie.path:
            cookie["path"] = balancer.cookie.path
        if balancer.cookie.ttl:
            cookie["ttl"] = duration(milliseconds(balancer.cookie.ttl) or 0)
        return {"cookie": cookie}
    if balancer.header:
        return {"header": {"header_name": balancer.header}}
    return {"connection_properties": {"source_ip": True}}


def rate_limit(actions: Iterable[LabelAction]) -> dict[str, Any]:
    """One descriptor."""
    return {"actions": [{action.kind: _label(action)} for action in actions]}


def per_filter(core: Core, cors: Cors | None) -> dict[str, Any]:
    """The settings of filters for a route: ``typed_per_filter_config``."""
    found = {}
    if cors is not None:
        found[CORS_FILTER] = _cors(cors)
    if core.bypass_auth:
        found[AUTH_FILTER] = {"@type": f"{_TYPE}.ext_authz.v3.ExtAuthzPerRoute", "disabled": True}
    elif core.auth_context_extensions:
        extensions = {"context_extensions": dict(core.auth_context_extensions)}
        found[AUTH_FILTER] = {"@type": f"{_TYPE}.ext_authz.v3.ExtAuthzPerRoute", "check_settings": extensions}
    return found


def header_changes(changes: HeaderChanges) -> dict[str, Any]:
    """The four fields that routes and clusters of a route have in common."""
    found: dict[str, Any] = {
        "request_headers_to_add": [_added(header) for header in changes.add_request],
        "request_headers_to_remove": list(changes.remove_request),
        "response_headers_to_add": [_added(header) for header in changes.add_response],
        "response_headers_to_remove": list(changes.remove_response),
    }
    return {field: value for field, value in found.items() if value}


def _added(header: HeaderAddition) -> dict[str, Any]:
    action = "APPEND_IF_EXISTS_OR_ADD" if header.append else "OVERWRITE_IF_EXISTS_OR_ADD"
    # Without the last field Envoy drops a header with an empty value.
    keep = {} if header.value else {"keep_empty_value": True}
    return {"header": {"key": header.name, "value": header.value}, "append_action": action, **keep}


def _label(action: LabelAction) -> dict[str, Any]:
    if action.kind == "generic_key":
        return {"descriptor_value": action.value, **({"descriptor_key": action.key} if action.key else {})}
    if action.kind == "request_headers":
        # Never with skip_if_absent: where the header is missing, Envoy drops the whole descriptor.
        return {"header_name": action.header_name, "descriptor_key": action.key or action.header_name}
    return {}


def _cors(cors: Cors) -> dict[str, Any]:
    found: dict[str, Any] = {
        "@type": f"{_TYPE}.cors.v3.CorsPolicy",
        "allow_origin_string_match": [{"exact": origin} for origin in cors.origins],
        "allow_methods": ", ".join(cors.methods),
        "allow_headers": ", ".join(cors.headers),
        "expose_headers": ", ".join(cors.exposed_headers),
        "max_age": cors.max_age,
        "allow_credentials": cors.credentials,
    }
    return {field: value for field, value in found.items() if value}
