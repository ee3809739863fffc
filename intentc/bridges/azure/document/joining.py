"""Joins rules of ours with rules of others on the same listener, so that what others reserved stays as it is.

Two listeners can't have one name on one port. In a shared gateway, a listener of others with the same names is used in
place of ours: its rule and ours become one, with its priority. Requests to reserved paths are answered as before, by
path rules that come first. Where rules can't be joined, and in mode ``marked``, ours are left out and reported
(docs/appgw.md §10). ``foreign`` says what others have.

Pure functions of plain JSON, which they don't change.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from .foreign import Entry, Foreign, Target, hosts_of, overlap, targets_of
from .parts import Part, Parts, named_in
from .priorities import Trouble

_OF_DEFAULTS = {
    "defaultBackendAddressPool": "backendAddressPool",
    "defaultBackendHttpSettings": "backendHttpSettings",
    "defaultRedirectConfiguration": "redirectConfiguration",
    "defaultRewriteRuleSet": "rewriteRuleSet",
    "defaultLoadDistributionPolicy": "loadDistributionPolicy",
}


def joined(
    parts: Parts, foreign: Foreign, whole: Mapping[str, Any]
) -> tuple[Parts, Foreign, dict[str, int], list[Trouble]]:
    """(ours, what stays of others, priorities that are decided by it, problems)"""
    ours = {collection: dict(there) for collection, there in parts.parts.items()}
    theirs = {collection: dict(there) for collection, there in foreign.entries.items()}
    numbers: dict[str, int] = {}
    troubles: list[Trouble] = []
    targets = targets_of(whole)
    for name, listener in parts.of("httpListeners").items():
        met = [one for one in foreign.of("httpListeners").values() if _meet(ours, theirs, listener, one)]
        if not met:
            continue
        rule = next(one for one in ours["requestRoutingRules"].values() if _listener_of(one) == name)
        their_rule = _rule_of(theirs, str(met[0]["name"])) if len(met) == 1 else None
        if whole.get("ownership") != "prohibited" or their_rule is None or not _are_equal(listener, met[0]):
            _leave_out(ours, rule)
            shown = ", ".join(str(one["name"]) for one in met)
            message = f"listener {shown} of others has {', '.join(hosts_of(listener.config)) or 'all names'}"
            troubles += [Trouble(one, "ForeignListener", f"{message}; it is left out") for one in listener.owners]
            continue
        numbers[rule.name] = int(their_rule["properties"].get("priority") or 0)
        _join(ours, theirs, rule, their_rule, met[0], targets)
    return parts._replace(parts=ours), Foreign(theirs), numbers, troubles


def _meet(
    ours: Mapping[str, Mapping[str, Part]], theirs: Mapping[str, Mapping[str, Entry]], listener: Part, other: Entry
) -> bool:
    """Whether both have a name on one port of one address."""
    mine, its = listener.content, other["properties"]
    same = str(mine["frontendIPConfiguration"]["id"]).lower() == str(its["frontendIPConfiguration"]["id"]).lower()
    ports = []
    for content in (mine, its):
        name = named_in(content["frontendPort"])
        own, foreign = ours["frontendPorts"].get(name), theirs["frontendPorts"].get(name)
        ports.append(own.content["port"] if own is not None else ((foreign or {}).get("properties") or {}).get("port"))
    names, others = set(hosts_of(listener.config)), set(hosts_of(other))
    return same and ports[0] == ports[1] and (bool(names & others) or names == others)


def _are_equal(listener: Part, other: Entry) -> bool:
    is_same = set(hosts_of(listener.config)) == set(hosts_of(other))
    return is_same and listener.content["protocol"] == other["properties"].get("protocol")


def _listener_of(rule: Part) -> str:
    return named_in(rule.content["httpListener"])


def _rule_of(theirs: Mapping[str, Mapping[str, Entry]], listener: str) -> Entry | None:
    rules = theirs["requestRoutingRules"].values()
    return next((one for one in rules if named_in(one["properties"].get("httpListener")) == listener), None)


def _leave_out(ours: dict[str, dict[str, Part]], rule: Part) -> None:
    """Remove a rule with its listener and its map; what redirects there goes as well."""
    listener = _listener_of(rule)
    ours["httpListeners"].pop(listener, None)
    ours["requestRoutingRules"].pop(rule.name, None)
    ours["urlPathMaps"].pop(named_in(rule.content.get("urlPathMap")), None)
    redirects = [
        name
        for name, part in ours["redirectConfigurations"].items()
        if named_in(part.content["targetListener"]) == listener
    ]
    for name in redirects:
        del ours["redirectConfigurations"][name]
        for other in list(ours["requestRoutingRules"].values()):
            path_map = ours["urlPathMaps"].get(named_in(other.content.get("urlPathMap")))
            contents = [other.content, *([path_map.content] if path_map else [])]
            if any(name == named_in(value) for one in contents for value in one.values() if isinstance(value, dict)):
                _leave_out(ours, other)


def _join(
    ours: dict[str, dict[str, Part]],
    theirs: dict[str, dict[str, Entry]],
    rule: Part,
    their_rule: Entry,
    listener: Entry,
    targets: tuple[Target, ...],
) -> None:
    name = _listener_of(rule)
    del ours["httpListeners"][name]
    del theirs["requestRoutingRules"][str(their_rule["name"])]
    their_map = theirs["urlPathMaps"].pop(named_in(their_rule["properties"].get("urlPathMap")), None)
    their_default = _defaults(their_map["properties"] if their_map else their_rule["properties"])
    path_map = ours["urlPathMaps"].get(named_in(rule.content.get("urlPathMap")))
    our_default = _defaults(path_map.content if path_map else rule.content)
    has_default = bool(rule.fields.get("default_owner"))
    patterns = [one for target in targets if target.has_host(hosts_of(listener)) for one in target.patterns()]
    base = rule.config["id"].rpartition("/requestRoutingRules/")[0]
    map_name = rule.name.replace("rr-", "url-", 1)
    map_id = f"{base}/urlPathMaps/{map_name}"
    entries = _entries(path_map, their_map, patterns, their_default, map_id)
    default = our_default if has_default else their_default
    content: dict[str, Any] = {"httpListener": {"id": listener["id"]}}
    if entries:
        members = {member: default[own] for member, own in _OF_DEFAULTS.items() if own in default}
        config = {"id": map_id, "name": map_name, "properties": {**members, "pathRules": entries}}
        ours["urlPathMaps"][map_name] = Part(map_name, config, rule.owners, {})
        content |= {"ruleType": "PathBasedRouting", "urlPathMap": {"id": map_id}}
    else:
        content |= {"ruleType": "Basic", **default}
    ours["requestRoutingRules"][rule.name] = rule._replace(config={**rule.config, "properties": content})
    for redirect, part in ours["redirectConfigurations"].items():
        if named_in(part.content["targetListener"]) == name:
            members = {**part.content, "targetListener": {"id": listener["id"]}}
            ours["redirectConfigurations"][redirect] = part._replace(config={**part.config, "properties": members})


def _entries(
    path_map: Part | None, their_map: Entry | None, patterns: Iterable[str], default: dict[str, Any], map_id: str
) -> list[dict[str, Any]]:
    """Path rules: those of others as far as reserved paths reach, their default for these, ours, and theirs as they
    are."""
    patterns = list(dict.fromkeys(patterns))
    their_rules = (their_map["properties"].get("pathRules") or []) if their_map else []
    first: list[dict[str, Any]] = []
    last: list[dict[str, Any]] = []
    for one in their_rules:
        content = one["properties"]
        paths = content.get("paths") or ()
        reserved = list(dict.fromkeys(both for path in paths for target in patterns if (both := overlap(path, target))))
        if reserved:
            first.append(_entry(map_id, f"{one['name']}-reserved"[:80], {**content, "paths": reserved}))
        last.append(_entry(map_id, str(one["name"]), content))
    if patterns and default:
        first.append(_entry(map_id, "reserved", {"paths": patterns, **default}))
    own = copy.deepcopy(path_map.content["pathRules"]) if path_map is not None else []
    taken = {one["name"] for one in own}
    return [*first, *own, *(one for one in last if one["name"] not in taken)]


def _entry(map_id: str, name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": f"{map_id}/pathRules/{name}", "name": name, "properties": copy.deepcopy(dict(content))}


def _defaults(content: Mapping[str, Any]) -> dict[str, Any]:
    """What a rule, or a map, does with requests that no path rule takes, as members of a rule."""
    found = {own: content[member] for member, own in _OF_DEFAULTS.items() if content.get(member)}
    return found or {own: content[own] for own in _OF_DEFAULTS.values() if content.get(own)}
