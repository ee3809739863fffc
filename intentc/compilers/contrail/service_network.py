"""The network that a project has for the interfaces of its services that name none, one for each type
(docs/contrail.md D.8.10).

A fact that the services yield, and an intent while any does. It reads through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID, uuid5

from intentc import Claim, Context, Fact, Intent, refer

from .service_machines import SERVICE_NETWORK
from .service_ports import OWN_NETWORKS
from .source_nat import SHARED_IPAM

SUBNETS = {
    "management": ("10.250.1.", "fd12:3456:789a:1::"),
    "left": ("10.250.2.", "fd12:3456:789a:2::"),
    "right": ("10.250.3.", "fd12:3456:789a:3::"),
}
"""Type of interface → the beginnings of its IPv4 and IPv6 addresses, 24 and 64 bits."""


class ServiceNetworkIntent(Intent):
    """A fact; its name is the uuid of the project, and the type of interface."""

    kind = SERVICE_NETWORK

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        of_project, side = self.name.split(" ")
        project = ctx.get("project", of_project)
        if project is None or ctx.is_taken("virtual_network", (*project.fq_name, OWN_NETWORKS[side])):
            return
        network = self.child_of(project, "virtual_network", OWN_NETWORKS[side])
        version4, version6 = SUBNETS[side]
        subnets = [
            # All that the server would fill in.
            {
                "subnet": {"ip_prefix": prefix, "ip_prefix_len": length},
                "subnet_uuid": str(uuid5(UUID(of_project), prefix)),
                "default_gateway": gateway,
                "dns_server_address": service,
            }
            for prefix, length, gateway, service in (
                (f"{version4}0", 24, f"{version4}254", f"{version4}253"),
                (version6, 64, f"{version6[:-1]}ffff:ffff:ffff:fffe", f"{version6[:-1]}ffff:ffff:ffff:fffd"),
            )
        ]
        yield network
        yield refer(network, SHARED_IPAM, ipam_subnets=subnets)
