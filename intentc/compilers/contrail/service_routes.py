"""Static routes of networks: those of their route tables, and those to service instances that translate addresses, such
as those of routers with a gateway (docs/contrail.md D.9).

Three intents share the work, through facts: a router says which targets the routes of its tables have, a service says
which routes lead to it, and its left network writes them onto its primary routing instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from intentc import Claim, Context, Fact, Name, Source, View, assign, refer, shared

from .instance_ip import version_of
from .route_target_sources import Reasons, explained
from .route_targets import IMPORT
from .service_ports import LEFT, TRANSLATING, interfaces, mode, running

ROUTED = "routed_table"
"""The fact that a router refers to a route table: (target, whether lists name it, reasons) for each of its targets."""

LEADING = "service_route"
"""The fact that routes lead to a service with a left network: (service, routes as ``ServiceRoute``)."""

BY_ADDRESS = "ip-address"
"""The type of next hops that are addresses; any other next hop, also one without a type, names a service instance."""

Targets = tuple[tuple[str, bool, tuple[tuple[Source, ...], ...]], ...]
"""(target, whether lists name it, reasons) of each route target, by name."""


class ServiceRoute(NamedTuple):
    prefix: str
    next_hop: str
    targets: Targets


class Route(NamedTuple):
    """An entry of a table, such as ``static_route_entries``, and why it is there."""

    entry: dict[str, Any]
    reasons: Reasons


def routed_tables(router: View, targets: Iterable[tuple[str, bool, Reasons]]) -> Iterator[Fact]:
    """What the tables of ``router`` must know: its targets, (name, whether lists name it, reasons)."""
    found = list(targets)
    for table in router.references("route_table") if found else ():
        name = ":".join(table.fq_name)
        yield routed_table(name, found, Source.of(router, f"route_table_refs[{name}]"))


def routed_table(table: str, targets: Iterable[tuple[str, bool, Reasons]], attached: Source) -> Fact:
    """The targets of a router that refers to ``table``, because of ``attached``."""
    found = (
        (target, listed, tuple((*reason, attached) for reason in reasons))
        for target, listed, reasons in sorted(targets)
    )
    return Fact(ROUTED, table, tuple(found))


def leading_routes(service: View, ctx: Context) -> Iterator[Fact]:
    """The routes of tables with routers that lead to ``service``, if it translates addresses."""
    interface = interfaces(service).get(LEFT)
    if mode(service) != TRANSLATING or interface is None:
        return
    name = ":".join(service.fq_name)
    named = [
        (table, position, route.prefix)
        for table in service.mentioned_by("route_table", "service_instance")
        for position, route in enumerate(table.routes.route)
        if route.next_hop == name and route.next_hop_type != BY_ADDRESS
    ]
    serving = running(service, needs_right=False) if named else None
    if serving is None:
        return
    found: list[ServiceRoute] = []
    for table, position, prefix in named:
        version = version_of(prefix)
        address = {4: serving.left.version4, 6: serving.left.version6}.get(version)
        targets = _targets(table, Source.of(table, f"routes.route[{position}]"), Source.of(service), ctx)
        if address and targets:
            found.append(ServiceRoute(prefix, address, targets))
    if found:
        yield Fact(LEADING, interface.network, (name, tuple(found)))


def routes_to_services(network: View, ctx: Context) -> tuple[list[Route], dict[str, tuple[bool, Reasons]]]:
    """The routes through services of which ``network`` is the left one, by the services' names; and their targets:
    whether lists name it, reasons."""
    routes: list[Route] = []
    imported: dict[str, tuple[bool, Reasons]] = {}
    contributions: list[tuple[str, tuple[ServiceRoute, ...]]] = sorted(
        value for _, value in ctx.contributions(LEADING, ":".join(network.fq_name))
    )
    for _, entries in contributions:
        for route in entries:
            why: Reasons = []
            for target, listed, reasons in route.targets:
                before = imported.get(target, (False, []))
                imported[target] = (before[0] or listed, [*before[1], *reasons])
                why += reasons
            targets = [target for target, _, _ in route.targets]
            routes.append(Route({"prefix": route.prefix, "next_hop": route.next_hop, "route_target": targets}, why))
    return routes, imported


def imports(instance: View, imported: dict[str, tuple[bool, Reasons]], ctx: Context) -> Iterator[Claim]:
    """References of the primary instance to the targets of its routes through services."""
    for text, (listed, reasons) in imported.items():
        target = shared("route_target", (text,)) if listed else Name("route_target", (text,))
        yield explained(ctx, refer(instance, target, import_export=IMPORT), reasons)
        if not isinstance(target, Name):
            yield explained(ctx, target, reasons)


def _targets(table: View, route: Source, service: Source, ctx: Context) -> Targets:
    """The targets of the table's routers, each once, with the reasons of all."""
    found: dict[str, tuple[bool, tuple[tuple[Source, ...], ...]]] = {}
    for _, targets in ctx.contributions(ROUTED, ":".join(table.fq_name)):
        for target, listed, reasons in targets:
            before = found.get(target, (False, ()))
            found[target] = (before[0] or listed, (*before[1], *((*reason, route, service) for reason in reasons)))
    return tuple((target, *found[target]) for target in sorted(found))


ENTRIES = "static_route_entries"


def static_routes(network: View, instance: View, ctx: Context) -> Iterator[Claim]:
    """One list; equal routes count once."""
    leading, imported = routes_to_services(network, ctx)
    found: dict[bytes, tuple[dict[str, Any], Reasons]] = {}
    for route in (*leading, *_to_addresses(network)):
        found.setdefault(msgspec.json.encode(route.entry), (route.entry, []))[1].extend(route.reasons)
    if not found:
        return
    claim = assign(instance, ENTRIES, {"route": [entry for entry, _ in found.values()]})
    for position, (_, reasons) in enumerate(found.values()):
        explained(ctx, claim, reasons, f"{ENTRIES}.route[{position}]")
    yield claim
    yield from imports(instance, imported, ctx)


def _to_addresses(network: View) -> Iterator[Route]:
    """In the order of the tables' names, and within a table in its order."""
    for table in network.references("route_table"):
        attached = Source.of(network, f"route_table_refs[{':'.join(table.fq_name)}]")
        for position, route in enumerate(table.routes.route):
            if route.next_hop_type == BY_ADDRESS:
                community = list(route.community_attributes.community_attribute)
                entry = {"prefix": route.prefix, "next_hop": route.next_hop, "community": community}
                yield Route(entry, [(attached, Source.of(table, f"routes.route[{position}]"))])
