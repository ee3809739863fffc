"""The shipped kinds of Contrail against docs/contrail.md A.3, written down here a second time."""

from __future__ import annotations

import pytest

from intentc.model.ownership import fits
from intentc.model.schema import Schema

# kind: (parents; * marks a derived relation), (references with attribute type)
TABLE = {
    "config_root": ("", ""),
    "domain": ("config_root", ""),
    "project": ("domain", "alias_ip_pool floating_ip_pool namespace(SubnetType) application_policy_set"),
    "global_system_config": ("config_root", "bgp_router"),
    "virtual_network": (
        "project",
        "network_policy(VirtualNetworkPolicyType) network_ipam(VnSubnetsType) route_table "
        "routing_policy(RoutingPolicyType) bgpvpn logical_router virtual_network security_logging_object qos_config "
        "multicast_policy service_health_check",
    ),
    "network_ipam": ("project", "virtual_DNS"),
    "network_policy": ("project", ""),
    "security_group": ("project", ""),
    "access_control_list": ("security_group* virtual_network*", ""),
    "routing_instance": ("virtual_network*", "route_target(InstanceTargetType) routing_instance(ConnectionType)"),
    "route_target": ("", ""),
    "virtual_machine_interface": (
        "project virtual_machine virtual_router",
        "virtual_network virtual_machine security_group port_tuple routing_instance(PolicyBasedForwardingRuleType) "
        "bgp_router interface_route_table(ServicePortTag) service_health_check(ServicePortTag) security_logging_object "
        "virtual_machine_interface "
        "physical_interface qos_config service_endpoint firewall_group bridge_domain(BridgeDomainMembershipType)",
    ),
    "virtual_machine": ("", "service_instance*"),
    "instance_ip": (
        "",
        "virtual_network network_ipam virtual_machine_interface virtual_router physical_router logical_interface "
        "flow_node",
    ),
    "floating_ip_pool": ("virtual_network", ""),
    "floating_ip": ("floating_ip_pool instance_ip", "project virtual_machine_interface"),
    "alias_ip_pool": ("virtual_network", ""),
    "alias_ip": ("alias_ip_pool", "project virtual_machine_interface"),
    "logical_router": (
        "project",
        "virtual_machine_interface route_target virtual_network(LogicalRouterVirtualNetworkType) route_table "
        "service_instance bgpvpn physical_router fabric",
    ),
    "route_table": ("project", ""),
    "interface_route_table": ("project", "service_instance(ServiceInterfaceTag)*"),
    "service_template": ("domain", "service_appliance_set"),
    "service_instance": ("project", "service_template instance_ip(ServiceInterfaceTag)"),
    "port_tuple": ("service_instance*", "logical_router virtual_network"),
    "service_health_check": ("project", "service_instance(ServiceInterfaceTag)*"),
    "bgp_router": ("routing_instance", "bgp_router(BgpPeeringAttributes) sub_cluster control_node_zone"),
    "bgp_as_a_service": (
        "project",
        "virtual_machine_interface bgp_router service_health_check control_node_zone(BGPaaSControlNodeZoneAttributes)",
    ),
    "bgpvpn": ("project", ""),
    "routing_policy": (
        "project",
        "interface_route_table routing_instance(RoutingPolicyType) service_instance(RoutingPolicyServiceInstanceType)",
    ),
    "route_aggregate": ("project", "routing_instance service_instance(ServiceInterfaceTag)"),
    "security_logging_object": (
        "project global_vrouter_config",
        "network_policy(SecurityLoggingObjectRuleListType) security_group(SecurityLoggingObjectRuleListType)",
    ),
    "physical_router": ("global_system_config", "bgp_router fabric virtual_network virtual_router node_profile"),
    "fabric": ("global_system_config", "virtual_network(FabricNetworkTag) node_profile(SerialNumListType)"),
    "sub_cluster": ("", ""),
    "virtual_router": (
        "global_system_config",
        "virtual_machine network_ipam(VirtualRouterNetworkIpamType) sub_cluster",
    ),
    "node": ("global_system_config", "node_profile"),
    "port": ("node", ""),
    "port_group": ("node", "port"),
    "virtual_port_group": (
        "fabric project",
        "physical_interface(VpgInterfaceParametersType) virtual_machine_interface security_group",
    ),
    "physical_interface": ("physical_router", "physical_interface port"),
    "logical_interface": ("physical_router physical_interface", "virtual_machine_interface"),
    "flow_node": ("global_system_config", "virtual_network"),
    "subnet": ("", "virtual_machine_interface"),
    "service_appliance_set": ("global_system_config", ""),
    "service_appliance": ("service_appliance_set", "physical_interface(ServiceApplianceInterfaceType)"),
    "application_policy_set": (
        "project policy_management",
        "firewall_policy(FirewallSequence) global_vrouter_config",
    ),
    "firewall_policy": (
        "project policy_management",
        "firewall_rule(FirewallSequence) security_logging_object(SloRateType) "
        "firewall_group(FirewallPolicyDirectionType)",
    ),
    "firewall_rule": (
        "project policy_management",
        "service_group address_group virtual_network security_logging_object(SloRateType)",
    ),
    "firewall_group": ("project policy_management", ""),
    "address_group": ("project policy_management", ""),
    "service_group": ("project policy_management", ""),
    "policy_management": ("config_root project", ""),
    "tag_type": ("", ""),
    "tag": ("project config_root", "tag_type"),
    "qos_config": ("project global_qos_config", "global_system_config"),
    "forwarding_class": ("global_qos_config", "qos_queue"),
    "qos_queue": ("global_qos_config", ""),
    "virtual_DNS": ("domain", ""),
    "virtual_DNS_record": ("virtual_DNS", ""),
    "loadbalancer": ("project", "service_appliance_set service_instance virtual_machine_interface"),
    "loadbalancer_listener": ("project", "loadbalancer"),
    "loadbalancer_pool": (
        "project",
        "loadbalancer_listener loadbalancer_healthmonitor service_appliance_set service_instance "
        "virtual_machine_interface",
    ),
    "loadbalancer_member": ("loadbalancer_pool", ""),
    "loadbalancer_healthmonitor": ("project", ""),
    "virtual_ip": ("project", "loadbalancer_pool virtual_machine_interface"),
    "alarm": ("project global_system_config", ""),
    "fabric_namespace": ("fabric", ""),
}

