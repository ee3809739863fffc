"""Converts one AuthService to its filter and its upstream (docs/ambassador.md §4.3).

A mistake in a setting that decides whether and how requests are checked (the service, the protocol, the path, the body,
the headers that are added) raises ``Unusable``: the AuthService is not used, and its caller lets no request pass
unchecked. In the other settings (the headers that the service and the upstream may see, the status on errors, what has
no effect) the wrong value is left out, and reported by ``report``, which the caller passes in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from intentc import Context, View

from .http_gateway import AuthFilter, service_upstream
from .plain import boolean, mistake_in, typed
from .routing.header_changes import Report
from .settings.header_rules import addition
from .settings.module_settings import Path, module_settings
from .settings.traffic import HeaderName, Text
from .this_gateway import Unusable
from .upstreams.upstream import Upstream
from .upstreams.way import check_way

STATUSES = frozenset(
    [
        *(100, *range(200, 209), 226),
        *(*range(300, 306), 307, 308),
        *(*range(400, 418), 421, 422, 423, 424, 426, 428, 429, 431),
        *(*range(500, 509), 510, 511),
    ]
)
"""The statuses that Envoy can answer with."""
_SHORT_BODY = 4096
"""The number of bytes that the older ``allow_request_body`` stands for."""
_LARGEST_BODY = 2**32 - 1
_ONLY_HTTP = ("path_prefix", "allowed_request_headers", "allowed_authorization_headers", "add_auth_headers")
_LINKERD = "l5d-dst-override"


class Auth(NamedTuple):
    """The filter of one AuthService, and the upstream of its cluster."""

    filter: AuthFilter
    upstream: Upstream

    @property
    def shape(self) -> Any:
        """What several AuthServices must agree in: all but the service, Linkerd's header, and the statistics' name."""
        added = tuple(header for header in self.filter.add_headers if header[0] != _LINKERD)
        return (
            msgspec.structs.replace(self.filter, cluster="", host="", add_headers=added),
            msgspec.structs.replace(self.upstream, host="", port=0, service_namespace="", stats_name=""),
        )

    @property
    def linkerd(self) -> tuple[tuple[str, str], ...]:
        """Linkerd's header, if the AuthService adds it."""
        return tuple(header for header in self.filter.add_headers if header[0] == _LINKERD)


def read_auth(service: View, ctx: Context, report: Report) -> Auth:
    """What ``service`` asks for. Raises ``Unusable``."""
    if service.proto not in ("http", "grpc"):
        raise Unusable("InvalidProtocol", f"proto {service.proto!r} is unknown; write http or grpc")
    grpc = service.proto == "grpc"
    if grpc and service.protocol_version != "v3":
        raise Unusable(
            "UnsupportedProtocol",
            "protocol_version must be v3 for proto grpc (left out, it means v2); Envoy has no other",
        )
    used = service_upstream(
        service,
        ctx,
        "auth_service",
        grpc=grpc,
        marker="extauth",
        tls=service.tls,
        breakers=service.circuit_breakers,
    )
    if service.failure_mode_allow:
        # This setting is for a service that does not answer, not for one that can never be asked.
        check_way(ctx, used)
    size, partial = _body(service, report)
    found = AuthFilter(
        cluster=used.name,
        protocol=service.proto,
        host=f"{used.host}:{used.port}",
        timeout_ms=service.timeout_ms,
        max_body_bytes=size,
        partial_body=partial,
        status_on_error=_status(service, report),
        failure_mode_allow=service.failure_mode_allow,
    )
    if not grpc:
        return Auth(_over_http(service, ctx, found, report), used)
    for field in _ONLY_HTTP:
        if service.field(field):
            report("NoEffect", f"{field} has no effect for proto grpc; remove it, or write proto: http")
    return Auth(found, used)


def _over_http(service: View, ctx: Context, found: AuthFilter, report: Report) -> AuthFilter:
    prefix = service.path_prefix
    if prefix and mistake_in(prefix, Path):
        raise Unusable("InvalidPath", f"path_prefix {prefix!r} is not a path; let it begin with /")
    return msgspec.structs.replace(
        found,
        path_prefix=prefix,
        request_headers=_names(service, "allowed_request_headers", report),
        authorization_headers=_names(service, "allowed_authorization_headers", report),
        add_headers=(*_added(service), *_linkerd(service, ctx, found)),
    )


def _body(service: View, report: Report) -> tuple[int, bool]:
    """(how many bytes of the body are sent at most, whether a longer body is sent partially)"""
    body = service.include_body
    if not body:
        return (_SHORT_BODY, True) if service.allow_request_body else (0, False)
    if service.allow_request_body:
        report("IgnoredField", "allow_request_body has no effect together with include_body; remove it")
    if not 1 <= body.max_bytes <= _LARGEST_BODY:
        message = f"include_body.max_bytes is a number from 1 to {_LARGEST_BODY}; say how much of the body is sent"
        raise Unusable("InvalidBody", message)
    return body.max_bytes, body.allow_partial


def _status(service: View, report: Report) -> int:
    code: int = service.status_on_error.code
    if code and code not in STATUSES:
        report(
            "InvalidStatus",
            f"status_on_error.code {code} is not a status that Envoy answers with; 403 is used",
        )
        return 0
    return code


def _names(service: View, field: str, report: Report) -> tuple[str, ...]:
    found = set()
    for name in service.field(field):
        if mistake_in(name, HeaderName):
            report("InvalidHeader", f"{field}: {name!r} is not a header name; it is left out")
        else:
            found.add(name.lower())
    return tuple(sorted(found))


def _added(service: View) -> tuple[tuple[str, str], ...]:
    try:
        given = typed(service.add_auth_headers, dict[str, Text])
    except ValueError as error:
        raise Unusable("InvalidHeader", f"add_auth_headers: {error}") from None
    for name, value in given.items():
        try:
            addition(name, value)
        except ValueError as error:
            raise Unusable("InvalidHeader", f"add_auth_headers[{name!r}]: {error}") from None
    return tuple(sorted(given.items()))


def _linkerd(service: View, ctx: Context, found: AuthFilter) -> tuple[tuple[str, str], ...]:
    try:
        wanted = boolean(service.add_linkerd_headers)
    except ValueError as error:
        raise Unusable("InvalidSetting", f"add_linkerd_headers: {error}") from None
    wanted = module_settings(ctx).add_linkerd_headers if wanted is None else wanted
    return ((_LINKERD, found.host),) if wanted else ()
