"""The HTTP filters of every listener that speaks HTTP, in the order of docs/ambassador.md §4.5.

The filters that answer the probes come first. A filter is present if a resource asks for it; CORS and the router are
always present, because routes have settings for the first, and no request passes without the second. Routes disable the
authorization filter by its name.

A guard whose service is misconfigured is replaced by a filter that answers 500 to everything except the probes: to let
requests pass unchecked would be worse than not to serve them. Probes that Envoy answers itself never reach this filter;
probes that a service answers pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..http_gateway import AuthFilter, Gateway, Misconfigured, RateLimitFilter, answered, asked_elsewhere
from ..settings.module_settings import AddressRange, GrpcStats, Gzip, ModuleSettings
from ..settings.traffic import duration
from . import given, present

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
    if auth.protocol == "grpc":
        service = {"envoy_grpc": {"cluster_name": auth.cluster}, "timeout": duration(auth.timeout_ms)}
        config["grpc_service"] = service
    else:
        config |= _http(auth)
    body = {"max_request_bytes": auth.max_body_bytes, "allow_partial_message": auth.partial_body}
    return config | present(
        with_request_body=auth.max_body_bytes and body,
        status_on_error=auth.status_on_error and {"code": auth.status_on_error},
    )


def _http(auth: AuthFilter) -> dict[str, Any]:
    answered = _exactly({*ALWAYS_ANSWERED_WITH, *auth.authorization_headers})
    service: dict[str, Any] = {
        # Envoy ignores the host and asks the cluster, but requires a whole URL.
        "server_uri": {"uri": f"http://{auth.host}", "cluster": auth.cluster, "timeout": duration(auth.timeout_ms)},
        "authorization_response": {"allowed_upstream_headers": answered, "allowed_client_headers": answered},
    }
    added = [{"key": name, "value": value} for name, value in auth.add_headers]
    service |= present(path_prefix=auth.path_prefix, authorization_request=added and {"headers_to_add": added})
    return {
        "http_service": service,
        "allowed_headers": _exactly({*ALWAYS_ASKED_WITH, *auth.request_headers}),
    }


def _exactly(names: set[str]) -> dict[str, Any]:
    return {"patterns": [{"exact": name, "ignore_case": True} for name in sorted(names)]}


_KINDS = {"auth_service": "AuthService", "rate_limit_service": "RateLimitService"}
_SCRIPT = """\
local open = {{{open}}}
function envoy_on_request(handle)
  local path = handle:headers():get(":path") or ""
  if open[path:match("^[^?]*")] then return end
  local id = (handle:headers():get("x-request-id") or ""):gsub("[^%w._~:/+=-]", "")
  handle:respond(
    {{[":status"] = "500", ["content-type"] = "application/json"}},
    '{{"message": "the gateway\\'s {kind} is misconfigured; its problems say what to do", ' ..
    '"request_id": "' .. id .. '", "status_code": 500}}\\n')
end
"""


def reject_all(missing: Misconfigured, settings: ModuleSettings) -> dict[str, Any]:
    """The filter ``{name, typed_config}``. Its answer does not reveal the service to clients."""
    opened = ", ".join(
        f"[{_lua_text(probe.prefix)}] = true"
        for name, probe in asked_elsewhere(settings).items()
        if name != "diagnostics"
    )
    kind = _KINDS[missing.kind]
    return {
        "name": f"misconfigured_{missing.kind}",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
            "default_source_code": {"inline_string": _SCRIPT.format(open=opened, kind=kind)},
        },
    }


def _lua_text(text: str) -> str:
    """A Lua literal that escapes everything but letters and the characters of plain paths."""
    return '"' + re.sub(rb"[^A-Za-z0-9/_.-]", lambda one: b"\\%03d" % one[0][0], text.encode()).decode() + '"'


_FILTERS = "envoy.filters.http"
_TYPES = "type.googleapis.com/envoy.extensions.filters.http"
_COMPRESSOR = "compressor.v3.Compressor"
_STRUCT = "type.googleapis.com/xds.type.v3.TypedStruct"


def http_filters(gateway: Gateway) -> Iterator[dict[str, Any]]:
    """The filters ``{name, typed_config}`` in order, the router last."""
    settings = gateway.settings
    for name, path in answered(settings).items():
        yield _answering(name, path)
    if settings.enable_grpc_http11_bridge:
        yield _filter("grpc_http1_bridge", "grpc_http1_bridge.v3.Config")
    if settings.enable_grpc_web:
        yield _filter("grpc_web", "grpc_web.v3.GrpcWeb")
    if settings.grpc_stats is not None:
        yield _filter("grpc_stats", "grpc_stats.v3.FilterConfig", **_grpc_stats(settings.grpc_stats))
    if settings.lua_scripts:
        yield _filter("lua", "lua.v3.Lua", default_source_code={"inline_string": settings.lua_scripts})
    if settings.gzip is not None:
        yield _compressor(settings.gzip)
    if settings.buffer is not None:
        yield _filter("buffer", "buffer.v3.Buffer", max_request_bytes=settings.buffer.max_request_bytes)
    yield from _by_address(settings)
    yield _filter("cors", "cors.v3.Cors")
    if isinstance(gateway.auth, Misconfigured):
        yield reject_all(gateway.auth, settings)
    elif gateway.auth is not None:
        yield _filter("ext_authz", "ext_authz.v3.ExtAuthz", **authorization(gateway.auth))
    if isinstance(gateway.rate_limit, Misconfigured):
        yield reject_all(gateway.rate_limit, settings)
    elif gateway.rate_limit is not None:
        yield _filter("ratelimit", "ratelimit.v3.RateLimit", **_rate_limit(gateway.rate_limit))
    yield _filter("router", "router.v3.Router", suppress_envoy_headers=settings.suppress_envoy_headers)


def _filter(name: str, type_name: str, **config: Any) -> dict[str, Any]:
    return {"name": f"{_FILTERS}.{name}", "typed_config": {"@type": f"{_TYPES}.{type_name}", **config}}


def _answering(name: str, path: str) -> dict[str, Any]:
    """Answers 200 for the path, with any query."""
    pattern = {"safe_regex": {"regex": re.escape(path) + r"(\?.*)?"}}
    config = {"pass_through_mode": False, "headers": [{"name": ":path", "string_match": pattern}]}
    return {"name": name, "typed_config": {"@type": f"{_TYPES}.health_check.v3.HealthCheck", **config}}


def _grpc_stats(stats: GrpcStats) -> dict[str, Any]:
    config: dict[str, Any] = {"enable_upstream_stats": stats.upstream_stats}
    if stats.services:
        config["individual_method_stats_allowlist"] = {
            "services": [{"name": one.name, "method_names": list(one.method_names)} for one in stats.services]
        }
    else:
        config["stats_for_all_methods"] = stats.all_methods
    return config


_LEVELS = {"DEFAULT": "DEFAULT_COMPRESSION", "BEST": "BEST_COMPRESSION", "SPEED": "BEST_SPEED"}
_STRATEGIES = {"DEFAULT": "DEFAULT_STRATEGY", "HUFFMAN": "HUFFMAN_ONLY"}
"""The strategy names of an older Envoy, which Emissary accepts → today's names."""


