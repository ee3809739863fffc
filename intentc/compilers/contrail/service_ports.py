"""Reads what a service instance is: its mode, its interfaces with their networks, and what it runs on (docs/contrail.md
D.8.1).

A service instance runs on port tuples, or on machines; each has a left and a right port, through which traffic enters
and leaves, and those have service addresses. ``virtual_machine_interface.py`` says what ports get from services.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from intentc import View

from .instance_ip import service_address

LEFT, RIGHT = "left", "right"

IN_NETWORK, TRANSLATING, TRANSPARENT = "in-network", "in-network-nat", "transparent"

ONE_WAY = ">"

FAMILIES = ((4, "v4"), (6, "v6"))

ACTIVE_ACTIVE, ACTIVE_STANDBY = "active-active", "active-standby"

OWN_NETWORKS = {LEFT: "svc-vn-left", RIGHT: "svc-vn-right", "management": "svc-vn-mgmt"}
"""The types of interfaces for which each project has a network of its own, with its name (docs/contrail.md D.8.1)."""

VISIBLE = "id_perms.user_visible"
"""The part that is false of what services have for themselves."""


class Addresses(NamedTuple):
    """The service addresses of a port, empty for a family that it has none of."""

    version4: str = ""
    version6: str = ""


class Running(NamedTuple):
    """A port tuple or machine of a service, with the addresses of its left and of its right port."""

    left: Addresses
    right: Addresses


class Host(NamedTuple):
    """A port tuple or machine of a transparent service, with its left and its right port."""

    host: View
    left: View
    right: View

    @property
    def ports(self) -> tuple[View, View]:
        return self.left, self.right


def mode(service: View) -> str:
    """The mode of a service instance, from its template."""
    properties = template_properties(service)
    return str(properties.service_mode or TRANSPARENT) if properties is not None else TRANSPARENT


def template_properties(service: View) -> Any:
    """The ``service_template_properties`` of the service's template, None without one."""
    for template in service.references("service_template")[:1]:
        return template.service_template_properties
    return None


class Interface(NamedTuple):
    """An interface of a service: its type, its place in the service's list, its network (its fq_name joined by ``:``,
    may be empty), its allowed address pairs, and whether the service names the network."""

    side: str
    position: int
    network: str
    pairs: tuple[Any, ...]
    is_named: bool


def interfaces(service: View) -> dict[str, Interface]:
    """Type → interface. The template's list of interfaces gives the types, the service's own list the rest. Without a
    network's name it is the project's own network for services of that type."""
    found: dict[str, Interface] = {}
    given = service.service_instance_properties.interface_list
    for template in service.references("service_template")[:1]:
        types = template.service_template_properties.interface_type
        for position, (declared, interface) in enumerate(zip(types, given, strict=False)):
            side = declared.service_interface_type
            own = f"{':'.join(service.fq_name[:-1])}:{OWN_NETWORKS[side]}" if side in OWN_NETWORKS else ""
            named = interface.virtual_network
            pairs = tuple(interface.allowed_address_pairs.allowed_address_pair)
            found.setdefault(side, Interface(side, position, named or own, pairs, bool(named)))
    return found


def is_physical(service: View) -> bool:
    properties = template_properties(service)
    return properties is not None and properties.service_virtualization_type == "physical-device"


def running(service: View, *, needs_right: bool) -> Running | None:
    """The first port tuple or machine of the service, by name, whose ports have service addresses; None without one.
    ``needs_right``: whether its right port must have one, too."""
    for host in hosts(service):
        left, right = (_addresses(host, side) for side in (LEFT, RIGHT))
        if any(left) and (any(right) or not needs_right):
            return Running(left, right)
    return None


def steered(service: View) -> tuple[Host, ...]:
    """The port tuples and machines of a transparent service that have a left and a right port, by name. A port that two
    of them share serves the first."""
    found: list[Host] = []
    used: set[str] = set()
    for host in hosts(service):
        left, right = (_port(host, side) for side in (LEFT, RIGHT))
        if left is not None and right is not None and not used & {left.uuid, right.uuid}:
            used |= {left.uuid, right.uuid}
            found.append(Host(host, left, right))
    return tuple(found)


def hosts(service: View) -> Iterator[View]:
    """What the service runs on: its port tuples, then its machines, each by name."""
    yield from service.children("port_tuple")
    yield from service.back_references("virtual_machine")


def _addresses(host: View, side: str) -> Addresses:
    """The service addresses of the host's port of this side."""
    port = _port(host, side)
    return Addresses(service_address(port, 4), service_address(port, 6)) if port is not None else Addresses()


def _port(host: View, side: str) -> View | None:
    """The host's first port of this side, by name."""
    for port in host.back_references("virtual_machine_interface"):
        if port.virtual_machine_interface_properties.service_interface_type == side:
            return port
    return None


def attached(service: View, kind: str) -> Iterator[tuple[View, Any]]:
    """The resources of ``kind`` that refer to ``service``, with the attribute of that reference."""
    for resource in service.back_references(kind):
        for target, attribute in resource.reference_attributes("service_instance"):
            if target.uuid == service.uuid:
                yield resource, attribute
