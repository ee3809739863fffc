"""The compiler of Contrail's networks: security groups to access control lists, networks and routers to route targets.

Rules: docs/contrail.md D.1 to D.3 (route targets), D.5 (groups), D.7.1, D.7.2 (routers), D.14 (addresses). The kinds
are declared in ``config/schemas/contrail``, who wakes whom in ``reactions/contrail.yml``. What the API server fills in
(a network's primary routing instance, numbers of groups) is not made here.
"""

from intentc import Compiler

from .alias_ip import AliasIpIntent
from .floating_ip import FloatingIpIntent
from .instance_ip import InstanceIpIntent
from .logical_router import LogicalRouterIntent
from .network_policy import NetworkPolicyIntent
from .project import ProjectIntent
from .route_targets import NUMBER_POOL
from .routing_instance import RoutingInstanceIntent
from .security_group import SecurityGroupIntent
from .virtual_machine_interface import VirtualMachineInterfaceIntent
from .virtual_network import VirtualNetworkIntent

compiler = Compiler(
    "contrail",
    [
        AliasIpIntent,
        FloatingIpIntent,
        InstanceIpIntent,
        LogicalRouterIntent,
        NetworkPolicyIntent,
        ProjectIntent,
        RoutingInstanceIntent,
        SecurityGroupIntent,
        VirtualMachineInterfaceIntent,
        VirtualNetworkIntent,
    ],
    pools=[NUMBER_POOL],
    settings=[],
)
"""What the entry point ``contrail`` of ``intentc.compilers`` leads to."""
