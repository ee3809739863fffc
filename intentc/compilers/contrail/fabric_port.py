"""The port by which port groups belong to a network, one for each project and network (docs/contrail.md D.16).

It reads through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, refer

from .port_groups import FABRIC_PORT, fabric_port_name


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
