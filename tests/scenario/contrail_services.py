"""Services of a Contrail system and what they stand between, all in the project ``blue``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.contrail_system import ContrailSystem, fq_name

SIDES = {"left": "vn1", "right": "vn2"}
"""The type of an interface → the network of its port."""


async def create_network(system: ContrailSystem, name: str, prefix: str) -> None:
    """A network with one subnet of 256 addresses."""
    ipam = ["default-domain", "default-project", "default-network-ipam"]
    subnets = {"ipam_subnets": [{"subnet": {"ip_prefix": prefix, "ip_prefix_len": 24}}]}
    await system.create("virtual_network", f"blue:{name}", network_ipam_refs=[{"to": ipam, "attr": subnets}])


async def create_template(system: ContrailSystem, version: int, types: Sequence[dict[str, Any]]) -> None:
    """``template``, of services with interfaces of these types."""
    properties = {"version": version, "service_mode": "in-network", "interface_type": [*types]}
    await system.create("service_template", "template", service_template_properties=properties)


async def create_service(system: ContrailSystem, **fields: Any) -> None:
    """``si``, of ``template``."""
    await system.create("service_instance", "blue:si", service_template_refs=[{"to": fq_name("template")}], **fields)


async def create_port_tuple(system: ContrailSystem, service: str, name: str) -> None:
    """A port tuple with a left port in ``vn1`` and a right one in ``vn2``: ``blue:<service>-<name>-<side>``."""
    await system.create("port_tuple", f"blue:{service}:{name}")
    for side, network in SIDES.items():
        await system.create(
            "virtual_machine_interface",
            f"blue:{service}-{name}-{side}",
            parent_type="project",
            virtual_machine_interface_properties={"service_interface_type": side},
            virtual_network_refs=[{"to": fq_name(f"blue:{network}")}],
            port_tuple_refs=[{"to": fq_name(f"blue:{service}:{name}")}],
        )
