"""An interface leads from a router to its network. One of a service has a table of the service chains that lead through
it (docs/contrail.md D.8.8), and what the service gives to its ports (D.8.9); one that is mirrored gets the address of
its analyzer (D.8.7); one that uses SR-IOV needs a port group at the switch (D.16).

It reads and gives reasons through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .interface_mirror import interface_mirror
from .port_groups import port_group_facts
from .service_interfaces import of_services
from .vrf_assign_table import vrf_assign_table


class VirtualMachineInterfaceIntent(Intent):
    kind = "virtual_machine_interface"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from vrf_assign_table(self, ctx)
        yield from of_services(self, ctx)
        yield from port_group_facts(self, ctx)
        yield from interface_mirror(self, ctx)
