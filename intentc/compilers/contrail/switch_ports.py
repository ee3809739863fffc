"""Where the ports of hosts that use SR-IOV are plugged in (docs/contrail.md D.16).

A host has a virtual router, which names the port that a physical network uses, and a node, whose ports name a switch
and a port there. Each of the three yields its part of the way as a fact, by the names that the next part knows: an
interface then reads three values, and no other switch's change concerns it.

It yields claims and facts from what it reads through ``ctx``, and keeps nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, View

NETWORK_PORT, HOST_PORT, SWITCH_PORT = "network_port", "host_port", "switch_port"
"""Facts: (host, physical network) → the host's port; (host, its port) → switch and port; that → the switch's port."""


class VirtualRouterIntent(Intent):
    kind = "virtual_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for pair in self.virtual_router_sriov_physical_networks.key_value_pair:
            if pair.value:
                yield Fact(NETWORK_PORT, way(_shown(self), pair.key), (self.fq_name, pair.value))


class PortIntent(Intent):
    kind = "port"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        node, link = self.parent(), self.bms_port_info.local_link_connection
        if node is not None and node.hostname and link.switch_info and link.port_id:
            yield Fact(HOST_PORT, way(node.hostname, _shown(self)), (self.fq_name, way(link.switch_info, link.port_id)))


class PhysicalInterfaceIntent(Intent):
    kind = "physical_interface"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        switch = self.parent()
        if switch is not None and switch.physical_router_hostname and switch.references("fabric"):
            place = way(switch.physical_router_hostname, _shown(self).replace(":", "_"))
            yield Fact(SWITCH_PORT, place, (self.fq_name, self.uuid))


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


def _shown(resource: View) -> str:
    """The name by which hosts and switches know it."""
    shown: str = resource.display_name
    return shown or resource.name
