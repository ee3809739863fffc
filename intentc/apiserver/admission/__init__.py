"""Completes and rejects resources, kind by kind (docs/contrail.md B.5, B.7, B.8).

Why it exists: the server over etcd and the offline compile must agree. Each subject has a module; ``fields`` and
``server_fields`` have what concerns all kinds. Rules read other resources, and declare which numbers they request and
what is created along with a resource (``rules``); the server allocates and writes (``rule_execution``). A new rule is a
class in one of the modules, and an entry in ``RULES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from intentc.model import Name

from ..documents import Document
from .bgp import BgpAsAServiceRules, BgpRouterRules, BgpVpnRules, SubClusterRules
from .installation import (
    PORT_POOL,
    ApiAccessListRules,
    ApplicationPolicySetRules,
    GlobalSystemConfigRules,
    ProjectRules,
    ports_of,
)
from .ipams import NetworkIpamRules, VirtualDnsRecordRules, VirtualDnsRules
from .logical_router import LogicalRouterRules
from .policies import FirewallRuleRules, NetworkPolicyRules, SecurityGroupRules
from .ports import AliasIpRules, FloatingIpRules, InstanceIpRules, VirtualMachineInterfaceRules
from .route_tables import RouteTableRules, RoutingInstanceRules, RoutingPolicyRules, ServiceInstanceRules
from .route_targets import RouteTargetRules
from .rules import Rules
from .tags import TagRules, TagTypeRules
from .virtual_network import BridgeDomainRules, VirtualNetworkRules

RULES: Mapping[str, Rules] = {
    rules.kind: rules
    for rules in (
        AliasIpRules(),
        ApiAccessListRules(),
        ApplicationPolicySetRules(),
        BgpAsAServiceRules(),
        BgpRouterRules(),
        BgpVpnRules(),
        BridgeDomainRules(),
        FirewallRuleRules(),
        FloatingIpRules(),
        GlobalSystemConfigRules(),
        InstanceIpRules(),
        LogicalRouterRules(),
        NetworkIpamRules(),
        NetworkPolicyRules(),
        ProjectRules(),
        RouteTableRules(),
        RouteTargetRules(),
        RoutingInstanceRules(),
        RoutingPolicyRules(),
        SecurityGroupRules(),
        ServiceInstanceRules(),
        SubClusterRules(),
        TagRules(),
        TagTypeRules(),
        VirtualDnsRecordRules(),
        VirtualDnsRules(),
        VirtualMachineInterfaceRules(),
        VirtualNetworkRules(),
    )
}
"""Kind → its own rules."""

NO_RULES = Rules()
"""Of every other kind."""

SETTINGS_POOLS: tuple[tuple[str, Name, Callable[[Document], tuple[int, int]]], ...] = (
    (PORT_POOL, Name("global_system_config", ("default-global-system-config",)), ports_of),
)
"""(pool, the object whose settings give its range, the first and last number by these settings)."""
