"""The naive oracle for Contrail: the whole world in, what should be there out, by loops and sets alone
(docs/engine.md §10).

Written from docs/contrail.md without a look at the compiler, and importing nothing of intentc. It has no cache, no
graph and no order: it looks at everything each time. Each part has a module of its own, with ``expected`` and
``actual``: (kind, fq_name) → the fields that compilers write, of everything that should be, or is, there.

Numbers are ``{owner: number}`` as they are allocated, owner ``<installation>/<origin uuid>/<purpose>``.
"""

from __future__ import annotations

from tests.oracle import (
    contrail_bgp,
    contrail_chains,
    contrail_groups,
    contrail_logging,
    contrail_policies,
    contrail_port_groups,
    contrail_route_targets,
    contrail_routes,
    contrail_routing_policies,
    contrail_service_machines,
    contrail_services,
    contrail_source_nat,
)
from tests.oracle.contrail_world import Expected, Json, World, is_users, mark, normal, resources, targets

__all__ = ["Expected", "Json", "World", "actual", "expected", "mark", "normal", "resources", "targets"]


def expected(world: World, numbers: dict[str, int], *, routers: bool = True) -> Expected:
    """What should be there: the parts' ``expected``, joined. ``routers``: ``contrail.logical_routers_enabled``."""
    everything = joined(
        contrail_groups.expected(world),
        contrail_policies.expected(world, contrail_chains.translating(world), routers=routers),
        contrail_route_targets.expected(world, numbers),
        contrail_routes.expected(world, numbers),
        contrail_logging.expected(world),
        contrail_bgp.expected(world, numbers),
        contrail_routing_policies.expected(world),
        contrail_services.expected(world),
        contrail_service_machines.expected(world),
        contrail_source_nat.expected(world),
        contrail_chains.expected(world, numbers),
        contrail_port_groups.expected(world),
    )
    return without_taken(world, everything)


OF_THE_OBJECT: dict[str, tuple[str, ...] | None] = {
    "virtual_machine": None,
    "interface_route_table": None,
    "instance_ip": None,
    "virtual_network": None,
    "route_table": None,
    "service_instance": ("service", "template"),
    "virtual_machine_interface": ("side", "preference", "refers", "tag", "virtual_network_refs"),
    "virtual_port_group": None,
}
"""The kinds of which users and compilers make some: the fields that only a compiler's object has; None for all."""


def without_taken(world: World, found: Expected) -> Expected:
    """The same without the objects whose names users' objects have; these have only what any user's object has
    (docs/engine.md §5.6)."""
    result: Expected = {}
    for (kind, name), fields in found.items():
        made = OF_THE_OBJECT.get(kind, ())
        if is_users(world, kind, name):
            fields = {field: value for field, value in fields.items() if made is not None and field not in made}
        if fields or made is not None:
            result[kind, name] = fields
    return result


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    parts = (
        contrail_groups,
        contrail_policies,
        contrail_route_targets,
        contrail_routes,
        contrail_logging,
        contrail_bgp,
        contrail_routing_policies,
        contrail_services,
        contrail_service_machines,
        contrail_source_nat,
        contrail_chains,
        contrail_port_groups,
    )
    return joined(*(part.actual(world) for part in parts))


def joined(*parts: Expected) -> Expected:
    """All objects of all parts, each with the fields that the parts have of it. References of several parts are united,
    and directions that differ are both."""
    result: Expected = {}
    for part in parts:
        for name, fields in part.items():
            found = result.setdefault(name, {})
            for field, value in fields.items():
                before = found.get(field)
                if field == "routing_instance_refs" and before:
                    value = sorted({*before, *value})
                elif field == "route_target_refs" and before:
                    directions = {
                        t: before[t] if before.get(t, how) == how else "" for t, how in value.items() if t in before
                    }
                    value = dict(sorted((before | value | directions).items()))
                found[field] = value
    return result
