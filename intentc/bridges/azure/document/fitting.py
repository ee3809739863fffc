"""Leaves out of the parts what has no room in the gateway or is rejected, and what nothing refers to then.

``without_room`` says which Ingresses don't fit, in order of precedence (docs/appgw.md §9). Rules and maps that lose
their default get the default pool and settings; in a shared gateway the default listener is left out as well.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Any

from .parts import Part, Parts, entry, named_in

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
    """What is used so far."""

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
        for one, owner in zip(entries, part.fields.get("rule_owners") or (), strict=True):
            if name := named_in(one["properties"].get("rewriteRuleSet")):
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


_DEFAULTS = {"defaultBackendAddressPool": "backendAddressPool", "defaultBackendHttpSettings": "backendHttpSettings"}


def fitting(parts: Parts, without_room: Iterable[str], gateway: str, prefix: str) -> Parts:
    """The parts of Ingresses that have room and are not rejected."""
    left_out = parts.rejected.union(without_room)
    if not left_out:
        return parts
    owners = {name: owner for name, owner in parts.owners.items() if name not in left_out}
    found = {
        collection: {
            name: part
            for name, part in there.items()
            if not part.owners or any(owner not in left_out for owner in part.owners)
        }
        for collection, there in parts.parts.items()
    }
    fitted = Parts(found, owners, parts.whole)
    for name, part in list(found["urlPathMaps"].items()):
        found["urlPathMaps"][name] = _without_rules(part, left_out)
    for collection in ("urlPathMaps", "requestRoutingRules"):
        for name, part in found[collection].items():
            if part.fields.get("default_owner") in left_out and part.fields.get("default_owner"):
                found[collection][name] = _with_defaults(fitted, collection, part, gateway, prefix)
    for name, part in list(found["requestRoutingRules"].items()):
        found["requestRoutingRules"][name] = _basic_without_paths(fitted, part)
    return referenced(fitted)


def without_defaults(parts: Parts) -> Parts:
    """The parts without the listener that is there only because there was no other."""
    defaults = {name for name, part in parts.of("httpListeners").items() if part.fields.get("default")}
    if not defaults:
        return parts
    found = dict(parts.parts)
    found["httpListeners"] = {name: part for name, part in parts.of("httpListeners").items() if name not in defaults}
    found["requestRoutingRules"] = {
        name: part
        for name, part in parts.of("requestRoutingRules").items()
        if named_in(part.content["httpListener"]) not in defaults
    }
    return referenced(parts._replace(parts=found))


def _without_rules(part: Part, left_out: Container[str]) -> Part:
    owners = list(part.fields.get("rule_owners") or ())
    config = copy.deepcopy(part.config)
    entries = config["properties"]["pathRules"]
    kept = [one for one, owner in zip(entries, owners, strict=True) if owner not in left_out]
    config["properties"]["pathRules"] = kept
    return part._replace(
        config=config, fields={**part.fields, "rule_owners": [owner for owner in owners if owner not in left_out]}
    )


def _with_defaults(parts: Parts, collection: str, part: Part, gateway: str, prefix: str) -> Part:
    """The part with the default pool and settings, which are added to ``parts``."""
    config = copy.deepcopy(part.config)
    content = config["properties"]
    is_map = collection == "urlPathMaps"
    if not is_map and "urlPathMap" in content:
        return part
    pool, settings, probe = (
        f"{prefix}{name}" for name in ("defaultaddresspool", "defaulthttpsetting", "defaultprobe-Http")
    )
    made: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("backendAddressPools", pool, {"backendAddresses": []}),
        ("backendHttpSettingsCollection", settings, _settings(f"{gateway}/probes/{probe}")),
        ("probes", probe, _probe()),
    )
    for where, name, members in made:
        parts.parts[where].setdefault(name, Part(name, entry(gateway, where, name, members), (), {}))
    for member in ("defaultRedirectConfiguration", "defaultRewriteRuleSet", "redirectConfiguration", "rewriteRuleSet"):
        content.pop(member, None)
    for name, (where, target) in zip(_DEFAULTS, ((one[0], one[1]) for one in made[:2]), strict=True):
        content[name if is_map else _DEFAULTS[name]] = {"id": f"{gateway}/{where}/{target}"}
    return part._replace(config=config)


def _basic_without_paths(parts: Parts, part: Part) -> Part:
    """The rule with the defaults of its map, if that has no path rules any more."""
    name = named_in(part.content.get("urlPathMap"))
    path_map = parts.of("urlPathMaps").get(name)
    if path_map is None or path_map.content["pathRules"]:
        return part
    content = {key: value for key, value in part.content.items() if key != "urlPathMap"}
    for member, value in path_map.content.items():
        if member.startswith("default"):
            content[_lower(member.removeprefix("default"))] = value
    del parts.parts["urlPathMaps"][name]
    return part._replace(config={**part.config, "properties": {**content, "ruleType": "Basic"}})


def referenced(parts: Parts) -> Parts:
    """The parts without shared ones to which nothing refers any more."""
    found = dict(parts.parts)
    settings = found["backendHttpSettingsCollection"]
    used = {named_in(part.content.get(member)) for part in found["httpListeners"].values() for member in _OF_LISTENERS}
    for collection in ("frontendPorts", "sslCertificates"):
        found[collection] = {name: part for name, part in found[collection].items() if name in used}
    targets = _targets(parts)
    found["backendHttpSettingsCollection"] = settings = {
        name: part for name, part in settings.items() if part.owners or name in targets
    }
    pools = {str(part.fields.get("pool") or "") for part in settings.values()} | targets
    found["backendAddressPools"] = {name: part for name, part in found["backendAddressPools"].items() if name in pools}
    probes = {named_in(part.content.get("probe")) for part in settings.values()}
    found["probes"] = {name: part for name, part in found["probes"].items() if part.owners or name in probes}
    found["rewriteRuleSets"] = {name: part for name, part in found["rewriteRuleSets"].items() if name in targets}
    return parts._replace(parts=found)


_OF_LISTENERS = ("frontendPort", "sslCertificate")


def _targets(parts: Parts) -> set[str]:
    """The names of all to which rules and maps refer."""
    contents: list[dict[str, Any]] = [part.content for part in parts.of("requestRoutingRules").values()]
    for part in parts.of("urlPathMaps").values():
        contents += [part.content, *(one["properties"] for one in part.content["pathRules"])]
    return {named_in(value) for content in contents for value in content.values() if isinstance(value, dict)}


def _settings(probe: str) -> dict[str, Any]:
    return {
        "port": 80,
        "protocol": "Http",
        "cookieBasedAffinity": "Disabled",
        "requestTimeout": 30,
        "pickHostNameFromBackendAddress": False,
        "probe": {"id": probe},
    }


def _probe() -> dict[str, Any]:
    return {
        "protocol": "Http",
        "host": "localhost",
        "path": "/",
        "interval": 30,
        "timeout": 30,
        "unhealthyThreshold": 3,
        "pickHostNameFromBackendHttpSettings": False,
        "minServers": 0,
        "match": {},
    }


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
