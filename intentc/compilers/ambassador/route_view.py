"""The view ``routes``: one line for each route, or for each of its clusters, with the resources that it comes from.

State: what one look-up of hosts has reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from intentc import Compiled, Overview, Row

from .envoy.route import CODES, PARTS, PATHS
from .routing.hostnames import ANY, covers
from .routing.route_match import REGEX
from .view_columns import USERS, Element, problems_of, services_of, shared_columns, shares


def _rows(compiled: Compiled) -> Iterator[Row]:
    services, problems = services_of(compiled), problems_of(compiled)
    before, reached = "", 0
    for route, hostnames in _in_order(compiled.objects("envoy_route"), _Served(compiled)):
        # Several routes of one name are adjacent; the fraction of each includes those before it.
        group = route["sort_key"].rpartition("\t")[0]
        first = reached if group == before else 0
        before, reached = group, _numerator(route["config"]["match"])
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
        found = {self._narrower(scope, pattern) for scope, _, pattern in tables if scope or self._serves_all(pattern)}
        return sorted(found or {pattern for _, _, pattern in tables})

    def _narrower(self, scope: str, pattern: str) -> str:
        own = self._of_host.get(scope, pattern)
        return own if covers(pattern, own) else pattern

    def _serves_all(self, pattern: str) -> bool:
        """Whether a Host without a selector serves names that ``pattern`` covers."""
        if pattern not in self._reached:
            self._reached[pattern] = pattern in self._of_all or (
                ANY in pattern and any(covers(pattern, domain) for domain in self._of_all)
            )
        return self._reached[pattern]


def _in_order(routes: Iterable[Element], served: _Served) -> list[tuple[Element, list[str]]]:
    """The routes with their host names; sorted by host name, then in Envoy's order."""
    descending = sorted(routes, key=lambda route: str(route["sort_key"]), reverse=True)
    return sorted(((route, served.hostnames(route)) for route in descending), key=lambda found: found[1][:1])


def _match(route: Element) -> Row:
    match = route["config"]["match"]
    headers = match.get("headers", ())
    sort, path = _path(match)
    return {
        "hosts": sorted({scope for scope, _, _ in (table.partition("|") for table in route["tables"]) if scope}),
        "path": path,
        "match": sort,
        "method": next((_wanted(header) for header in headers if header["name"] == ":method"), ""),
        "headers": [_condition(header) for header in headers if header["name"] != ":method"],
        "query": [_condition(parameter) for parameter in match.get("query_parameters", ())],
        "precedence": int(route["sort_key"].partition("\t")[0]) - 10**9,
    }


def _path(match: Mapping[str, Any]) -> tuple[str, str]:
    """(how it is matched; the text)"""
    if "safe_regex" in match:
        return REGEX, match["safe_regex"]["regex"]
    return next((sort, match[field]) for sort, field in PATHS.items() if field in match)


def _condition(condition: Mapping[str, Any]) -> str:
    """``name`` (is there), ``name=value`` or ``name~regex``."""
    wanted = condition.get("string_match", {})
    sign = "~" if "safe_regex" in wanted else "=" if wanted else ""
    return f"{condition['name']}{sign}{_wanted(condition)}"


def _wanted(condition: Mapping[str, Any]) -> str:
    wanted = condition.get("string_match", {})
    return str(wanted["safe_regex"]["regex"] if "safe_regex" in wanted else wanted.get("exact", ""))


def _numerator(match: Mapping[str, Any]) -> int:
    return int(match.get("runtime_fraction", {}).get("default_value", {}).get("numerator", PARTS))


def _to(config: Mapping[str, Any], services: Mapping[str, str], percent: float) -> list[dict[str, Any]]:
    if "redirect" in config:
        return [_redirect(config["redirect"])]
    if "direct_response" in config:
        return [{"answer": config["direct_response"]["status"]}]
    action = config["route"]
    if "cluster" in action:
        return shares([(action["cluster"], 1)], services, percent)
    weighted = action["weighted_clusters"]["clusters"]
    return shares([(cluster["name"], cluster["weight"]) for cluster in weighted], services, percent)


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
