"""The compiler of Contrail networks: makes what vRouters and control nodes read, such as access control lists.

Rules: docs/contrail.md D.1 to D.3 (route targets, links), D.4 (policies), D.5 (groups), D.6 (logging), D.7 (routers),
D.8 (service chains), D.9 (static routes), D.10 (routing policies), D.11 (BGP VPNs), D.12 and D.13 (BGP), D.14
(addresses), D.16 (SR-IOV). The kinds are declared in ``config/schemas/contrail``, the reaction map is
``reactions/contrail.yml``. The API server makes the primary routing instance of a network, and the numbers of groups.

Each intent is in the file named after its kind, or of which its kind is a part: those of addresses in
``instance_ip.py``, of switches in ``sriov_port_group.py``, of projects and BGP VPNs in ``virtual_network.py``. The
other modules hold what several intents need; ``leftovers.py`` is a view.
"""

from intentc import Compiler

from .bgp_as_a_service import PORT_POOL, BgpAsAServiceIntent, BgpServerIntent
from .bgp_router import BgpRouterIntent
from .instance_ip import AliasIpIntent, FloatingIpIntent, InstanceIpIntent
from .leftovers import VIEWS
from .logical_router import LogicalRouterIntent
from .mirroring_service import MirroringServiceIntent
from .network_policy import NetworkPolicyIntent
from .route_targets import NUMBER_POOL
from .routing_instance import RoutingInstanceIntent
from .routing_policy import RouteAggregateIntent, RoutingPolicyIntent
from .security_group import SecurityGroupIntent
from .security_logging_object import SecurityLoggingObjectIntent
from .service_chain import ServiceChainIntent
from .service_instance import ServiceInstanceIntent
from .service_machines import ServiceNetworkIntent
from .sriov_port_group import (
    FabricPortIntent,
    PhysicalInterfaceIntent,
    PortIntent,
    SriovPortGroupIntent,
    VirtualRouterIntent,
)
from .transparent_service import VLAN_POOL
from .virtual_machine_interface import VirtualMachineInterfaceIntent
from .virtual_network import BgpvpnIntent, ProjectIntent, VirtualNetworkIntent

compiler = Compiler(
    "contrail",
    [
        AliasIpIntent,
        BgpAsAServiceIntent,
        BgpRouterIntent,
        BgpServerIntent,
        BgpvpnIntent,
        FabricPortIntent,
        FloatingIpIntent,
        InstanceIpIntent,
        LogicalRouterIntent,
        MirroringServiceIntent,
        NetworkPolicyIntent,
        PhysicalInterfaceIntent,
        PortIntent,
        ProjectIntent,
        RouteAggregateIntent,
        RoutingInstanceIntent,
        RoutingPolicyIntent,
        SecurityGroupIntent,
        SecurityLoggingObjectIntent,
        ServiceChainIntent,
        ServiceInstanceIntent,
        ServiceNetworkIntent,
        SriovPortGroupIntent,
        VirtualMachineInterfaceIntent,
        VirtualNetworkIntent,
        VirtualRouterIntent,
    ],
    pools=[NUMBER_POOL, PORT_POOL, VLAN_POOL],
    settings=["contrail.logical_routers_enabled"],
    views=VIEWS,
)
"""The entry point ``contrail`` of the group ``intentc.compilers``."""
