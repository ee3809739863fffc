"""Lists the fixed objects and pools of a new installation (docs/contrail.md A.5, B.6).

The primary routing instances of the networks and their numbers are not listed: they are created with the networks. The
group without rules has the number below the pool's, so that users' groups begin with 8000001.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_PROJECT = ["default-domain", "default-project"]

POOLS: tuple[tuple[str, int, int], ...] = (
    ("virtual_network_id", 5, 65535),
    ("security_group_id", 1, 65535),
    ("tag_id", 2, 65535),
    ("tag_type_id", 255, 65535),
    ("route_target_number", 8000100, 8010002),
)
"""(pool, first number, first number after)."""

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
    ("network_ipam", {"fq_name": [*_PROJECT, "service-chain-flat-ipam"]}),
)
"""(kind, fields), parents first."""
