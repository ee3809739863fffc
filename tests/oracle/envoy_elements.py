"""What Envoy would do with one request, read from the elements that the compiler made: Envoy's rules, naively.

The other side of the comparison with ``ambassador.py``: listeners, filter chains, virtual hosts, routes, clusters and
endpoints are asked in Envoy's order, with nothing of the compiler and nothing of the xDS server but the rule which
routes belong to a virtual host. A header match or action that it does not know is an error, and never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from tests.oracle.ambassador import CLOSED, NOT_FOUND, Answer, Request, best, covers

Json = dict[str, Any]
Elements = dict[str, list[Json]]
"""Kind → the resources as they are stored."""

_REDIRECTS = {
    "MOVED_PERMANENTLY": 301,
    "FOUND": 302,
    "SEE_OTHER": 303,
    "TEMPORARY_REDIRECT": 307,
    "PERMANENT_REDIRECT": 308,
}
_PATHS = frozenset({"prefix", "path", "path_separated_prefix"})


def answered(elements: Elements, request: Request) -> Answer:
    """What becomes of ``request``; outcomes as those of ``ambassador.answer``."""
    configs = [one["config"] for one in elements.get("envoy_listener", [])]
    listening = [one for one in configs if one["address"]["socket_address"]["port_value"] == request.port]
    assert len(listening) <= 1, "two listeners have one port"
    chain = _chain(listening[0]["filter_chains"], request) if listening else None
    if chain is None:
        return CLOSED
    (network_filter,) = chain["filters"]
    config = network_filter["typed_config"]
    if network_filter["name"] == "envoy.filters.network.tcp_proxy":
        parts = config.get("weighted_clusters", {}).get("clusters") or [{"name": config["cluster"], "weight": 1}]
        return _divided(elements, parts, lambda target, tls, _: ("tcp", target, tls) if target else ("closed",))
    if request.tls and "transport_socket" not in chain:
        return CLOSED
    return _http(elements, config, request)


def _chain(chains: list[Json], request: Request) -> Json | None:
    """Server names decide before the transport protocol, as in Envoy."""
    keys = [str(chain.get("filter_chain_match", {})) for chain in chains]
    assert len(set(keys)) == len(keys), "Envoy rejects a listener with two equal chains"
    named = {server for chain in chains for server in chain.get("filter_chain_match", {}).get("server_names", ())}
    chosen = best(named, request.host) if request.tls else None
    for protocol in ("tls" if request.tls else "raw_buffer", ""):
        for chain in chains:
            match = chain.get("filter_chain_match", {})
            servers = match.get("server_names", [])
            if (chosen in servers if chosen else not servers) and match.get("transport_protocol", "") == protocol:
                return chain
    return None


def _http(elements: Elements, manager: Json, request: Request) -> Answer:
    name = manager["rds"]["route_config_name"]
    hosts = {one["domain"]: one for one in elements.get("envoy_virtual_host", []) if one["route_configuration"] == name}
    domain = best(set(hosts), request.host)
    if domain is None:
        return NOT_FOUND
    trusted = manager.get("xff_num_trusted_hops", 0) > 0
    proto = request.forwarded if trusted and request.forwarded else "https" if request.tls else "http"
    seen = dict(request.headers) | {
        ":path": request.path,
        ":method": request.method,
        ":authority": request.host,
        "x-forwarded-proto": proto,
    }
    result: Answer = {}
    left = Fraction(1)
    for route in _routes(elements, hosts[domain]):
        if not _matches(route["match"], seen):
            continue
        reached = _fraction(route["match"])
        # One random number is compared with each route's fraction: those before took what is below theirs.
        part = reached - (1 - left)
        if part <= 0:
            continue
        for outcome, probability in _action(elements, route, request).items():
            result[outcome] = result.get(outcome, Fraction(0)) + probability * part
        left = 1 - reached
        if not left:
            return result
    return NOT_FOUND if left == 1 else result | {("status", 404): left}


def _routes(elements: Elements, host: Json) -> Iterator[Json]:
    """Those at the head, then all of the tables that the virtual host's scopes and domain choose."""
    yield from host.get("head") or []
    tables = {(scope, host["domain"]) for scope in host.get("scopes") or [""]}
    chosen = [
        one
        for one in elements.get("envoy_route", [])
        for scope, domain in tables
        if any(table.partition("|")[0] == scope and covers(table.partition("|")[2], domain) for table in one["tables"])
    ]
    different = {one["config"]["name"]: one for one in chosen}.values()
    for one in sorted(different, key=lambda one: str(one["sort_key"]), reverse=True):
        yield one["config"]


