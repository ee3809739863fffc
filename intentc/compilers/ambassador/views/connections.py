"""TCP connections (TCPMappings): port and host name → services with their shares.

It reads through the ``Compiled`` that it gets, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Compiled, Overview, Row

from .columns import USERS, Element, host_and_port, origins, problems_of, proxied, services_of, shared_columns, shares


def _rows(compiled: Compiled) -> Iterator[Row]:
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
    _rows,
)
