"""The naive oracle's part for routing policies on networks (docs/contrail.md D.10)."""

from __future__ import annotations

from tests.oracle.contrail_world import Expected, Json, World, resources


def expected(world: World) -> Expected:
    """(kind, fq_name) → ``routing_instance_refs`` [names], ``sequences`` {name: sequence} of every routing policy."""
    found: Expected = {}
    for policy in resources(world, "routing_policy"):
        sequences: Json = {}
        for network in resources(world, "virtual_network"):
            instance = [*network["fq_name"], network["fq_name"][-1]]
            if any(other["fq_name"] == instance for other in resources(world, "routing_instance")):
                for entry in network.get("routing_policy_refs") or []:
                    if entry.get("uuid") == policy["uuid"] or entry.get("to") == policy["fq_name"]:
                        sequences[":".join(instance)] = (entry.get("attr") or {}).get("sequence") or ""
        fields = {"routing_instance_refs": sorted(sequences), "sequences": sequences}
        found["routing_policy", tuple(policy["fq_name"])] = fields
    return found


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    found: Expected = {}
    for policy in resources(world, "routing_policy"):
        entries = policy.get("routing_instance_refs") or []
        sequences = {":".join(entry["to"]): (entry.get("attr") or {}).get("sequence") or "" for entry in entries}
        fields = {"routing_instance_refs": sorted(sequences), "sequences": sequences}
        found["routing_policy", tuple(policy["fq_name"])] = fields
    return found
