"""The naive oracle's part for BGP: the mesh of routers (docs/contrail.md D.12), from the whole world, by loops alone.

Written from the specification; imports nothing of intentc. ``contrail.py`` joins it with the other parts.
"""

from __future__ import annotations

from typing import Any

from tests.oracle.contrail_world import Expected, Json, World, normal, resources, targets

MESH_ATTRIBUTE: Json = {"session": [{"attributes": [{}]}]}
"""What a link of the mesh has, without what means nothing."""


def expected(world: World) -> Expected:
    """(kind, fq_name) → the fields of BGP: ``bgp_router_parameters``, ``bgp_router_refs`` {name: attribute}."""
    found: Expected = {}
    for router in resources(world, "bgp_router"):
        parameters = dict(router.get("bgp_router_parameters") or {})
        links = stored_links(world, router)
        if not of_a_service(router):
            if is_contrail(router) and not group_of(world, router):
                parameters["autonomous_system"] = global_system(world)
            if auto_mesh(world):
                links = {name: attribute for name, attribute in links.items() if attribute != MESH_ATTRIBUTE}
                for other in resources(world, "bgp_router"):
                    name = ":".join(other["fq_name"])
                    if other is router or not (candidate(world, router) and candidate(world, other)):
                        continue
                    if group_of(world, router) != group_of(world, other):
                        continue
                    if linked(world, router, other):
                        links.setdefault(name, MESH_ATTRIBUTE)
                    else:
                        links.pop(name, None)
        fields = {"bgp_router_parameters": normal(parameters), "bgp_router_refs": links}
        found["bgp_router", tuple(router["fq_name"])] = fields
    return found


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    return {
        ("bgp_router", tuple(router["fq_name"])): {
            "bgp_router_parameters": normal(router.get("bgp_router_parameters") or {}),
            "bgp_router_refs": stored_links(world, router),
        }
        for router in resources(world, "bgp_router")
    }


def stored_links(world: World, router: Json) -> dict[str, Any]:
    links = {}
    for entry in router.get("bgp_router_refs") or []:
        for other in resources(world, "bgp_router"):
            if other["uuid"] == entry.get("uuid") or (not entry.get("uuid") and other["fq_name"] == entry["to"]):
                links[":".join(other["fq_name"])] = normal(entry.get("attr") or {})
    return links


def candidate(world: World, router: Json) -> bool:
    if of_a_service(router):
        return False
    own = (router.get("bgp_router_parameters") or {}).get("autonomous_system")
    in_system = is_contrail(router) or own == global_system(world)
    return in_system or bool(group_of(world, router)) or bool(fabrics_of(world, router))


def linked(world: World, one: Json, other: Json) -> bool:
    """The route reflectors' rule for two candidates."""
    everyone = [router for router in resources(world, "bgp_router") if not of_a_service(router)]
    reflectors = [router for router in everyone if is_reflector(router)]
    if not reflectors:
        return True
    if is_control(one) and is_control(other) and not any(is_control(router) for router in reflectors):
        return True
    if one not in reflectors and other not in reflectors:
        return False
    fabrics = fabrics_of(world, one), fabrics_of(world, other)
    return not all(fabrics) or bool(fabrics[0] & fabrics[1])


def group_of(world: World, router: Json) -> tuple[str, ...]:
    """The name of its sub-cluster; empty without one."""
    names = sorted(tuple(cluster["fq_name"]) for cluster in targets(world, router, "sub_cluster"))
    return names[0] if names else ()


def fabrics_of(world: World, router: Json) -> set[tuple[str, ...]]:
    found = set()
    for device in resources(world, "physical_router"):
        if router in targets(world, device, "bgp_router"):
            found |= {tuple(fabric["fq_name"]) for fabric in targets(world, device, "fabric")}
    return found


def of_a_service(router: Json) -> bool:
    kind = (router.get("bgp_router_parameters") or {}).get("router_type") or ""
    return str(kind).startswith("bgpaas-")


def is_contrail(router: Json) -> bool:
    vendor = (router.get("bgp_router_parameters") or {}).get("vendor") or "contrail"
    return str(vendor).lower() == "contrail"


def is_control(router: Json) -> bool:
    return (router.get("bgp_router_parameters") or {}).get("router_type") == "control-node"


def is_reflector(router: Json) -> bool:
    return bool((router.get("bgp_router_parameters") or {}).get("cluster_id"))


def global_system(world: World) -> int:
    for config in resources(world, "global_system_config"):
        return int(config.get("autonomous_system") or 64512)
    return 64512


def auto_mesh(world: World) -> bool:
    """True unless it is switched off; a missing value is true."""
    return all(config.get("ibgp_auto_mesh") in (None, True) for config in resources(world, "global_system_config"))
