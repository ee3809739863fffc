"""Priorities of all rules in the naive compile of docs/appgw.md §8.2."""

from __future__ import annotations

import fnmatch
from typing import Any

Json = dict[str, Any]


def priorities(rules: list[Json], naive: Any) -> tuple[dict[str, int], set[tuple[str, str]]]:
    """Rule → number, and problems. ``rules``: ``{name, hosts, place}``, and ``by``, ``order`` if one is asked for."""
    found: dict[str, int] = {}
    troubles: set[tuple[str, str]] = set()
    asked = [rule for rule in rules if "by" in rule]
    for item in sorted({rule["by"]["key"]: rule["by"] for rule in asked}.items()):
        number = item[1]["a"]["rule-priority"]
        own = [rule for rule in asked if rule["by"]["key"] == item[0]]
        for rule in sorted(own, key=lambda rule: (rule["order"], rule["name"])):
            wanted = min(number, 20000)
            number = wanted
            while number in found.values() and number <= 20000:
                number += 1
            if number > 20000:
                number = max(n for n in range(1, wanted + 1) if n not in found.values())
            if number != wanted:
                troubles.add((item[1]["name"], "PriorityTaken"))
            found[rule["name"]] = number
            number += 1
    rest = sorted((rule for rule in rules if rule["name"] not in found), key=lambda rule: str(rule["name"]))
    exact = [rule for rule in rest if rule["hosts"] and not wild(rule)]
    wide = sorted((rule for rule in rest if wild(rule)), key=lambda rule: -max(len(host) for host in rule["hosts"]))
    bare = [rule for rule in rest if not rule["hosts"]]
    used = set(found.values())
    hosts = [n for n in range(19000, 19500, 5) if n not in used]
    others = [n for n in range(19500, 20001, 5) if n not in used]
    ordered = [*exact, *wide]
    if len(hosts) >= len(ordered) and len(others) >= len(bare):
        found |= {rule["name"]: number for rule, number in zip(ordered, hosts, strict=False)}
        found |= {rule["name"]: number for rule, number in zip(bare, others, strict=False)}
    else:
        ordered += bare
        free = [n for n in range(1, 20001) if n not in used][-len(ordered) :]
        found |= {rule["name"]: number for rule, number in zip(ordered, free, strict=True)}
    if asked:
        troubles |= shadows(rules, found)
    return found, troubles


def wild(rule: Json) -> bool:
    return any("*" in host or "?" in host for host in rule["hosts"])


def shadows(rules: list[Json], found: dict[str, int]) -> set[tuple[str, str]]:
    troubles = set()
    for wide in rules:
        for exact in rules:
            if (wide["hosts"] and not wild(wide)) or wild(exact) or exact["place"] != wide["place"]:
                continue
            hidden = [
                h for h in exact["hosts"] if not wide["hosts"] or any(fnmatch.fnmatchcase(h, w) for w in wide["hosts"])
            ]
            if hidden and found[wide["name"]] < found[exact["name"]]:
                by = wide.get("by") or exact.get("by")
                if by:
                    troubles.add((by["name"], "PriorityShadowsHost"))
    return troubles
