"""Says in which parts two documents of a gateway differ, so that nothing is sent that changes nothing.

What Azure adds to a document, and what it never gives back, is left out: ETags, states, types, back references, the
data of certificates, and properties that have the value that Azure fills in. Ids are compared without case, collections
by name (docs/appgw.md §11). ``ServerDefaults`` knows what else Azure makes of a document.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from intentc.model.comparison import Within, compare

Document = Mapping[str, Any]
Path = tuple[str, ...]

_ADDED = frozenset({"etag", "type", "provisioningState", "resourceGuid", "operationalState", "location"})
"""What Azure writes, at any depth; ``location`` never changes."""
_NEVER_SHOWN = frozenset({"data", "password", "publicCertData"})
"""Of certificates: Azure shows no data, and derives the public part."""
_BACK_REFERENCES: Mapping[str, frozenset[str]] = {
    "backendAddressPools": frozenset({"backendIPConfigurations", "requestRoutingRules", "urlPathMaps", "pathRules"}),
    "backendHttpSettingsCollection": frozenset({"requestRoutingRules", "urlPathMaps", "pathRules"}),
    "frontendIPConfigurations": frozenset({"httpListeners"}),
    "frontendPorts": frozenset({"httpListeners"}),
    "httpListeners": frozenset({"requestRoutingRules", "redirectConfiguration"}),
    "probes": frozenset({"backendHttpSettings"}),
    "redirectConfigurations": frozenset({"requestRoutingRules", "urlPathMaps", "pathRules"}),
    "rewriteRuleSets": frozenset({"requestRoutingRules", "urlPathMaps", "pathRules"}),
    "sslCertificates": frozenset({"httpListeners"}),
    "sslProfiles": frozenset({"httpListeners"}),
    "trustedRootCertificates": frozenset({"backendHttpSettings"}),
    "urlPathMaps": frozenset({"requestRoutingRules"}),
}
"""Collection → properties in which Azure lists who refers to a sub-resource."""
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "backendHttpSettingsCollection": {
        "cookieBasedAffinity": "Disabled",
        "pickHostNameFromBackendAddress": False,
        "requestTimeout": 30,
        "path": None,
    },
    "httpListeners": {"requireServerNameIndication": False, "hostNames": []},
    "probes": {"pickHostNameFromBackendHttpSettings": False, "minServers": 0, "match": {}},
    "redirectConfigurations": {"includePath": False, "includeQueryString": False},
}
"""Collection → properties that Azure fills in."""


def differing_parts(one: Document, other: Document, learned: ServerDefaults | None = None) -> list[str]:
    """What differs between two documents: ``httpListeners/fl-…`` for a sub-resource, ``tags`` or a property's name for
    what is none; sorted. ``one``: what is wanted, where ``learned`` is given."""
    first, second = dict(_parts(one)), dict(_parts(other))
    different = _different(first, second)
    known = learned.parts if learned is not None else {}
    return sorted(name for name in different if name not in known or known[name] != _digests(name, first, second))


def digests_of(document: Document) -> dict[str, str]:
    """Part → a digest of what it means (32 hexadecimal digits)."""
    return {name: _digest(value) for name, value in _parts(document)}


def digest_of(document: Document) -> str:
    """A digest of what a document means (32 hexadecimal digits)."""
    return _digest(dict(_parts(document)))


class ServerDefaults:
    """What Azure made of documents that it accepted: properties that it fills in and that are not known here would
    differ for ever, and the same document would be sent again and again.

    State: ``parts``, those that differed after a write: digests of what was wanted, and of what was shown."""

    def __init__(self, parts: Iterable[tuple[str, str, str]] = ()) -> None:
        self.parts = {name: (wanted, shown) for name, wanted, shown in parts}

    @property
    def listed(self) -> tuple[tuple[str, str, str], ...]:
        """(part, digest of what was wanted, digest of what was shown), sorted."""
        return tuple(sorted((name, wanted, shown) for name, (wanted, shown) in self.parts.items()))

    def accepted(self, wanted: Document, shown: Document) -> None:
        """Take note of what Azure shows after it has taken a document."""
        first, second = dict(_parts(wanted)), dict(_parts(shown))
        self.parts = {name: _digests(name, first, second) for name in _different(first, second)}

    def filled_in(self, wanted: Document, shown: Document) -> None:
        """Take note of the parts to which Azure has only added something; nobody saw the end of that write."""
        first, second = dict(_parts(wanted)), dict(_parts(shown))
        for name in _different(first, second):
            if name in first and name in second and not compare(first[name], second[name], Within()):
                self.parts[name] = _digests(name, first, second)


def dangling(document: Document) -> str:
    """The first id below the gateway's own that a document refers to and does not have; empty if there is none."""
    own = str(document["id"]).lower() + "/"
    have: set[str] = set()
    uses: set[str] = set()
    for collection, items in (document.get("properties") or {}).items():
        for item in items if isinstance(items, list) else ():
            if isinstance(item, Mapping) and "name" in item:
                have.add(f"{own}{collection}/{item['name']}".lower())
                uses.update(_referred(item.get("properties"), collection))
    return next((found for found in sorted(uses) if found.startswith(own) and found not in have), "")


def _different(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    return [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)]


def _digests(name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, str]:
    return _digest(first.get(name)), _digest(second.get(name))


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()[:32]


def _referred(value: Any, collection: str) -> Iterator[str]:
    """The ids in the properties of a sub-resource, in lower case, without back references and ids of path rules."""
    if isinstance(value, Mapping):
        if "id" in value and "name" not in value:
            yield str(value["id"]).lower()
        for name, member in value.items():
            if name not in _BACK_REFERENCES.get(collection, ()):
                yield from _referred(member, collection)
    elif isinstance(value, list):
        for member in value:
            yield from _referred(member, collection)


def _parts(document: Document) -> Iterator[tuple[str, Any]]:
    """The parts of a document in a form in which equal means equal; empty parts are left out."""
    if tags := document.get("tags"):
        yield "tags", dict(tags)
    for name, value in (document.get("properties") or {}).items():
        if isinstance(value, list) and all(isinstance(item, Mapping) and "name" in item for item in value):
            for item in value:
                yield f"{name}/{item['name']}", _plain(item, (name,))
        elif name not in _ADDED and (plain := _plain(value, (name,))):
            yield name, plain


def _plain(value: Any, path: Path) -> Any:
    """A value without what Azure adds. ``path``: the names that lead to it, from the collection on."""
    if isinstance(value, Mapping):
        left_out = _left_out(path)
        plain = {
            name: str(member).lower() if name == "id" else _plain(member, (*path, name))
            for name, member in value.items()
            if name not in left_out
        }
        defaults = _DEFAULTS.get(path[0], {}) if path[1:] == ("properties",) else {}
        return {
            name: member
            for name, member in plain.items()
            if member not in (None, [], {}) and not (name in defaults and defaults[name] == member)
        }
    if isinstance(value, list):
        items = [_plain(item, path) for item in value]
        named = all(isinstance(item, Mapping) and "name" in item for item in items)
        # The order of path rules and of rewrite rules has a meaning.
        return items if not named or path[-1] in ("pathRules", "rewriteRules") else sorted(items, key=_name)
    return value


def _left_out(path: Path) -> frozenset[str]:
    left_out = _ADDED
    if path[1:] == ("properties",):
        left_out |= _BACK_REFERENCES.get(path[0], frozenset())
        if path[0] == "sslCertificates":
            left_out |= _NEVER_SHOWN
    return left_out


def _name(item: Mapping[str, Any]) -> str:
    return str(item["name"]).lower()
