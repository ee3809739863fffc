"""Decides what of others stays in a gateway, and joins their rules with ours on one listener (docs/appgw.md §10).

Two listeners can't have one name on one port. In a shared gateway, a listener of others with the same names is used in
place of ours: its rule and ours become one, with its priority. Requests to reserved paths are answered as before, by
path rules that come first. Where rules can't be joined, and in mode ``marked``, ours are left out and reported.
"""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .parts import COLLECTIONS, Part, Parts, named_in
from .priorities import Trouble

Entry = dict[str, Any]
_ALL = ("", "/", "/*")
_ALWAYS = ("sslCertificates", "rewriteRuleSets")
"""Collections of which everything of others stays in every mode."""


class Foreign(NamedTuple):
    """What stays: collection → name → sub-resource."""

    entries: dict[str, dict[str, Entry]]

    def of(self, collection: str) -> dict[str, Entry]:
        return self.entries.get(collection, {})

    def counts(self, parts: Parts) -> dict[str, int]:
        """How many each collection has that are not replaced by ours."""
        return {
            collection: sum(name not in parts.of(collection) for name in there)
            for collection, there in self.entries.items()
        }


class Target(NamedTuple):
    """What a prohibited target covers: ``paths`` of ``host``, each empty for all."""

    host: str
    paths: tuple[str, ...]

    def patterns(self) -> tuple[str, ...]:
        """The patterns of its paths, lower case."""
        found: list[str] = []
        for path in self.paths or ("/*",):
            if path in _ALL:
                found.append("/*")
            elif path.endswith("*"):
                tree = path[:-1].rstrip("/").lower()
                found += [tree, f"{tree}/*"]
            else:
                found.append(path.lower())
        return tuple(dict.fromkeys(found))

    def has_host(self, hosts: Iterable[str]) -> bool:
        """Whether it is about a listener with these names; without names a listener has all."""
        hosts = [host.lower() for host in hosts]
        return not self.host or not hosts or any(fnmatch.fnmatchcase(self.host, host) for host in hosts)


def foreign_parts(parts: Parts, gateway: Mapping[str, Any], whole: Mapping[str, Any], made: Collection[str]) -> Foreign:
    """What stays of ``gateway`` in the mode of ``whole`` (total, prohibited, marked)."""
    content = gateway.get("properties") or {}
    ours = {one.lower() for one in made}
    prefix = str(whole.get("prefix") or "")
    there: dict[str, dict[str, Entry]] = {
        collection: {
            str(one["name"]): one for one in content.get(collection) or () if str(one.get("id")).lower() not in ours
        }
        for collection in COLLECTIONS.values()
    }
    names = there["sslCertificates"]
    there["sslCertificates"] = {name: one for name, one in names.items() if not name.startswith(f"{prefix}cert-")}
    names = there["rewriteRuleSets"]
    there["rewriteRuleSets"] = {name: one for name, one in names.items() if not name.startswith("crd-")}
    mode = whole.get("ownership")
    if mode == "marked":
        return Foreign(there)
    kept = {collection: there[collection] if collection in _ALWAYS else {} for collection in there}
    if mode == "prohibited":
        _keep(there, kept, targets_of(whole))
    return Foreign(kept)


def targets_of(whole: Mapping[str, Any]) -> tuple[Target, ...]:
    """The prohibited targets."""
    return tuple(
        Target(str(one.get("hostname") or "").lower(), tuple(one.get("paths") or ()))
        for one in whole.get("targets") or ()
    )


def hosts_of(listener: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names of a listener, lower case."""
    content = (listener or {}).get("properties") or {}
    hosts = content.get("hostNames") or ([content["hostName"]] if content.get("hostName") else [])
    return tuple(str(host).lower() for host in hosts)


def overlap(pattern: str, other: str) -> str:
    """The pattern of what both match (lower case), empty if there is nothing.

    >>> overlap("/app/*", "/app/x"), overlap("/a*", "/b*"), overlap("/*", "/app/*")
    ('/app/x', '', '/app/*')
    """
    pattern, other = pattern.lower(), other.lower()
    for wide, narrow in ((pattern, other), (other, pattern)):
        if wide == narrow or (wide.endswith("*") and narrow.rstrip("*").startswith(wide[:-1])):
            return narrow
    return ""


def _keep(
    there: Mapping[str, Mapping[str, Entry]], kept: dict[str, dict[str, Entry]], targets: tuple[Target, ...]
) -> None:
    """Add to ``kept`` the rules that serve a target, and all to which they lead."""
    for name, rule in there["requestRoutingRules"].items():
        hosts = hosts_of(there["httpListeners"].get(named_in(rule["properties"].get("httpListener"))))
        # The default of a rule matches every path, so it overlaps each target of its names.
        if any(target.has_host(hosts) for target in targets):
            kept["requestRoutingRules"][name] = rule
    waiting = [("requestRoutingRules", name) for name in kept["requestRoutingRules"]]
    while waiting:
        collection, name = waiting.pop()
        for into, target in _references(there[collection][name]):
            if into in there and target in there[into] and target not in kept[into]:
                kept[into][target] = there[into][target]
                waiting.append((into, target))
        if collection == "httpListeners":
            # A listener needs a rule.
            for other, rule in there["requestRoutingRules"].items():
                named = named_in(rule["properties"].get("httpListener"))
                if named == name and other not in kept["requestRoutingRules"]:
                    kept["requestRoutingRules"][other] = rule
                    waiting.append(("requestRoutingRules", other))


def _references(value: Any) -> Iterator[tuple[str, str]]:
    """(collection, name) of all to which a sub-resource refers; its own id is passed over."""
    if isinstance(value, dict):
        for member, inner in value.items():
            if member != "id":
                yield from _references(inner)
        if set(value) == {"id"}:
            path = str(value["id"]).split("/")
            if len(path) > 2:
                yield path[-2], path[-1]
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


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
