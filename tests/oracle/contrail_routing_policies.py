"""The naive oracle's part for routing policies and route aggregates (docs/contrail.md D.10)."""

from __future__ import annotations

from tests.oracle.contrail_chains import standing
from tests.oracle.contrail_policies import name_of
from tests.oracle.contrail_world import Expected, Json, World, resources, targets


def expected(world: World) -> Expected:
    """(kind, fq_name) → ``routing_instance_refs`` [names]; ``sequences`` {name: sequence} of every routing policy,
    ``aggregate_route_nexthop`` of every route aggregate."""
    found: Expected = {}
    chains = standing(world)
    for policy in resources(world, "routing_policy"):
        sequences: Json = {}
        for network in resources(world, "virtual_network"):
            instance = [*network["fq_name"], network["fq_name"][-1]]
            if any(other["fq_name"] == instance for other in resources(world, "routing_instance")):
                for entry in network.get("routing_policy_refs") or []:
                    if entry.get("uuid") == policy["uuid"] or entry.get("to") == policy["fq_name"]:
                        sequences[":".join(instance)] = (entry.get("attr") or {}).get("sequence") or ""
        for entry in policy.get("service_instance_refs") or []:
            for place in places(world, chains, entry):
                sequence = (entry.get("attr") or {}).get(f"{place['side']}_sequence")
                if sequence:
                    sequences[place["instance"]] = sequence
        fields = {"routing_instance_refs": sorted(sequences), "sequences": sequences}
        found["routing_policy", tuple(policy["fq_name"])] = fields
    for aggregate in resources(world, "route_aggregate"):
        hops = []
        routes = (aggregate.get("aggregate_route_entries") or {}).get("route") or []
        for entry in sorted(aggregate.get("service_instance_refs") or [], key=lambda entry: entry.get("to") or []):
            for place in places(world, chains, entry):
                address = place["addresses"][":" in routes[0]] if routes else ""
                if place["side"] == (entry.get("attr") or {}).get("interface_type") and address:
                    hops.append((place["instance"], address))
        fields = {
            "routing_instance_refs": [name for name, _ in hops[:1]],
            "aggregate_route_nexthop": hops[0][1] if hops else "",
        }
        found["route_aggregate", tuple(aggregate["fq_name"])] = fields
    return found


def places(world: World, chains: list[Json], entry: Json) -> list[Json]:
    """The instances of the chains through the service that is referred to, by the chains' uuids: ``side``,
    ``instance``, and its service chain ``addresses``, IPv4 and IPv6."""
    found = []
    for referred in targets(world, {"service_instance_refs": [entry]}, "service_instance"):
        for chain in sorted(chains, key=lambda chain: str(chain["uuid"])):
            for service in chain["services"]:
                if service["name"] != name_of(referred):
                    continue
                for number, side in enumerate(("left", "right")):
                    if side == "right" and service["mode"] == "in-network-nat":
                        continue
                    place = f"service-{chain['uuid']}-{service['name'].replace(':', '_')}"
                    silent = side == "right" and chain["rule"].get("direction") == ">"
                    addresses = ["", ""] if silent else service["addresses"][number]
                    instance = f"{name_of(chain['ends'][number])}:{place}"
                    found.append({"side": side, "instance": instance, "addresses": addresses})
    return found


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    found: Expected = {}
    for policy in resources(world, "routing_policy"):
        entries = policy.get("routing_instance_refs") or []
        sequences = {":".join(entry["to"]): (entry.get("attr") or {}).get("sequence") or "" for entry in entries}
        fields = {"routing_instance_refs": sorted(sequences), "sequences": sequences}
        found["routing_policy", tuple(policy["fq_name"])] = fields
    for aggregate in resources(world, "route_aggregate"):
        found["route_aggregate", tuple(aggregate["fq_name"])] = {
            "routing_instance_refs": [":".join(entry["to"]) for entry in aggregate.get("routing_instance_refs") or []],
            "aggregate_route_nexthop": aggregate.get("aggregate_route_nexthop") or "",
        }
    return found
