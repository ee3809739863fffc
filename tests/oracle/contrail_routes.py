"""The naive oracle's part for static routes: those of route tables on primary instances (docs/contrail.md D.9)."""

from __future__ import annotations

from tests.oracle.contrail_route_targets import SPECIAL, primary_instance, standing_instances
from tests.oracle.contrail_world import Expected, Json, World, normal, resources, targets


def expected(world: World) -> Expected:
    """routing_instance: ``static_route_entries`` (normal routes)."""
    result: Expected = {}
    for instance in standing_instances(world):
        result["routing_instance", tuple(instance["fq_name"])] = {"static_route_entries": []}
    for network in resources(world, "virtual_network"):
        primary = primary_instance(world, network)
        if primary is None or tuple(primary["fq_name"]) in SPECIAL:
            continue
        routes: list[Json] = []
        for table in targets(world, network, "route_table"):
            for given in (table.get("routes") or {}).get("route") or []:
                route = {
                    "prefix": given.get("prefix"),
                    "next_hop": given.get("next_hop"),
                    "community": (given.get("community_attributes") or {}).get("community_attribute"),
                }
                if given.get("next_hop_type") == "ip-address" and normal(route) not in routes:
                    routes.append(normal(route))
        result["routing_instance", tuple(primary["fq_name"])] = {"static_route_entries": routes}
    return result


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    return {
        ("routing_instance", tuple(instance["fq_name"])): {"static_route_entries": stored(instance)}
        for instance in resources(world, "routing_instance")
    }


def stored(instance: Json) -> list[Json]:
    """The routes of an instance, as the API server stores them."""
    routes: list[Json] = normal((instance.get("static_route_entries") or {}).get("route") or [])
    return routes
