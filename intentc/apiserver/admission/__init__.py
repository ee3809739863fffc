"""Completes and rejects resources, kind by kind (docs/contrail.md B.5, B.7), as pure functions of values.

Why it exists: the server over etcd and the offline compile must agree. Generic rules are in ``fields`` and ``stamps``;
each kind with rules of its own has a file named after it. Rules declare what they need to read, which numbers they
request, and what is created along with a resource (``rules.py``); the server reads and writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from .api_access_list import ApiAccessListRules
from .bgpvpn import BgpVpnRules
from .global_system_config import GlobalSystemConfigRules
from .logical_router import LogicalRouterRules
from .network_policy import NetworkPolicyRules
from .project import ProjectRules
from .route_target import RouteTargetRules
from .routing_instance import RoutingInstanceRules
from .routing_policy import RoutingPolicyRules
from .rules import Rules
from .security_group import SecurityGroupRules
from .virtual_machine_interface import VirtualMachineInterfaceRules
from .virtual_network import VirtualNetworkRules

RULES: Mapping[str, Rules] = {
    rules.kind: rules
    for rules in (
        ApiAccessListRules(),
        BgpVpnRules(),
        GlobalSystemConfigRules(),
        LogicalRouterRules(),
        NetworkPolicyRules(),
        ProjectRules(),
        RouteTargetRules(),
        RoutingInstanceRules(),
        RoutingPolicyRules(),
        SecurityGroupRules(),
        VirtualMachineInterfaceRules(),
        VirtualNetworkRules(),
    )
}
"""Kind → its own rules."""

NO_RULES = Rules()
"""Of every other kind."""
