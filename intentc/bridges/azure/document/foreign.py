"""What of the gateway others made, and what of that stays in each mode of ownership (docs/appgw.md §10).

Pure functions of plain JSON.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .parts import COLLECTIONS, Parts, named_in

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
