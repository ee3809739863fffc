"""The naive oracle's part for static routes on primary instances: to services that translate addresses, and to
addresses (docs/contrail.md D.9)."""

from __future__ import annotations

from tests.oracle.contrail_chains import serving
from tests.oracle.contrail_policies import name_of
from tests.oracle.contrail_route_targets import (
    SPECIAL,
    configured,
    primary_instance,
    standing_instances,
    target_of_router,
)
from tests.oracle.contrail_world import Expected, Json, World, normal, resources, targets


def expected(world: World, numbers: dict[str, int]) -> Expected:
    """routing_instance: ``static_route_entries`` (normal routes), ``route_target_refs`` of the routes to services."""
    result: Expected = {}
    for instance in standing_instances(world):
        result["routing_instance", tuple(instance["fq_name"])] = {"static_route_entries": []}
    for network in resources(world, "virtual_network"):
        primary = primary_instance(world, network)
        if primary is None or tuple(primary["fq_name"]) in SPECIAL:
            continue
        routes: list[Json] = []
        for route in [*to_services(world, numbers, network), *to_addresses(world, network)]:
            if normal(route) not in routes:
                routes.append(normal(route))
        imported = {target: "import" for route in routes for target in route.get("route_target", [])}
        fields = {"static_route_entries": routes, "route_target_refs": imported}
        result["routing_instance", tuple(primary["fq_name"])] = fields
        result |= {("route_target", (target,)): {} for target in imported}
    return result


def to_addresses(world: World, network: Json) -> list[Json]:
    return [
        {
            "prefix": given.get("prefix"),
            "next_hop": given.get("next_hop"),
            "community": (given.get("community_attributes") or {}).get("community_attribute"),
        }
        for table in targets(world, network, "route_table")
        for given in (table.get("routes") or {}).get("route") or []
        if given.get("next_hop_type") == "ip-address"
    ]


def to_services(world: World, numbers: dict[str, int], network: Json) -> list[Json]:
    """The routes of tables with routers that name a service whose left network this is."""
    found = []
    for service in sorted(resources(world, "service_instance"), key=name_of):
        serves = serving(world, name_of(service), {"direction": ">"}, "")
        if (
            not serves
            or serves["mode"] != "in-network-nat"
            or interfaces(world, service).get("left") != name_of(network)
        ):
            continue
        for table in sorted(resources(world, "route_table"), key=name_of):
            of_routers = set()
            for router in resources(world, "logical_router"):
                if table in targets(world, router, "route_table"):
                    of_routers |= {target_of_router(world, numbers, router)}
                    of_routers |= set(configured(world, router, "configured_route_target_list"))
            for given in (table.get("routes") or {}).get("route") or []:
                address = serves["addresses"][0][":" in (given.get("prefix") or "")]
                named = given.get("next_hop") == name_of(service) and given.get("next_hop_type") != "ip-address"
                if named and address and of_routers - {None}:
                    route = {"prefix": given.get("prefix"), "next_hop": address}
                    found.append({**route, "route_target": sorted(t for t in of_routers if t)})
    return found


def interfaces(world: World, service: Json) -> dict[str, str]:
    """Type of interface → network, of a service (docs/contrail.md D.8.1)."""
    found: dict[str, str] = {}
    given = (service.get("service_instance_properties") or {}).get("interface_list") or []
    for template in targets(world, service, "service_template")[:1]:
        types = (template.get("service_template_properties") or {}).get("interface_type") or []
        for place in range(min(len(types), len(given))):
            side = types[place].get("service_interface_type") or ""
            own = {"left": "svc-vn-left", "right": "svc-vn-right", "management": "svc-vn-mgmt"}.get(side)
            default = ":".join([*service["fq_name"][:-1], own]) if own else ""
            found.setdefault(side, given[place].get("virtual_network") or default)
    return found


def actual(world: World) -> Expected:
    """What is there, in the same form; references are those of ``contrail_route_targets``."""
    return {
        ("routing_instance", tuple(instance["fq_name"])): {"static_route_entries": stored(instance)}
        for instance in resources(world, "routing_instance")
    }


def stored(instance: Json) -> list[Json]:
    """The routes of an instance, as the API server stores them."""
    routes: list[Json] = normal((instance.get("static_route_entries") or {}).get("route") or [])
    return routes
