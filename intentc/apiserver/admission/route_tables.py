"""Checks route tables, routing policies, routing instances and service instances (docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from intentc.model.names import Name

from ..documents import Document
from ..errors import BadRequest, Conflict, Forbidden
from ..rule_reader import Reader
from ..sources import Source
from . import route_targets
from .rules import Change, Rules, named

_BY_ADDRESS = "ip-address"
_IS_PRIMARY = "routing_instance_is_default"


class RouteTableRules(Rules):
    """No two routes of a table have the same prefix. A route to a service gets into the service's network
    (docs/contrail.md D.9)."""

    kind: ClassVar[str] = "route_table"

    def joined(self, document: Document) -> Iterable[Name]:
        for route in (document.get("routes") or {}).get("route") or ():
            if route.get("next_hop_type") != _BY_ADDRESS:
                yield from named("service_instance", route.get("next_hop"))

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if not change.changes("routes"):
            return
        places: dict[str, int] = {}
        for place, route in enumerate(((change.after or {}).get("routes") or {}).get("route") or ()):
            prefix = route.get("prefix") or ""
            other = places.setdefault(prefix, place)
            if other != place:
                raise BadRequest(
                    f"routes.route[{place}].prefix {prefix} is that of route {other} already; leave one of them out"
                )


class RoutingPolicyRules(route_targets.NamingRules):
    """No action may name a route target that the compiler allocates; the type of the terms stays."""

    kind: ClassVar[str] = "routing_policy"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if change.before is not None and change.changes("term_type"):
            raise Forbidden("term_type can't change; delete the policy and create another")


class RoutingInstanceRules(route_targets.NamingRules):
    """No static route may name a route target that the compiler allocates. A network has one primary instance, which
    has its name and is created and deleted with it."""

    kind: ClassVar[str] = "routing_instance"

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        if change.privileged or not change.changes(_IS_PRIMARY):
            return
        if change.before is not None:
            raise Forbidden(f"{_IS_PRIMARY} can't change: which instance is the primary one of a network stays")
        fq_name = (change.after or {}).get("fq_name") or ()
        if fq_name[-1:] != fq_name[-2:-1]:
            raise Forbidden(
                f"{_IS_PRIMARY}: a network has one primary instance, which has its name and is created with it; leave "
                f"the field out"
            )

    async def verify_deletion(self, change: Change, reader: Reader) -> None:
        if change.privileged or not change.old.get(_IS_PRIMARY):
            return
        network = await reader.by_uuid("virtual_network", change.old.get("parent_uuid") or "")
        if network is not None:
            raise Conflict(
                f"this is the primary routing instance of the network {':'.join(network['fq_name'])}, and is deleted "
                f"with it; delete the network"
            )


_SIDES = ("left", "right", "management")
_TEMPLATES = "service_template_refs"


class ServiceInstanceRules(Rules):
    """An instance has one template at most: its mode and interfaces come from there. It changes the lists of the
    networks that it names (docs/contrail.md D.8.6), or gets ports in them (D.8.10)."""

    kind: ClassVar[str] = "service_instance"

    def joined(self, document: Document) -> Iterable[Name]:
        properties = document.get("service_instance_properties") or {}
        for interface in properties.get("interface_list") or ():
            yield from named("virtual_network", interface.get("virtual_network"))
        yield from named("virtual_network", *(properties.get(f"{side}_virtual_network") for side in _SIDES))

    async def admit(self, change: Change, reader: Reader, uuids: Source) -> None:
        templates = (change.after or {}).get(_TEMPLATES) or ()
        if len(templates) > 1 and change.changes(_TEMPLATES):
            raise BadRequest(f"{_TEMPLATES}: a service instance has one template; leave the others out")
