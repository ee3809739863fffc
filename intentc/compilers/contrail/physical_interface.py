"""A port of a switch with a fabric says by which names hosts know it (docs/contrail.md D.16).

``switch_ports.py`` looks it up by these.

It reads through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .switch_ports import SWITCH_PORT, shown, way


class PhysicalInterfaceIntent(Intent):
    kind = "physical_interface"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        switch = self.parent()
        if switch is not None and switch.physical_router_hostname and switch.references("fabric"):
            place = way(switch.physical_router_hostname, shown(self).replace(":", "_"))
            yield Fact(SWITCH_PORT, place, (self.fq_name, self.uuid))
