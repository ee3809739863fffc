"""Names what the server recognizes by itself, and lists the objects and pools of a new installation.

The primary routing instances of the networks and their numbers are not listed: they are created with the networks. The
group without rules has the number below the pool's, so that users' groups begin with 8000001 (docs/contrail.md A.5,
B.6). Pools whose range follows from settings are in ``__init__.py``; those of addresses come with subnets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intentc.model.ownership import MARK_KEY, Mark

ACCESS_LIST = "api_access_list"
"""Its resources hold the rules."""

EVERYBODY = "global_system_config"
"""Lists below it concern every caller."""

DOMAIN, PROJECT = "domain", "project"
"""Lists below one concern the callers whose token is for it."""

DEFAULT_DOMAIN = "default-domain"
"""The name of the domain that Keystone calls ``default``."""


ROOT_KINDS = frozenset({"config_root"})
"""The root of the tree. It is not stored, so its children have no parent_uuid (docs/contrail.md A.3, B.5.4)."""


def mark_of(document: Mapping[str, Any]) -> Mark | None:
    """The mark of a resource that a compiler made; None for others."""
    pairs = (document.get("annotations") or {}).get("key_value_pair") or ()
    marks = (Mark.parse(pair.get("value") or "") for pair in pairs if pair.get("key") == MARK_KEY)
    return next((mark for mark in marks if mark is not None), None)


_PROJECT = ["default-domain", "default-project"]


def _template(name: str, mode: str, sort: str, interfaces: str, **others: Any) -> tuple[str, Mapping[str, Any]]:
    """A service template. ``interfaces``: their types; one with a ``*`` has an address that instances share."""
    properties = {
        "version": 1,
        "service_mode": mode,
        "service_type": sort,
        "service_virtualization_type": "network-namespace",
        "ordered_interfaces": True,
        "service_scaling": False,
        "interface_type": [
            {"service_interface_type": one.rstrip("*"), "shared_ip": one.endswith("*")} for one in interfaces.split()
        ],
        **others,
    }
    fields = {"fq_name": ["default-domain", name], "service_template_properties": properties}
    # Every project may read it and refer to it.
    return "service_template", {**fields, "perms2": {"global_access": 5}}


POOLS: tuple[tuple[str, int, int], ...] = (
    ("virtual_network_id", 5, 65535),
    ("security_group_id", 1, 65535),
    ("tag_id", 2, 65535),
    ("tag_type_id", 255, 65535),
    ("route_target_number", 8000100, 8000000 + 2**24 + 1),
    ("service_chain_vlan:", 1, 4095),
)
"""(pool or family of pools, first number, first number after)."""

ADDRESS_POOLS = "addresses:"
"""The beginning of the names of the pools of addresses, which come and go with subnets."""

OBJECTS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (
        "global_system_config",
        {
            "uuid": "beefbeef-beef-beef-beef-beefbeef0001",
            "fq_name": ["default-global-system-config"],
            "autonomous_system": 64512,
        },
    ),
    ("domain", {"uuid": "beefbeef-beef-beef-beef-beefbeef0002", "fq_name": ["default-domain"]}),
    ("project", {"fq_name": _PROJECT}),
    ("security_group", {"fq_name": [*_PROJECT, "__no_rule__"], "security_group_id": 8000000}),
    ("virtual_network", {"fq_name": [*_PROJECT, "ip-fabric"], "is_provider_network": True}),
    (
        "routing_instance",
        {"fq_name": [*_PROJECT, "ip-fabric", "__default__"], "routing_instance_is_default": False},
    ),
    ("virtual_network", {"fq_name": [*_PROJECT, "__link_local__"]}),
    ("virtual_network", {"fq_name": [*_PROJECT, "default-virtual-network"]}),
    ("route_target", {"fq_name": ["target:64512:8000000"]}),
    ("route_target", {"fq_name": ["target:64512:8000001"]}),
    # Every project may read it and refer to it, as in Contrail.
    ("network_ipam", {"fq_name": [*_PROJECT, "default-network-ipam"], "perms2": {"global_access": 5}}),
    (
        "network_ipam",
        {
            "fq_name": [*_PROJECT, "service-chain-flat-ipam"],
            "ipam_subnet_method": "flat-subnet",
            "ipam_subnets": {
                "subnets": [
                    {"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 8}},  # noqa: S104
                    {"subnet": {"ip_prefix": "::ffff", "ip_prefix_len": 104}},
                ]
            },
        },
    ),
    ("policy_management", {"fq_name": ["default-policy-management"], "parent_type": "config-root"}),
    (
        "application_policy_set",
        {
            "fq_name": ["default-policy-management", "default-application-policy-set"],
            "parent_type": "policy-management",
            "all_applications": True,
        },
    ),
    _template(
        "analyzer-template",
        "transparent",
        "analyzer",
        "left",
        service_virtualization_type="virtual-machine",
        image_name="analyzer",
        flavor="m1.medium",
    ),
    _template(
        "nat-template",
        "in-network-nat",
        "firewall",
        "management left right",
        service_virtualization_type="virtual-machine",
        image_name="analyzer",
        flavor="m1.medium",
    ),
    _template("netns-snat-template", "in-network-nat", "source-nat", "right* left*", service_scaling=True),
    _template("haproxy-loadbalancer-template", "in-network-nat", "loadbalancer", "right* left*", service_scaling=True),
    _template(
        "docker-template",
        "transparent",
        "firewall",
        "management left right",
        service_virtualization_type="vrouter-instance",
        vrouter_instance_type="docker",
        image_name="ubuntu",
    ),
)
"""(kind, fields), parents first."""
