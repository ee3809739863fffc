"""Envoy's routes (``envoy.config.route.v3.Route``): to clusters, redirects, and routes that reject requests.

One route serves a whole group of Mappings: several upstreams are its ``weighted_clusters``, so shares hold whatever
their sum is (docs/ambassador.md §5.5). Only if Mappings of a group differ in what Envoy decides per route (a rewrite, a
timeout), each has a route of its own, and ``fraction`` says which part of the requests it takes. The host name is not
part of a match, because routes are in tables by hostname. Exceptions are a regular expression for the host, and a
wildcard if the route is in tables of other names.

Settings of a filter (``envoy.filters.http.cors``, ``envoy.filters.http.ext_authz``) are written whether the filter is
present or not. Envoy accepts both, so no route depends on the gateway's services.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc.model.hostname_patterns import wildcard_regex

from ..routing.route_action import (
    EXACT,
    PREFIX,
    REGEX,
    SEGMENTS,
    Condition,
    Core,
    HeaderChanges,
    Redirect,
    RegexRewrite,
    RouteMatch,
    Share,
    Treatment,
)
from ..settings.traffic import Cors, HeaderAddition, LabelAction, LoadBalancer, RetryPolicy, duration, milliseconds
from . import given, present

ACME_CHALLENGE = "/.well-known/acme-challenge/"
"""Certificate authorities request these paths in clear text."""
_NO_AUTHORIZATION = {
    "envoy.filters.http.ext_authz": {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
        "disabled": True,
    }
}


def insecure_requests(action: str, *, forwarded: bool) -> list[dict[str, Any]]:
    """The routes (v3 JSON; none or one) for insecure requests.

    ``Redirect``: to the same URL by https. ``Reject``: 404. ``Route``: no such route. ``forwarded``: X-Forwarded-Proto
    says which requests are insecure; otherwise all are.
    """
    if action == "Route":
        return []
    headers: list[dict[str, Any]] = [
        {"name": ":path", "string_match": {"prefix": ACME_CHALLENGE}, "invert_match": True}
    ]
    if forwarded:
        secure = {"name": "x-forwarded-proto", "string_match": {"exact": "https"}}
        headers.append({**secure, "invert_match": True, "treat_missing_header_as_empty": True})
    answer = {"redirect": {"https_redirect": True}} if action == "Redirect" else {"direct_response": {"status": 404}}
    # A redirect to https needs no authorization.
    return [
        {
            "name": f"insecure_{action.lower()}",
            "match": {"prefix": "/", "headers": headers},
            **answer,
            "typed_per_filter_config": _NO_AUTHORIZATION,
        }
    ]


CORS_FILTER = "envoy.filters.http.cors"
AUTH_FILTER = "envoy.filters.http.ext_authz"
_TYPE = "type.googleapis.com/envoy.extensions.filters.http"


def retry_policy(policy: RetryPolicy) -> dict[str, Any]:
    timeout = policy.per_try_timeout and duration(milliseconds(policy.per_try_timeout) or 0)
    return {
        "retry_on": policy.retry_on,
        **given(num_retries=policy.num_retries),
        **present(per_try_timeout=timeout),
    }


def hash_policy(balancer: LoadBalancer) -> dict[str, Any]:
    """The part of a request that chooses its endpoint, for a balancer that hashes."""
    if balancer.cookie is not None:
        cookie = balancer.cookie
        ttl = duration(milliseconds(cookie.ttl) or 0) if cookie.ttl else ""
        return {"cookie": {"name": cookie.name, **present(path=cookie.path, ttl=ttl)}}
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
    return present(
        request_headers_to_add=[_added(header) for header in changes.add_request],
        request_headers_to_remove=list(changes.remove_request),
        response_headers_to_add=[_added(header) for header in changes.add_response],
        response_headers_to_remove=list(changes.remove_response),
    )


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
    return {"@type": f"{_TYPE}.cors.v3.CorsPolicy"} | present(
        allow_origin_string_match=[{"exact": origin} for origin in cors.origins],
        allow_methods=", ".join(cors.methods),
        allow_headers=", ".join(cors.headers),
        expose_headers=", ".join(cors.exposed_headers),
        max_age=cors.max_age,
        allow_credentials=cors.credentials,
    )


CODES = {
    301: "MOVED_PERMANENTLY",
    302: "FOUND",
    303: "SEE_OTHER",
    307: "TEMPORARY_REDIRECT",
    308: "PERMANENT_REDIRECT",
}
PATHS = {EXACT: "path", PREFIX: "prefix", SEGMENTS: "path_separated_prefix", REGEX: "safe_regex"}
"""How a path is matched → Envoy's field for it."""
_UNAVAILABLE = 503
PARTS = 10_000
"""The denominator of ``fraction``."""

Weighted = tuple[tuple[Share, int], ...]
"""Shares with their weights; only the proportions count."""


