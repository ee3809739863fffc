"""Envoy's endpoints (``envoy.config.endpoint.v3.ClusterLoadAssignment``): all in one locality, with equal weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def load_assignment(name: str, endpoints: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """The assignment of the cluster ``name`` to (host, port) endpoints.

    Without endpoints it is an empty assignment: a cluster that waits for its endpoints would keep Envoy from starting,
    one that has none does not.
    """
    found = [
        {"endpoint": {"address": {"socket_address": {"address": host, "port_value": port}}}} for host, port in endpoints
    ]
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": found}] if found else []}
