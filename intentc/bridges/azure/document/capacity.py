"""Which Ingresses fit into the gateway, in order of precedence (docs/appgw.md §9); ``fitting`` leaves out the others.

The functions are pure.

State: while one document is fitted, what the Ingresses that fit use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from .parts import Part, Parts, named_in

LIMITS: Mapping[str, int] = {
    "frontendPorts": 100,
    "backendAddressPools": 100,
    "backendHttpSettingsCollection": 100,
    "httpListeners": 200,
    "requestRoutingRules": 400,
    "redirectConfigurations": 100,
    "sslCertificates": 100,
    "rewriteRuleSets": 400,
    "targets": 1200,
    "pathRules": 100,
    "rewriteParts": 40,
}
"""What one gateway takes; ``targets``: of a pool, ``pathRules``: of a map, ``rewriteParts``: conditions, and headers,
of a rewrite set."""
_OLD_FIREWALL = 40


def limits_of(gateway: Mapping[str, Any], given: Mapping[str, int]) -> dict[str, int]:
    """The limits of a gateway, ``given`` ones in place of Azure's."""
    content = gateway.get("properties") or {}
    firewall = content.get("webApplicationFirewallConfiguration") or {}
    found = dict(LIMITS)
    version = str(firewall.get("ruleSetVersion") or "")
    if str((content.get("sku") or {}).get("tier") or "").startswith("WAF") and version and _parts(version) <= (3, 1):
        found.update({name: _OLD_FIREWALL for name, number in LIMITS.items() if number == 100})
    return {**found, **given}


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


class _Room:
    """What is used so far. State: the counts of one decision."""

    def __init__(self, parts: Parts, limits: Mapping[str, int], foreign: Mapping[str, int]) -> None:
        self._parts, self._limits = parts, limits
        self._wanted = _wanted(parts)
        self._admitted: set[tuple[str, str]] = set()
        self._counts = Counter(foreign)
        self._rules: Counter[str] = Counter()

    def admit(self, owner: str) -> str:
        """Take an Ingress in if it fits; otherwise, what has no room for it."""
        wanted = self._wanted.get(owner, set())
        fresh = Counter(collection for collection, name in wanted - self._admitted)
        for collection, count in sorted(fresh.items()):
            limit = self._limits.get(collection)
            if limit is not None and self._counts[collection] + count > limit:
                return f"{collection}: the gateway takes {limit}"
        rules: Counter[str] = Counter()
        for name, part in self._parts.of("urlPathMaps").items():
            rules[name] = list(part.fields.get("rule_owners") or ()).count(owner)
            if rules[name] and self._rules[name] + rules[name] > self._limits["pathRules"]:
                return f"path rules of {name}: a map takes {self._limits['pathRules']}"
        for collection, name in sorted(wanted):
            if wrong := _too_large(collection, self._parts.of(collection)[name], self._limits):
                return wrong
        self._admitted |= wanted
        self._counts += fresh
        self._rules += rules
        return ""


def without_room(parts: Parts, limits: Mapping[str, int], foreign: Mapping[str, int]) -> dict[str, str]:
    """The Ingresses that don't fit, and why. ``foreign``: how many each collection has of others."""
    room = _Room(parts, limits, foreign)
    found = {owner.name: room.admit(owner.name) for owner in sorted(parts.owners.values())}
    return {name: why for name, why in found.items() if why}


def _wanted(parts: Parts) -> dict[str, set[tuple[str, str]]]:
    """Ingress → (collection, name) of what it needs."""
    found: dict[str, set[tuple[str, str]]] = {}
    for collection, there in parts.parts.items():
        for part in there.values():
            needed = {(collection, part.name), *_needed(parts, collection, part)}
            for owner in part.owners:
                found.setdefault(owner, set()).update(needed)
    for part in parts.of("urlPathMaps").values():
        entries = part.content.get("pathRules") or ()
        for entry, owner in zip(entries, part.fields.get("rule_owners") or (), strict=True):
            if name := named_in(entry["properties"].get("rewriteRuleSet")):
                found.setdefault(owner, set()).update(_there(parts, "rewriteRuleSets", name))
    return found


def _needed(parts: Parts, collection: str, part: Part) -> set[tuple[str, str]]:
    if collection == "backendHttpSettingsCollection":
        return _there(parts, "backendAddressPools", str(part.fields.get("pool") or ""))
    if collection == "httpListeners":
        return {
            *_there(parts, "sslCertificates", named_in(part.content.get("sslCertificate"))),
            *_there(parts, "frontendPorts", named_in(part.content.get("frontendPort"))),
        }
    return set()


def _there(parts: Parts, collection: str, name: str) -> set[tuple[str, str]]:
    return {(collection, name)} if name in parts.of(collection) else set()


def _too_large(collection: str, part: Part, limits: Mapping[str, int]) -> str:
    if collection == "backendAddressPools" and len(part.content.get("backendAddresses") or ()) > limits["targets"]:
        return f"{part.name}: a pool takes {limits['targets']} addresses"
    if collection == "rewriteRuleSets":
        rules = part.content.get("rewriteRules") or ()
        conditions = sum(len(rule.get("conditions") or ()) for rule in rules)
        headers = sum(
            len(rule["actionSet"].get(sort) or ())
            for rule in rules
            for sort in ("requestHeaderConfigurations", "responseHeaderConfigurations")
        )
        if max(conditions, headers) > limits["rewriteParts"]:
            return f"{part.name}: a rewrite set takes {limits['rewriteParts']} conditions and headers"
    return ""
