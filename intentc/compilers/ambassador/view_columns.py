"""What the views of a gateway share: the columns that they have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from intentc import Compiled

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
        # (``envoy.listener.folded``).
        for one in listener["shared_filters"][filters] if isinstance(filters, int) else filters:
            if one["name"] == _TCP_PROXY:
                yield chain, _clusters(one["typed_config"])


def _clusters(proxy: Element) -> list[tuple[str, int]]:
    if "cluster" in proxy:
        return [(proxy["cluster"], 1)]
    return [(cluster["name"], cluster["weight"]) for cluster in proxy["weighted_clusters"]["clusters"]]


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