def _fraction(match: Json) -> Fraction:
    share = match.get("runtime_fraction", {}).get("default_value")
    if share is None:
        return Fraction(1)
    assert share["denominator"] == "TEN_THOUSAND"
    return Fraction(share["numerator"], 10_000)


def _matches(match: Json, seen: dict[str, str]) -> bool:
    unknown = match.keys() - _PATHS - {"case_sensitive", "headers", "runtime_fraction"}
    assert not unknown, f"a match that is not known here: {unknown}"
    path = seen[":path"]
    wanted: str = match[_sort(match)]
    if not match.get("case_sensitive", True):
        path, wanted = path.lower(), wanted.lower()
    fits = {
        "prefix": path.startswith(wanted),
        "path": path == wanted,
        "path_separated_prefix": path == wanted or path.startswith(f"{wanted}/"),
    }
    return fits[_sort(match)] and all(_header(header, seen) for header in match.get("headers", []))


def _sort(match: Json) -> str:
    (sort,) = match.keys() & _PATHS
    return sort


def _header(header: Json, seen: dict[str, str]) -> bool:
    value = seen.get(header["name"])
    wanted: Json = header.get("string_match", {})
    if value is None and not header.get("treat_missing_header_as_empty"):
        # A header that is missing never fits, whether it is inverted or not, unless its absence is asked for.
        return bool(header.get("invert_match")) and "present_match" in header
    if "present_match" in header:
        fits = True
    elif "exact" in wanted:
        fits = value == wanted["exact"]
    elif "safe_regex" in wanted:
        fits = re.fullmatch(wanted["safe_regex"]["regex"], value or "") is not None
    else:
        fits = (value or "").startswith(wanted["prefix"])
    return fits != bool(header.get("invert_match"))


def _action(elements: Elements, route: Json, request: Request) -> Answer:
    if "direct_response" in route:
        return {("status", route["direct_response"]["status"]): Fraction(1)}
    if "redirect" in route:
        redirect = route["redirect"]
        if redirect.get("https_redirect"):
            return {("https",): Fraction(1)}
        code = _REDIRECTS[redirect.get("response_code", "MOVED_PERMANENTLY")]
        scheme = f"{redirect['scheme_redirect']}://" if "scheme_redirect" in redirect else ""
        port = f":{redirect['port_redirect']}" if "port_redirect" in redirect else ""
        return {
            (
                "redirect",
                f"{scheme}{redirect['host_redirect']}{port}",
                code,
                redirect.get("path_redirect", ""),
            ): Fraction(1)
        }
    action = route["route"]
    rewrite, matched = action.get("prefix_rewrite"), route["match"][_sort(route["match"])]
    path = request.path if rewrite is None else rewrite + request.path[len(matched) :]
    if "regex_rewrite" in action:
        changed = action["regex_rewrite"]
        path = re.sub(changed["pattern"]["regex"], changed["substitution"], request.path)

    def outcome(target: str, tls: bool, part: Json) -> tuple[Any, ...]:
        header = part.get("host_rewrite_literal", request.host)
        return ("http", target, tls, path, header) if target else ("status", 503)

    parts = action.get("weighted_clusters", {}).get("clusters") or [{**action, "name": action["cluster"], "weight": 1}]
    return _divided(elements, parts, outcome)


def _divided(elements: Elements, parts: list[Json], outcome: Any) -> Answer:
    """``parts``: clusters with their weights."""
    result: Answer = {}
    whole = sum(part["weight"] for part in parts)
    for part in parts:
        found = list(_endpoints(elements, part["name"]))
        for target, tls in found or [("", False)]:
            key = outcome(target, tls, part)
            result[key] = result.get(key, Fraction(0)) + Fraction(part["weight"], whole * max(len(found), 1))
    return result


def _endpoints(elements: Elements, name: str) -> Iterable[tuple[str, bool]]:
    """(host:port, whether TLS is spoken) of a cluster, which must be there: nothing refers to what is not."""
    (cluster,) = [one["config"] for one in elements.get("envoy_cluster", []) if one["config"]["name"] == name]
    assignment = cluster.get("load_assignment")
    if cluster.get("type") == "EDS":
        (assignment,) = [
            one["config"] for one in elements.get("envoy_endpoints", []) if one["config"]["cluster_name"] == name
        ]
    for locality in assignment.get("endpoints", []):
        for endpoint in locality.get("lb_endpoints", []):
            address = endpoint["endpoint"]["address"]["socket_address"]
            yield f"{address['address']}:{address['port_value']}", "transport_socket" in cluster
