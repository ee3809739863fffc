"""Completes and rejects resources, kind by kind (docs/contrail.md B.5, B.7, B.8).

Why it exists: the server over etcd and the offline compile must agree. Generic rules are in ``manifests``, ``fields``,
``metadata``, ``copied_status``, ``stamps`` and ``quotas``; each subject with rules of its own has a file, and
``checked_only`` has two small ones. Rules declare what they need to read, which numbers they request, and what is
created along with a resource (``rules.py``); the server reads and writes. Here each kind has its rules, and the pools
are listed whose range follows from settings. ``prepare``, ``admit``, ``stamps`` and ``metadata`` change documents that
they get, in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from intentc.model import Name

from .bgp import BgpAsAServiceRules, BgpRouterRules, SubClusterRules
from .bgpvpns import BgpVpnRules
from .checked_only import ApiAccessListRules, ServiceInstanceRules
from .global_system_config import PORT_POOL, GlobalSystemConfigRules, ports_of
from .ip_addresses import AliasIpRules, FloatingIpRules, InstanceIpRules
from .logical_router import LogicalRouterRules
from .names import FirewallRuleRules, VirtualDnsRecordRules, VirtualDnsRules
from .network_ipam import NetworkIpamRules
from .policy_rules import NetworkPolicyRules
from .project import ApplicationPolicySetRules, ProjectRules
from .route_target import RouteTargetRules
from .routes import RouteTableRules, RoutingInstanceRules, RoutingPolicyRules
from .rules import Document, Rules
from .security_group import SecurityGroupRules
from .tags import TagRules, TagTypeRules
from .virtual_machine_interface import VirtualMachineInterfaceRules
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
