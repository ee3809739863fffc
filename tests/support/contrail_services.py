"""Port tuples of services of a Contrail system, between the networks ``vn1`` and ``vn2`` of the project ``blue``."""

from __future__ import annotations

from .contrail_system import ContrailSystem, fq_name

SIDES = {"left": "vn1", "right": "vn2"}
"""The type of an interface → the network of its port."""


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
