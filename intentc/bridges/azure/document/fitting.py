"""Leaves out of the parts what belongs to Ingresses that don't fit or are rejected, and what nothing refers to then.

Rules and maps that lose their default get the default pool and settings. In a shared gateway the default listener is
left out as well. ``capacity`` decides who fits.

Pure functions of plain JSON, which they don't change.
"""

from __future__ import annotations

import copy
from collections.abc import Container, Iterable
from typing import Any

from .parts import Part, Parts, entry, named_in

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