COLLECTIONS = {
    "address_group": "address_group_prefix:list",
    "fabric": "fabric_credentials:list",
    "firewall_rule": "match_tags:list",
    "floating_ip": "floating_ip_port_mappings:list",
    "global_system_config": "user_defined_log_statistics:map(name)",
    "global_vrouter_config": "encryption_tunnel_endpoints:list port_translation_pools:list",
    "multicast_policy": "multicast_source_groups:list",
    "network_ipam": "ipam_subnets:list",
    "qos_config": "dscp_entries:map(key) vlan_priority_entries:map(key) mpls_exp_entries:map(key)",
    "service_group": "service_group_firewall_service_list:list",
    "service_instance": "service_instance_bindings:map(key)",
    "virtual_machine_interface": (
        "virtual_machine_interface_bindings:map(key) virtual_machine_interface_fat_flow_protocols:list"
    ),
    "virtual_network": "virtual_network_fat_flow_protocols:list",
    "virtual_router": "virtual_router_sriov_physical_networks:map(key)",
}
"""Kind → the properties whose elements can be changed one by one, as the predecessor's schema marks them."""


@pytest.mark.parametrize("name", TABLE)
def test_parents_and_references_are_those_of_the_specification(contrail: Schema, name: str) -> None:
    kind = contrail.kind(name)
    parents = " ".join(parent.kind + "*" * parent.derived for parent in kind.parents)
    references = " ".join(
        relation.name + (f"({relation.attribute})" if relation.attribute else "") + "*" * relation.derived
        for relation in kind.relations.values()
        if relation.name != "tag"
    )
    assert (parents, references) == TABLE[name]


def test_every_kind_may_carry_tags(contrail: Schema) -> None:
    assert [kind.name for kind in contrail if "tag" not in kind.relations] == ["tag"]


def test_every_kind_says_what_it_is(contrail: Schema) -> None:
    assert [kind.name for kind in contrail if not kind.description] == []


def test_plurals_follow_no_english_rule(contrail: Schema) -> None:
    policies = contrail.by_plural("network-policys")
    assert policies is contrail.kind("network_policy")
    assert contrail.by_path("bgp-as-a-service") is contrail.kind("bgp_as_a_service")


def test_access_control_lists_and_routing_instances_belong_to_what_they_are_below(contrail: Schema) -> None:
    """They are deleted with their group or network; but not the fabric's two instances, which no network has."""
    system = {kind.name: kind.ours.pattern if kind.ours else None for kind in contrail if kind.system}

    assert system == {
        "access_control_list": r":((in|e)gress-access-control-list|dynamic|([^:]+):\3)$",
        "routing_instance": "(?<!:__default__)(?<!:__link_local__)$",
    }


def test_a_users_reference_to_a_routing_instance_is_not_ours(contrail: Schema) -> None:
    ours = contrail.kind("virtual_machine_interface").relations["routing_instance"].ours

    project = ("default-domain", "blue")
    assert fits(ours, (*project, "left", "service-6f1c-default-domain_default-project_firewall"))
    assert not fits(ours, (*project, "left", "left"))
    # The instance of a network that is called like this.
    assert not fits(ours, (*project, "service-net", "service-net"))


def test_secrets_are_marked(contrail: Schema) -> None:
    sensitive = {(kind.name, name) for kind in contrail for name, field in kind.properties.items() if field.sensitive}

    assert ("physical_router", "physical_router_user_credentials") in sensitive
    assert contrail.kind("bgp_router").types.fields("BgpRouterParams")["auth_data"].sensitive


@pytest.mark.parametrize(
    ("kind", "field", "default"),
    [
        ("global_system_config", "autonomous_system", 64512),
        ("global_system_config", "ibgp_auto_mesh", True),
        ("virtual_network", "port_security_enabled", True),
        ("logical_router", "logical_router_type", "snat-routing"),
        ("security_logging_object", "security_logging_object_rate", 100),
        ("project", "vxlan_routing", False),
    ],
)
def test_a_missing_field_means_the_specifications_default(
    contrail: Schema, kind: str, field: str, default: object
) -> None:
    assert getattr(contrail.kind(kind).decode_values(b'{"fq_name": ["a"]}'), field) == default


def test_collections_are_those_of_the_predecessor(contrail: Schema) -> None:
    declared = {
        kind.name: " ".join(
            f"{field.name}:{field.collection}" + (f"({field.map_key})" if field.map_key else "")
            for field in kind.properties.values()
            if field.collection
        )
        for kind in contrail
        if any(field.collection for field in kind.properties.values())
    }

    assert declared == COLLECTIONS
