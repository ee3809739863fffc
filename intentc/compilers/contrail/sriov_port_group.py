"""Port groups of switches for the interfaces of virtual machines that use SR-IOV (docs/contrail.md D.16).

Such an interface passes by the virtual router of its host, so the switch must know its network: the switch's port gets
a port group with a *fabric port* for the network. Each of the two is a fact that interfaces yield, and an intent while
any does, since interfaces share both.

A host has a virtual router, which names the port that a physical network uses, and a node, whose ports name a switch
and a port there, which is a physical interface. Each of the three yields its part of the way as a fact, by the names
that the part before it knows: an interface of a machine then reads three values, and no other switch's change concerns
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Name, Source, View, refer

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


class VirtualRouterIntent(Intent):
    kind = "virtual_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for pair in self.virtual_router_sriov_physical_networks.key_value_pair:
            if pair.value:
                yield Fact(NETWORK_PORT, way(shown(self), pair.key), (self.fq_name, pair.value))


class PortIntent(Intent):
    kind = "port"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        node, link = self.parent(), self.bms_port_info.local_link_connection
        if node is not None and node.hostname and link.switch_info and link.port_id:
            yield Fact(HOST_PORT, way(node.hostname, shown(self)), (self.fq_name, way(link.switch_info, link.port_id)))


class PhysicalInterfaceIntent(Intent):
    kind = "physical_interface"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        switch = self.parent()
        if switch is not None and switch.physical_router_hostname and switch.references("fabric"):
            place = way(switch.physical_router_hostname, shown(self).replace(":", "_"))
            yield Fact(SWITCH_PORT, place, (self.fq_name, self.uuid))


PORT_GROUP, FABRIC_PORT = "sriov_port_group", "fabric_port"
"""Facts, and intents: by the uuid of a physical interface; by the uuids of a project and a network."""

DIRECT = "direct"
"""The value of ``vnic_type`` that means SR-IOV."""


def port_group_facts(interface: View, ctx: Context) -> Iterator[Fact]:
    """What an interface of a machine needs of the switch to which its host is connected."""
    bindings = {pair.key: pair.value for pair in interface.virtual_machine_interface_bindings.key_value_pair}
    host = bindings.get("host_id")
    if bindings.get("vnic_type") != DIRECT or not host or host == "null":
        return
    project = interface.parent()
    for network in interface.references("virtual_network")[:1]:
        provided = network.provider_properties
        if project is None or project.kind != "project" or not provided.physical_network:
            continue
        place = switch_port(host, provided.physical_network, ctx)
        if place is not None and provided.segmentation_id:
            port = ":".join((*project.fq_name, fabric_port_name(network)))
            yield Fact(PORT_GROUP, place, (port, ":".join(interface.fq_name)))
            yield Fact(FABRIC_PORT, f"{project.uuid} {network.uuid}", True)


def fabric_port_name(network: View) -> str:
    return f"__internal_sriov_vmi_to_vn_{network.uuid}__"


class SriovPortGroupIntent(Intent):
    """A fact; its name is the uuid of the physical interface."""

    kind = PORT_GROUP

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        interface = ctx.get("physical_interface", self.name)
        switch = interface.parent() if interface is not None else None
        fabrics = switch.references("fabric")[:1] if switch is not None else ()
        if interface is None or not fabrics:
            return
        name = f"__internal_sriov_vgp_to_pi_{interface.uuid}__"
        group = self.child_of(
            fabrics[0], "virtual_port_group", name, virtual_port_group_user_created=False, usage="sriov-vm"
        )
        yield group
        yield refer(group, interface)
        served: dict[str, list[str]] = {}
        for _, (port, of_machine) in ctx.contributions(PORT_GROUP, self.name):
            served.setdefault(port, []).append(of_machine)
        for port, machines in sorted(served.items()):
            reference = refer(group, Name("virtual_machine_interface", tuple(port.split(":"))))
            for of_machine in machines:
                ctx.because(reference, Source("virtual_machine_interface", of_machine))
            yield reference


class FabricPortIntent(Intent):
    """A fact; its name is made of the uuids of the project and of the network."""

    kind = FABRIC_PORT

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        of_project, of_network = self.name.split(" ")
        project, network = ctx.get("project", of_project), ctx.get("virtual_network", of_network)
        if project is None or network is None:
            return
        tagged = {"sub_interface_vlan_tag": network.provider_properties.segmentation_id}
        port = self.child_of(
            project, "virtual_machine_interface", fabric_port_name(network), virtual_machine_interface_properties=tagged
        )
        yield port
        yield refer(port, network)
