"""The services in use: their clusters, their endpoints, and how many routes lead to them.

It reads through the ``Compiled`` that it gets, and changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from intentc import Compiled, Overview, Row

from .columns import USERS, Element, Problems, addresses, joined, problems_of, proxied, services_of, shared_columns


def _rows(compiled: Compiled) -> list[Row]:
    services, problems = services_of(compiled), problems_of(compiled)
    routes = Counter(name for route in compiled.objects("envoy_route") for name in route.get("clusters", ()))
    for listener in compiled.objects("envoy_listener"):
        routes.update(name for _, clusters in proxied(listener) for name, _ in clusters)
    found = (_row(compiled, cluster, services, routes, problems) for cluster in compiled.objects("envoy_cluster"))
    return sorted(found, key=lambda row: (row["service"], row["cluster"]))


def _row(
    compiled: Compiled, cluster: Element, services: Mapping[str, str], routes: Mapping[str, int], problems: Problems
) -> Row:
    name = cluster["fq_name"][0]
    found_by, endpoints = _endpoints(compiled, cluster)
    return {
        "service": services[name],
        "found_by": found_by,
        "endpoints": endpoints,
        "tls": "transport_socket" in cluster["config"],
        "routes": routes.get(name, 0),
        **shared_columns(cluster, problems),
        "cluster": name,
    }


def _endpoints(compiled: Compiled, cluster: Element) -> tuple[str, list[str]]:
    """(how they are found, what they are): by ``dns`` a name, as ``endpoints`` or ``address`` addresses, as ``joined``
    the clusters with failover; ``nothing`` answers 503."""
    config, name = cluster["config"], cluster["fq_name"][0]
    if config.get("type") == "EDS":
        assignment = compiled.named("envoy_endpoints", name)
        return "endpoints", addresses(assignment["config"]) if assignment is not None else []
    if joined(cluster):
        return "joined", joined(cluster)
    found = addresses(config["load_assignment"])
    return "dns" if "cluster_type" in config else "address" if found else "nothing", found


SERVICES = Overview(
    "the services in use, and how they are reached",
    ("envoy_cluster", "envoy_endpoints", "envoy_route", "envoy_listener", *USERS),
    ("service", "found_by", "endpoints", "tls", "routes", "origins", "problems", "cluster"),
    _rows,
)
"""``service``: as the first resource that asks for it writes it. ``routes``: the number of routes that lead there,
including TCP."""
