"""The views of a gateway (docs/ambassador.md §4.6): its routes, its host names, its TCP connections, and its services.

They read the elements and problems through the ``Compiled`` that they get. ``route_view.py`` has the first, and what
they share. The callers do paging and filtering.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from intentc import Compiled, Overview, Row

from .route_view import (
    ROUTES,
    USERS,
    Element,
    Problems,
    addresses,
    host_and_port,
    joined,
    origins,
    problems_of,
    proxied,
    services_of,
    shared_columns,
    shares,
)


def _connections(compiled: Compiled) -> Iterator[Row]:
    services, problems = services_of(compiled), problems_of(compiled)
    for listener in compiled.objects("envoy_listener"):
        socket = listener["config"]["address"]["socket_address"]
        for chain, clusters in proxied(listener):
            asking = {"origins": _asking(compiled, listener, [name for name, _ in clusters])}
            yield {
                "address": host_and_port(socket["address"], socket["port_value"]),
                "hostnames": chain.get("filter_chain_match", {}).get("server_names", []),
                "tls": "transport_socket" in chain,
                "to": shares(clusters, services),
                **shared_columns(asking, problems),
                "listener": listener["fq_name"][0],
            }


def _asking(compiled: Compiled, listener: Element, clusters: list[str]) -> list[dict[str, str]]:
    """The origins of the listener that are also origins of one of the clusters."""
    leading = [compiled.named("envoy_cluster", name) for name in clusters]
    known = {(one["kind"], one["name"]) for cluster in leading if cluster is not None for one in origins(cluster)}
    return [one for one in origins(listener) if (one["kind"], one["name"]) in known]


CONNECTIONS = Overview(
    "which connections pass as they are, and where they go",
    ("envoy_listener", "envoy_cluster", *USERS),
    ("address", "hostnames", "tls", "to", "origins", "problems", "listener"),
    _connections,
)


def _domains(compiled: Compiled) -> Iterator[Row]:
    problems = problems_of(compiled)
    for virtual_host in compiled.objects("envoy_virtual_host"):
        head = virtual_host.get("head", [])
        listener, _, side = virtual_host["route_configuration"].partition("|")
        yield {
            "domain": virtual_host["domain"],
            "listener": listener,
            "side": side.partition("|")[0],
            "insecure": ("Redirect" if "redirect" in head[0] else "Reject") if head else "Route",
            "hosts": [scope for scope in virtual_host["scopes"] if scope],
            **shared_columns(virtual_host, problems),
        }


DOMAINS = Overview(
    "the host names that are served, on each Listener",
    ("envoy_virtual_host",),
    ("domain", "listener", "side", "insecure", "hosts", "origins", "problems"),
    _domains,
)
"""``side``: ``tls`` or ``cleartext``. ``hosts``: the Hosts with a selector whose Mappings are served."""


def _services(compiled: Compiled) -> list[Row]:
    services, problems = services_of(compiled), problems_of(compiled)
    routes = Counter(name for route in compiled.objects("envoy_route") for name in route.get("clusters", ()))
    for listener in compiled.objects("envoy_listener"):
        routes.update(name for _, clusters in proxied(listener) for name, _ in clusters)
    found = (_service(compiled, cluster, services, routes, problems) for cluster in compiled.objects("envoy_cluster"))
    return sorted(found, key=lambda row: (row["service"], row["cluster"]))


def _service(
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
    _services,
)
"""``service``: as the first resource that asks for it writes it. ``routes``: the number of routes that lead there,
including TCP."""


VIEWS: dict[str, Overview] = {"routes": ROUTES, "domains": DOMAINS, "connections": CONNECTIONS, "services": SERVICES}
"""By the names under which commands and the API offer them."""
