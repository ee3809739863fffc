"""Where the ports of hosts that use SR-IOV are plugged in (docs/contrail.md D.16).

A host has a virtual router, which names the port that a physical network uses, and a node, whose ports name a switch
and a port there, which is a physical interface. Each of the three yields its part of the way as a fact, by the names
that the part before it knows: an interface of a machine then reads three values, and no other switch's change concerns
it.

It reads facts through ``ctx`` and names through the view that it gets; the intents that yield them are named after the
three kinds.
"""

from __future__ import annotations

from intentc import Context, View

NETWORK_PORT, HOST_PORT, SWITCH_PORT = "network_port", "host_port", "switch_port"
"""Facts: (host, physical network) → the host's port; (host, its port) → switch and port; that → the switch's port."""


def switch_port(host: str, physical_network: str, ctx: Context) -> str | None:
    """The uuid of the physical interface through which ``host`` reaches ``physical_network``; None if any part of the
    way is missing. Of several at one place the first by name counts."""
    port = _first(NETWORK_PORT, way(host, physical_network), ctx)
    place = _first(HOST_PORT, way(host, port), ctx) if port else None
    return _first(SWITCH_PORT, place, ctx) if place else None


def way(machine: str, port: str) -> str:
    """The name of a fact about a machine's port, or its physical network."""
    return f"{machine} {port}"


def _first(kind: str, name: str, ctx: Context) -> str | None:
    found = [value for _, value in ctx.contributions(kind, name)]
    return min(found)[1] if found else None


def shown(resource: View) -> str:
    """The name by which hosts and switches know it."""
    found: str = resource.display_name
    return found or resource.name