def forwarding_route(
    name: str,
    match: RouteMatch,
    shares: Weighted,
    core: Core,
    treatment: Treatment,
    *,
    mirror: tuple[str, int] | None = None,
    stats_name: str = "",
    fraction: int = PARTS,
) -> dict[str, Any]:
    """A route to one or more upstreams. ``mirror``: (cluster, percent) of the copies of requests. ``fraction``: the
    part of the matching requests, out of ``PARTS``, that takes this route."""
    headers, action = _clusters(shares)
    action |= _treatment(treatment)
    if core.hash_on is not None:
        action["hash_policy"] = [hash_policy(core.hash_on)]
    if core.rate_limits:
        action["rate_limits"] = [rate_limit(actions) for actions in core.rate_limits]
    if mirror is not None:
        action["request_mirror_policies"] = [
            {"cluster": mirror[0], "runtime_fraction": {"default_value": {"numerator": mirror[1]}}}
        ]
    route = _route(name, match, {"route": action}, headers, per_filter(core, treatment.cors), stats_name)
    if fraction != PARTS:
        share = {"numerator": fraction, "denominator": "TEN_THOUSAND"}
        route["match"]["runtime_fraction"] = {"default_value": share}
    return route


def redirecting_route(name: str, match: RouteMatch, redirect: Redirect, *, stats_name: str = "") -> dict[str, Any]:
    found = {
        "host_redirect": redirect.host,
        "response_code": CODES[redirect.response_code],
        **present(
            scheme_redirect=redirect.scheme,
            port_redirect=redirect.port,
            path_redirect=redirect.path,
            prefix_rewrite=redirect.prefix,
            regex_rewrite=_regex(redirect.regex),
        ),
    }
    # A redirect needs no authorization: it also works while the AuthService is away.
    filters = per_filter(msgspec.structs.replace(redirect.core, bypass_auth=True), redirect.cors)
    return _route(name, match, {"redirect": found}, redirect.headers, filters, stats_name)


def rejecting_route(name: str, match: RouteMatch) -> dict[str, Any]:
    """A route that rejects requests whose Mappings can't be served: they must not fall through to a wider route."""
    return _route(name, match, {"direct_response": {"status": _UNAVAILABLE}}, HeaderChanges(), {}, "")


def _route(
    name: str,
    match: RouteMatch,
    action: dict[str, Any],
    headers: HeaderChanges,
    filters: dict[str, Any],
    stats_name: str,
) -> dict[str, Any]:
    found = {"name": name, "match": route_match(match), **action, **header_changes(headers)}
    return found | present(typed_per_filter_config=filters, stat_prefix=stats_name)


def _clusters(shares: Weighted) -> tuple[HeaderChanges, dict[str, Any]]:
    """(the header changes of the route itself, the action's clusters)"""
    if len(shares) == 1:
        share = shares[0][0]
        return share.headers, {"cluster": share.upstream.name, **present(host_rewrite_literal=share.host_rewrite)}
    clusters = [
        {
            "name": share.upstream.name,
            "weight": weight,
            **present(host_rewrite_literal=share.host_rewrite),
            **header_changes(share.headers),
        }
        for share, weight in shares
    ]
    return HeaderChanges(), {"weighted_clusters": {"clusters": clusters}}


def _treatment(treatment: Treatment) -> dict[str, Any]:
    idle = None if treatment.idle_timeout_ms is None else duration(treatment.idle_timeout_ms)
    return given(timeout=duration(treatment.timeout_ms), idle_timeout=idle) | present(
        prefix_rewrite=treatment.prefix_rewrite,
        regex_rewrite=_regex(treatment.regex_rewrite),
        auto_host_rewrite=treatment.auto_host_rewrite,
        priority=treatment.priority.upper(),
        retry_policy=treatment.retry_policy and retry_policy(treatment.retry_policy),
        upgrade_configs=[{"upgrade_type": protocol} for protocol in treatment.upgrades],
    )


def _regex(rewrite: RegexRewrite | None) -> dict[str, Any] | None:
    return {"pattern": {"regex": rewrite.pattern}, "substitution": rewrite.substitution} if rewrite else None


def route_match(match: RouteMatch) -> dict[str, Any]:
    headers = list(match.headers)
    if match.method:
        headers.append(Condition(":method", REGEX if match.method_regex else EXACT, match.method))
    if match.authority_regex:
        headers.append(Condition(":authority", REGEX, match.authority))
    if match.authority_asked:
        headers.append(Condition(":authority", REGEX, wildcard_regex(match.authority)))
    return _path(match) | present(
        headers=[_condition(header) for header in headers],
        query_parameters=[_condition(parameter) for parameter in match.query],
    )


def _path(match: RouteMatch) -> dict[str, Any]:
    if match.path_sort == REGEX:
        # Envoy has `case_sensitive` for texts only.
        return {"safe_regex": {"regex": match.path if match.case_sensitive else f"(?i){match.path}"}}
    return {PATHS[match.path_sort]: match.path, **({} if match.case_sensitive else {"case_sensitive": False})}


def _condition(condition: Condition) -> dict[str, Any]:
    """The fields that HeaderMatcher and QueryParameterMatcher have in common."""
    if condition.sort == EXACT:
        return {"name": condition.name, "string_match": {"exact": condition.value}}
    if condition.sort == REGEX:
        return {"name": condition.name, "string_match": {"safe_regex": {"regex": condition.value}}}
    return {"name": condition.name, "present_match": True}