def _compressor(gzip: Gzip) -> dict[str, Any]:
    config = _gzip(gzip)
    if not gzip.content_type:
        return _filter("compressor", _COMPRESSOR, **config)
    # The field for content types is newer than the protobuf packages; Envoy 1.40 also reads it from a struct.
    matchers = [{"exact": one} for one in gzip.content_type]
    config["response_direction_config"]["common_config"]["content_type_matcher"] = matchers
    return {
        "name": f"{_FILTERS}.compressor",
        "typed_config": {"@type": _STRUCT, "type_url": f"{_TYPES}.{_COMPRESSOR}", "value": config},
    }


def _gzip(gzip: Gzip) -> dict[str, Any]:
    level, strategy = gzip.compression_level, gzip.compression_strategy
    library = given(
        memory_level=gzip.memory_level,
        compression_level=level and _LEVELS.get(level, level),
        compression_strategy=strategy and _STRATEGIES.get(strategy, strategy),
        window_bits=gzip.window_bits,
    )
    type_name = "type.googleapis.com/envoy.extensions.compression.gzip.compressor.v3.Gzip"
    return {
        "compressor_library": {"name": "gzip", "typed_config": {"@type": type_name, **library}},
        "response_direction_config": {
            "common_config": given(min_content_length=gzip.min_content_length),
            "disable_on_etag_header": gzip.disable_on_etag_header,
            "remove_accept_encoding_header": gzip.remove_accept_encoding_header,
        },
    }


def _by_address(settings: ModuleSettings) -> Iterator[dict[str, Any]]:
    """If both lists are given, which is reported as a mistake, both apply: the stricter reading. An empty list of
    allowed addresses allows nobody."""
    if settings.ip_allow is not None:
        yield _access("ALLOW", settings.ip_allow)
    if settings.ip_deny:
        yield _access("DENY", settings.ip_deny)


def _access(action: str, ranges: tuple[AddressRange, ...]) -> dict[str, Any]:
    policies = {}
    if ranges:
        principals = [
            {
                "direct_remote_ip" if one.source == "peer" else "remote_ip": {
                    "address_prefix": one.address,
                    "prefix_len": one.prefix_length,
                }
            }
            for one in ranges
        ]
        policies = {f"ip-{action.lower()}": {"permissions": [{"any": True}], "principals": principals}}
    return _filter("rbac", "rbac.v3.RBAC", rules={"action": action, "policies": policies})


def _rate_limit(limit: RateLimitFilter) -> dict[str, Any]:
    return {
        "domain": limit.domain,
        "request_type": "both",
        "timeout": duration(limit.timeout_ms),
        "failure_mode_deny": limit.failure_mode_deny,
        "rate_limited_as_resource_exhausted": limit.resource_exhausted,
        "rate_limit_service": {
            "grpc_service": {"envoy_grpc": {"cluster_name": limit.cluster}},
            "transport_api_version": "V3",
        },
    }
