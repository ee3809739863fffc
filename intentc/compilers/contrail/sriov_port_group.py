"""The port group of a switch's port, while machines behind it use SR-IOV (docs/contrail.md D.16).

It reads and gives reasons through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, Name, Source, refer

from .port_groups import PORT_GROUP


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
