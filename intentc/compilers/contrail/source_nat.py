"""The service that translates the addresses of a router's networks, while the router has an external gateway
(docs/contrail.md D.7.4).

The router makes the service, its left network and the table whose route leads to it; the static routes follow from
these, as from any (``service_routes.py``).

It reads and gives reasons through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

from intentc import Claim, Context, Fact, Intent, Name, Source, View, assign, refer

from .route_target_sources import Reasons
from .service_ports import VISIBLE
from .service_routes import routed_table

TEMPLATE = Name("service_template", ("default-domain", "netns-snat-template"))
"""Its interfaces are the right and the left one, in this order."""

IPAM = "default-network-ipam"
SHARED_IPAM = Name("network_ipam", ("default-domain", "default-project", IPAM))

INTERNAL = "InternalVirtualNetwork"

SUBNET, LENGTH, GATEWAY, SERVICE_ADDRESS = "100.64.0.0", 29, "100.64.0.6", "100.64.0.5"
EVERYWHERE = "0.0.0.0/0"


def source_nat(router: Intent, targets: Iterable[tuple[str, bool, Reasons]], ctx: Context) -> Iterator[Claim | Fact]:
    """What ``router`` makes for its gateway. ``targets``: its route targets, as ``routed_tables`` has them."""
    project, gateway = router.parent(), external_gateway(router)
    if project is None or gateway is None:
        return
    name = f"snat_{router.uuid}_{uuid5(UUID(router.uuid), 'snat')}"
    service_name, left_name = (":".join((*project.fq_name, part)) for part in (name, f"snat-si-left_{name}"))
    left = router.child_of(project, "virtual_network", f"snat-si-left_{name}")
    own = ctx.find("network_ipam", (*project.fq_name, IPAM))
    subnet = {
        "subnet": {"ip_prefix": SUBNET, "ip_prefix_len": LENGTH},
        # All that the server would fill in.
        "subnet_uuid": str(uuid5(UUID(router.uuid), SUBNET)),
        "default_gateway": GATEWAY,
        "dns_server_address": SERVICE_ADDRESS,
    }
    properties = {
        "interface_list": [{"virtual_network": ":".join(gateway.fq_name)}, {"virtual_network": left_name}],
        "scale_out": {"max_instances": 2, "auto_scale": True},
        "ha_mode": "active-standby",
    }
    service = router.child_of(project, "service_instance", name, service_instance_properties=properties)
    route = {"prefix": EVERYWHERE, "next_hop": service_name}
    table = router.child_of(project, "route_table", f"rt_{router.uuid}", routes={"route": [route]})
    attached = Source.of(router, f"virtual_network_refs[{':'.join(gateway.fq_name)}]")
    for claim in (
        left,
        assign(left, VISIBLE, False),
        refer(left, own if own is not None else SHARED_IPAM, ipam_subnets=[subnet]),
        service,
        refer(service, TEMPLATE),
        table,
        refer(router, table),
        refer(router, service),
    ):
        ctx.because(claim, attached)
        yield claim
    # Nobody reads a reference of ours, so the table learns of the router here.
    yield routed_table(":".join((*project.fq_name, f"rt_{router.uuid}")), targets, attached)


def external_gateway(router: View) -> View | None:
    """The first network, by name, to which the router refers and which is not its internal one."""
    for network, attribute in router.reference_attributes("virtual_network"):
        if attribute.logical_router_virtual_network_type != INTERNAL:
            return network
    return None
