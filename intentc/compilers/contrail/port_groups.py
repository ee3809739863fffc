"""Port groups of switches for the interfaces of virtual machines that use SR-IOV (docs/contrail.md D.16).

Such an interface passes by the virtual router of its host, so the switch must know its network: the switch's port gets
a port group with a *fabric port* for the network. Each of the two is a fact that interfaces yield, and an intent while
any does, since interfaces share both.

It reads through the view that it gets and through ``ctx``, and yields facts. The claims are those of
``sriov_port_group.py`` and ``fabric_port.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Context, Fact, View

from .switch_ports import switch_port

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
    """The name of the fabric port of a network."""
    return f"__internal_sriov_vmi_to_vn_{network.uuid}__"
