"""The naive oracle's part for security logging objects: which rules each logs, how often (docs/contrail.md D.6)."""

from __future__ import annotations

from tests.oracle.contrail_world import Expected, Json, World, resources


def expected(world: World) -> Expected:
    """security_logging_object: ``security_logging_object_rules``, sorted (uuid, rate)."""
    result: Expected = {}
    for logging in resources(world, "security_logging_object"):
        rules = sorted(rules_of(world, logging))
        result["security_logging_object", tuple(logging["fq_name"])] = {"security_logging_object_rules": rules}
    return result


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    result: Expected = {}
    for logging in resources(world, "security_logging_object"):
        stored = (logging.get("security_logging_object_rules") or {}).get("rule") or []
        rules = sorted((rule["rule_uuid"], rule["rate"]) for rule in stored)
        result["security_logging_object", tuple(logging["fq_name"])] = {"security_logging_object_rules": rules}
    return result


def rules_of(world: World, logging: Json) -> set[tuple[str, int]]:
    found = set()
    rate = logging.get("security_logging_object_rate") or 100
    for kind in ("network_policy", "security_group"):
        for reference in logging.get(f"{kind}_refs") or []:
            for target in resources(world, kind):
                if reference.get("uuid") != target["uuid"] and reference.get("to") != target["fq_name"]:
                    continue
                chosen = (reference.get("attr") or {}).get("rule") or []
                every = (target.get(f"{kind}_entries") or {}).get("policy_rule") or []
                rules = chosen or [{"rule_uuid": rule.get("rule_uuid")} for rule in every]
                found |= {(rule["rule_uuid"], rule.get("rate") or rate) for rule in rules if rule.get("rule_uuid")}
    return found
