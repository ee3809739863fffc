"""The view ``routes``: one line for each route, or for each of its clusters, with the resources that it comes from; and
the columns that all views share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from intentc import Compiled, Overview, Row
from intentc.model.hostname_patterns import ANY, covers

from .envoy.route import CODES, PARTS, PATHS
from .routing.route_action import REGEX

USERS = ("mapping", "tcp_mapping", "ingress", "auth_service", "rate_limit_service", "tracing_service", "log_service")
"""The kinds that send requests to a service."""

_TCP_PROXY = "envoy.filters.network.tcp_proxy"

Element = Mapping[str, Any]
Problems = Mapping[tuple[str, str], set[str]]


def problems_of(compiled: Compiled) -> Problems:
    """(kind, name) → the reasons of the problems on this resource."""
    found: dict[tuple[str, str], set[str]] = {}
    for problem in compiled.problems:
        found.setdefault((problem.kind, problem.name), set()).add(problem.reason)
    return found


def origins(element: Element) -> list[dict[str, str]]:
    """The resources and fields that an element comes from: ``{"kind", "name", "field"}`` each."""
    return [
        {"kind": origin["kind"], "name": origin["name"], "field": origin.get("field", "")}
        for origin in element.get("origins", ())
    ]


def shared_columns(element: Element, problems: Problems) -> dict[str, Any]:
    """The columns that every view ends with: ``origins``, and the reasons of ``problems`` on them."""
    found = origins(element)
    reasons = {reason for origin in found for reason in problems.get((origin["kind"], origin["name"]), ())}
    return {"origins": found, "problems": sorted(reasons)}


def services_of(compiled: Compiled) -> dict[str, str]:
    """Cluster name → its service, as the first resource that asks for it writes it; joined clusters: all services."""
    found: dict[str, str] = {}
    together: dict[str, list[str]] = {}
    for cluster in compiled.objects("envoy_cluster"):
        name = cluster["fq_name"][0]
        found[name] = _service(compiled, cluster)
        if members := joined(cluster):
            together[name] = members
    for name, members in together.items():
        found[name] = ", ".join(found.get(member, member) for member in members)
    return found


def joined(cluster: Element) -> list[str]:
    """The clusters that this one joins with failover; empty for an ordinary one."""
    config = cluster["config"].get("cluster_type", {}).get("typed_config", {})
    found: list[str] = config.get("clusters", [])
    return found


def proxied(listener: Element) -> Iterator[tuple[Element, list[tuple[str, int]]]]:
    """The filter chains of TCP proxies, each with its clusters and their weights."""
    for chain in listener["config"]["filter_chains"]:
        filters = chain["filters"]
        # In a listener with many chains, equal filters are stored once, and chains hold their index
        # (``envoy.listeners.folded``).
        for one in listener["shared_filters"][filters] if isinstance(filters, int) else filters:
            if one["name"] == _TCP_PROXY:
                yield chain, _clusters(one["typed_config"])


def _clusters(action: Element) -> list[tuple[str, int]]:
    """(name, weight) of the clusters of a TCP proxy or of a route."""
    if "cluster" in action:
        return [(action["cluster"], 1)]
    return [(cluster["name"], cluster["weight"]) for cluster in action["weighted_clusters"]["clusters"]]


def _service(compiled: Compiled, cluster: Element) -> str:
    for origin in origins(cluster):
        asking = compiled.named(origin["kind"], origin["name"])
        service = _written(asking, origin["field"])
        if service:
            return service
    # If no single resource can be shown, use the readable start of the cluster's name.
    return str(cluster["fq_name"][0]).rpartition("-")[0]


def _written(resource: Element | None, field: str) -> str:
    """The service that a field (``service``, or a path such as ``rules[0].http.paths[0].backend``) names."""
    found: Any = resource
    for step in re.findall(r"[^.\[\]]+", field):
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return found
    backend = found.get("service") if isinstance(found, Mapping) else None
    if not isinstance(backend, Mapping):
        return ""
    port = backend.get("port") or {}
    return ":".join(str(part) for part in (backend.get("name"), port.get("number") or port.get("name")) if part)


def addresses(assignment: Mapping[str, Any]) -> list[str]:
    """``host:port`` of every endpoint in a ClusterLoadAssignment."""
    sockets = (
        endpoint["endpoint"]["address"]["socket_address"]
        for locality in assignment.get("endpoints", ())
        for endpoint in locality["lb_endpoints"]
    )
    return [host_and_port(socket["address"], socket["port_value"]) for socket in sockets]


def host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def shares(
    clusters: Iterable[tuple[str, int]], services: Mapping[str, str], whole: float = 100.0
) -> list[dict[str, Any]]:
    """``{"service", "percent"}`` for clusters with weights, of which only the proportions matter. ``whole``: the
    percentage that they share."""
    weighted = list(clusters)
    total = sum(weight for _, weight in weighted)
    parts = ((name, round(whole * weight / total, 2)) for name, weight in weighted)
    return [
        {"service": services.get(name, name), "percent": int(part) if part.is_integer() else part}
        for name, part in parts
    ]


def _rows(compiled: Compiled) -> Iterator[Row]:
    services, problems = services_of(compiled), problems_of(compiled)
    before, reached, served = "", 0, _Served(compiled)
    descending = sorted(compiled.objects("envoy_route"), key=lambda route: str(route["sort_key"]), reverse=True)
    found = ((route, served.hostnames(route)) for route in descending)
    # By host name, then in Envoy's order.
    for route, hostnames in sorted(found, key=lambda one: one[1][:1]):
        # Several routes of one name are adjacent; the fraction of each includes those before it.
        group = route["sort_key"].rpartition("\t")[0]
        first = reached if group == before else 0
        fraction = route["config"]["match"].get("runtime_fraction", {}).get("default_value", {})
        before, reached = group, int(fraction.get("numerator", PARTS))
        yield {
            "hostnames": hostnames,
            **_match(route),
            "to": _to(route["config"], services, 100 * (reached - first) / PARTS),
            "mirrored": _mirrored(route["config"], services),
            **shared_columns(route, problems),
            "route": route["fq_name"][0],
        }


class _Served:
    """Finds the host names that reach a route, which may be fewer than those of its tables."""

    def __init__(self, compiled: Compiled) -> None:
        self._of_host = {
            ":".join(host["fq_name"]): str(host.get("hostname") or ANY) for host in compiled.objects("host")
        }
        virtual_hosts = compiled.objects("envoy_virtual_host")
        self._of_all = {str(one["domain"]) for one in virtual_hosts if "" in one["scopes"]}
        self._reached: dict[str, bool] = {}

    def hostnames(self, route: Element) -> list[str]:
        """The host names that reach ``route``.

        For a Host that selects the route these are the Host's own; other names count if a Host without a selector
        serves them. If none is left, these are the names of the route itself, and no request reaches it.
        """
        tables = [table.partition("|") for table in route["tables"]]
        there = [(scope, pattern) for scope, _, pattern in tables if scope or self._serves_all(pattern)]
        asked = [(pattern, self._of_host.get(scope, pattern)) for scope, pattern in there]
        found = {own if covers(pattern, own) else pattern for pattern, own in asked}
        return sorted(found or {pattern for _, _, pattern in tables})

    def _serves_all(self, pattern: str) -> bool:
        """Whether a Host without a selector serves names that ``pattern`` covers."""
        if pattern not in self._reached:
            self._reached[pattern] = pattern in self._of_all or (
                ANY in pattern and any(covers(pattern, domain) for domain in self._of_all)
            )
        return self._reached[pattern]


def _match(route: Element) -> Row:
    match = route["config"]["match"]
    headers = match.get("headers", ())
    sort, path = next((sort, match[field]) for sort, field in PATHS.items() if field in match)
    if sort == REGEX:
        path = path["regex"]
    return {
        "hosts": sorted({scope for scope, _, _ in (table.partition("|") for table in route["tables"]) if scope}),
        "path": path,
        "match": sort,
        "method": next((_wanted(header) for header in headers if header["name"] == ":method"), ""),
        "headers": [_condition(header) for header in headers if header["name"] != ":method"],
        "query": [_condition(parameter) for parameter in match.get("query_parameters", ())],
        "precedence": int(route["sort_key"].partition("\t")[0]) - 10**9,
    }


def _condition(condition: Mapping[str, Any]) -> str:
    """``name`` (is there), ``name=value`` or ``name~regex``."""
    wanted = condition.get("string_match", {})
    sign = "~" if "safe_regex" in wanted else "=" if wanted else ""
    return f"{condition['name']}{sign}{_wanted(condition)}"


def _wanted(condition: Mapping[str, Any]) -> str:
    wanted = condition.get("string_match", {})
    return str(wanted["safe_regex"]["regex"] if "safe_regex" in wanted else wanted.get("exact", ""))


def _to(config: Mapping[str, Any], services: Mapping[str, str], percent: float) -> list[dict[str, Any]]:
    if "redirect" in config:
        return [_redirect(config["redirect"])]
    if "direct_response" in config:
        return [{"answer": config["direct_response"]["status"]}]
    return shares(_clusters(config["route"]), services, percent)


def _redirect(redirect: Mapping[str, Any]) -> dict[str, Any]:
    scheme = f"{redirect['scheme_redirect']}:" if "scheme_redirect" in redirect else ""
    port = f":{redirect['port_redirect']}" if "port_redirect" in redirect else ""
    regex = redirect.get("regex_rewrite", {}).get("substitution", "")
    path = redirect.get("path_redirect") or redirect.get("prefix_rewrite") or regex
    target = f"{scheme}//{redirect.get('host_redirect', '')}{port}{path}"
    return {"redirect": target, "code": _NUMBERS[redirect["response_code"]]}


def _mirrored(config: Mapping[str, Any], services: Mapping[str, str]) -> list[dict[str, Any]]:
    policies = config.get("route", {}).get("request_mirror_policies", ())
    return [
        {
            "service": services.get(policy["cluster"], policy["cluster"]),
            "percent": policy["runtime_fraction"]["default_value"]["numerator"],
        }
        for policy in policies
    ]


_NUMBERS = {name: number for number, name in CODES.items()}

ROUTES = Overview(
    "which requests go where: by host name, the first asked first",
    ("envoy_route", "envoy_cluster", "envoy_virtual_host", "host", *USERS),
    (
        "hostnames",
        "path",
        "match",
        "method",
        "headers",
        "query",
        "precedence",
        "to",
        "mirrored",
        "hosts",
        "origins",
        "problems",
        "route",
    ),
    _rows,
)
"""``hosts``: the Hosts that select it, unless all do. ``to``: services with their percent of the requests, a redirect,
or the status of an answer."""
