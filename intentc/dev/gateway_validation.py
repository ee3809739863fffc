"""What Azure rejects of a gateway's document, as far as it is known: wrong names, ids, references, tier, ports,
listeners, rules, redirects, settings and path maps.

Each check is a function from the document to faults; ``first_fault`` runs them in a fixed order, since Azure answers
with one. The last one counts and measures sub-resources (docs/appgw.md §9). ``resource_manager`` has what depends on
the gateway before the write.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Document = Mapping[str, Any]

COLLECTIONS = (
    "authenticationCertificates",
    "backendAddressPools",
    "backendHttpSettingsCollection",
    "frontendIPConfigurations",
    "frontendPorts",
    "gatewayIPConfigurations",
    "httpListeners",
    "probes",
    "redirectConfigurations",
    "requestRoutingRules",
    "rewriteRuleSets",
    "sslCertificates",
    "sslProfiles",
    "trustedRootCertificates",
    "urlPathMaps",
)
"""The collections of sub-resources; a path map holds one more, ``pathRules``."""

_MOST = {
    "frontendPorts": 100,
    "backendAddressPools": 100,
    "httpListeners": 200,
    "requestRoutingRules": 400,
    "backendHttpSettingsCollection": 100,
    "sslCertificates": 100,
    "trustedRootCertificates": 100,
    "redirectConfigurations": 100,
    "rewriteRuleSets": 400,
}
"""Collection → how many it may have."""
_SMALLER = 40
"""The limit in place of 100 on a firewall tier with an old rule set."""
_TARGETS = 1200
_PATH_RULES = 100
_CERTIFICATE_BYTES = 16 * 1024
_REWRITES = 40

_PREFIX = "ApplicationGateway"
_PATH = re.compile(r"[A-Za-z0-9\-._~!$()*'+,;=:@/]*")
_OUTSIDE = frozenset({"firewallPolicy", "subnet", "publicIPAddress", "privateIPAddress"})
"""Properties that refer to resources outside of the gateway."""


class Fault(NamedTuple):
    """Why a document is rejected. ``message`` names the ids or names of the guilty sub-resources."""

    code: str
    message: str


def first_fault(document: Document) -> Fault | None:
    """The first reason why Azure would reject a document, None if it would take it."""
    for check in (_names, _references, _tier, _ports, _listeners, _rules, _redirects, _settings, _path_rules):
        for fault in check(document):
            return fault
    for code, message in _limits(document["properties"]):
        return Fault(_PREFIX + code, message)
    return None


def items_of(document: Document, collection: str) -> list[dict[str, Any]]:
    """The sub-resources of a collection."""
    return list(document["properties"].get(collection) or ())


def _properties(item: Mapping[str, Any]) -> dict[str, Any]:
    return dict(item.get("properties") or {})


def _reference(item: Mapping[str, Any], name: str) -> str:
    """The id that a property refers to, folded, empty if it is not given."""
    return str((_properties(item).get(name) or {}).get("id", "")).lower()


def _names(document: Document) -> Iterator[Fault]:
    own = str(document["id"])
    for collection in COLLECTIONS:
        seen: set[str] = set()
        for item in items_of(document, collection):
            name = str(item.get("name", ""))
            place = f"{own}/{collection}/{name}"
            if not re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,78}[A-Za-z0-9_])?", name):
                yield Fault("InvalidResourceName", f"Resource name {name} in {collection} is invalid.")
            if name.lower() in seen:
                yield Fault("DuplicateResourceName", f"{place} is given twice.")
            if "id" in item and str(item["id"]).lower() != place.lower():
                yield Fault("InvalidResourceReference", f"{item['id']} is not the id of {place}.")
            seen.add(name.lower())


def ids_of(document: Document) -> set[str]:
    """The ids of all sub-resources, in lower case."""
    own = str(document["id"]).lower()
    ids = {f"{own}/{name.lower()}/{item['name'].lower()}" for name in COLLECTIONS for item in items_of(document, name)}
    for item in items_of(document, "urlPathMaps"):
        place = f"{own}/urlpathmaps/{item['name'].lower()}/pathrules/"
        ids |= {place + str(rule["name"]).lower() for rule in _properties(item).get("pathRules") or ()}
    return ids


def _references(document: Document) -> Iterator[Fault]:
    known = ids_of(document)
    for collection in COLLECTIONS:
        for item in items_of(document, collection):
            for found in _ids_within(_properties(item)):
                if found.lower() not in known:
                    place = f"{document['id']}/{collection}/{item['name']}"
                    yield Fault(
                        "InvalidResourceReference", f"Resource {found} referenced by resource {place} was not found."
                    )


def _ids_within(value: Any) -> Iterator[str]:
    """The ids that a value refers to. A path rule has an id of its own, beside its name."""
    if isinstance(value, Mapping):
        if "id" in value and "name" not in value:
            yield str(value["id"])
        for name, member in value.items():
            if name not in _OUTSIDE and name != "id":
                yield from _ids_within(member)
    elif isinstance(value, list):
        for member in value:
            yield from _ids_within(member)


def _tier(document: Document) -> Iterator[Fault]:
    tier = (document["properties"].get("sku") or {}).get("tier")
    if tier not in ("Standard_v2", "WAF_v2"):
        yield Fault(_PREFIX + "SkuTierNotSupported", f"{document['id']} has tier {tier}, not Standard_v2 or WAF_v2.")


def _ports(document: Document) -> Iterator[Fault]:
    seen: dict[int, str] = {}
    for item in items_of(document, "frontendPorts"):
        number = _properties(item).get("port", 0)
        if not 1 <= number <= 65199:
            yield Fault(_PREFIX + "FrontendPortOutOfRange", f"{item['id']} has port {number}; allowed are 1 to 65199.")
        if number in seen:
            yield Fault(_PREFIX + "FrontendPortsUsingSamePortNumber", f"{seen[number]} and {item['id']}: {number}.")
        seen[number] = item["id"]


def _listeners(document: Document) -> Iterator[Fault]:
    sites: dict[tuple[str, str, str], str] = {}
    protocols: dict[tuple[str, str], tuple[str, str]] = {}
    for item in items_of(document, "httpListeners"):
        properties, place = _properties(item), item["id"]
        side = (_reference(item, "frontendIPConfiguration"), _reference(item, "frontendPort"))
        protocol = properties.get("protocol")
        if not all(side):
            yield Fault(_PREFIX + "HttpListenerWithoutFrontend", f"{place} has no frontend IP configuration or port.")
        if protocol == "Https" and not properties.get("sslCertificate"):
            yield Fault(_PREFIX + "HttpsListenerMustReferenceSslCertificate", f"{place} has no sslCertificate.")
        if protocol == "Http" and properties.get("sslCertificate"):
            yield Fault(_PREFIX + "HttpListenerMustNotReferenceSslCertificate", f"{place} has an sslCertificate.")
        first, former = protocols.setdefault(side, (place, str(protocol)))
        if former != protocol:
            yield Fault(_PREFIX + "HttpListenersUsingSameFrontendPortWithDifferentProtocols", f"{first} and {place}.")
        names = properties.get("hostNames") or ([properties["hostName"]] if properties.get("hostName") else [])
        if len(names) > 5 or any(name.count("*") + name.count("?") > 4 for name in names):
            yield Fault(_PREFIX + "HttpListenerHostNamesLimit", f"{place} has more than five names, or wildcards.")
        for name in names or [""]:
            other = sites.setdefault((*side, name.lower()), place)
            if other != place or names.count(name) > 1:
                yield Fault(
                    _PREFIX + "HttpListenersUsingSameFrontendPortHostNameAndFrontendIpConfig", f"{other} and {place}."
                )


def _rules(document: Document) -> Iterator[Fault]:
    listeners = Counter(_reference(item, "httpListener") for item in items_of(document, "requestRoutingRules"))
    by_priority: dict[int, str] = {}
    for item in items_of(document, "requestRoutingRules"):
        properties, place = _properties(item), item["id"]
        priority = properties.get("priority")
        if not isinstance(priority, int) or not 1 <= priority <= 20000:
            yield Fault(_PREFIX + "RequestRoutingRulePriorityCannotBeEmpty", f"{place} has priority {priority}.")
            continue
        if priority in by_priority:
            yield Fault(
                _PREFIX + "RequestRoutingRulePriorityMustBeUnique",
                f"Rules {by_priority[priority]} and {place} have the priority {priority}.",
            )
        by_priority[priority] = place
        if listeners[_reference(item, "httpListener")] > 1:
            yield Fault(_PREFIX + "HttpListenerUsedByMultipleRequestRoutingRules", f"{place}.")
        if properties.get("ruleType") == "PathBasedRouting":
            if not properties.get("urlPathMap"):
                yield Fault(_PREFIX + "RequestRoutingRuleWithoutUrlPathMap", f"{place}.")
        elif not _has_target(properties, ""):
            yield Fault(_PREFIX + "RequestRoutingRuleWithoutTarget", f"{place} has no pool with settings, no redirect.")
    for item in items_of(document, "httpListeners"):
        if not listeners[str(item["id"]).lower()]:
            yield Fault(_PREFIX + "HttpListenerWithoutRequestRoutingRule", f"{item['id']} is used by no rule.")
    if not by_priority:
        yield Fault(_PREFIX + "RequestRoutingRulesCannotBeEmpty", f"{document['id']} has no rule.")


def _has_target(properties: Mapping[str, Any], prefix: str) -> bool:
    def given(name: str) -> bool:
        return bool(properties.get(prefix + name[:1].upper() + name[1:] if prefix else name))

    has_pool = given("backendAddressPool") and given("backendHttpSettings")
    return has_pool != given("redirectConfiguration")


def _redirects(document: Document) -> Iterator[Fault]:
    listeners = {str(item["id"]).lower(): _properties(item) for item in items_of(document, "httpListeners")}
    for item in items_of(document, "redirectConfigurations"):
        target = listeners.get(_reference(item, "targetListener"), {})
        if any("*" in name for name in target.get("hostNames") or ()):
            yield Fault(
                _PREFIX + "RedirectConfigurationTargetListenerWildcardHostNameError",
                f"{item['id']} redirects to a listener with a wildcard host name.",
            )


def _settings(document: Document) -> Iterator[Fault]:
    probes = {str(item["id"]).lower(): _properties(item) for item in items_of(document, "probes")}
    for item in items_of(document, "backendHttpSettingsCollection"):
        properties = _properties(item)
        probe = probes.get(_reference(item, "probe"))
        if probe is not None and probe.get("protocol") != properties.get("protocol"):
            yield Fault(
                _PREFIX + "ProbeProtocolMustMatchBackendHttpSettinsProtocol",
                f"Probe {properties['probe']['id']} and settings {item['id']} have different protocols.",
            )
        if properties.get("hostName") and properties.get("pickHostNameFromBackendAddress"):
            yield Fault(_PREFIX + "BackendHttpSettingsHostNameGivenTwice", f"{item['id']}.")
        if not 1 <= properties.get("port", 0) <= 65535:
            yield Fault(_PREFIX + "BackendHttpSettingsPortOutOfRange", f"{item['id']}.")


def _path_rules(document: Document) -> Iterator[Fault]:
    for item in items_of(document, "urlPathMaps"):
        properties = _properties(item)
        if not _has_target(properties, "default"):
            yield Fault(_PREFIX + "UrlPathMapWithoutDefault", f"{item['id']} has no default.")
        if not properties.get("pathRules"):
            yield Fault(_PREFIX + "UrlPathMapWithoutPathRules", f"{item['id']} has no path rule.")
        for rule in properties.get("pathRules") or ():
            place = f"{item['id']}/pathRules/{rule['name']}"
            if not _has_target(_properties(rule), ""):
                yield Fault(_PREFIX + "PathRuleWithoutTarget", f"{place}.")
            for pattern in _properties(rule).get("paths") or [""]:
                if not pattern.strip("/*"):
                    yield Fault(_PREFIX + "PathRulePathShouldHaveNonEmptyMatchValue", f"{place} has {pattern!r}.")
                if not pattern.startswith("/") or not _PATH.fullmatch(pattern) or "*" in pattern[:-1]:
                    yield Fault(_PREFIX + "PathRuleInvalidCharacter", f"{place} has {pattern!r}.")


def _limits(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Code without prefix, and message, for each limit that the properties of a gateway pass."""
    firewall = properties.get("webApplicationFirewallConfiguration") or {}
    tier = str((properties.get("sku") or {}).get("tier", ""))
    is_small = tier.startswith("WAF") and _number(str(firewall.get("ruleSetVersion") or "3.2")) <= (3, 1)
    for collection, limit in _MOST.items():
        allowed = _SMALLER if is_small and limit == 100 else limit
        if len(properties.get(collection) or ()) > allowed:
            yield "LimitExceeded", f"{collection} has more than {allowed} items."
    for item in properties.get("backendAddressPools") or ():
        if len(item["properties"].get("backendAddresses") or ()) > _TARGETS:
            yield "LimitExceeded", f"{item['id']} has more than {_TARGETS} addresses."
    for item in properties.get("urlPathMaps") or ():
        if len(item["properties"].get("pathRules") or ()) > _PATH_RULES:
            yield "LimitExceeded", f"{item['id']} has more than {_PATH_RULES} path rules."
    for item in properties.get("sslCertificates") or ():
        data = item["properties"].get("data")
        if data is not None and not _is_small_base64(data):
            yield (
                "SslCertificateInvalidData",
                f"{item['id']} is no base64, or over {_CERTIFICATE_BYTES} bytes.",
            )
    for item in properties.get("rewriteRuleSets") or ():
        for rule in item["properties"].get("rewriteRules") or ():
            actions = rule.get("actionSet") or {}
            lists = [rule.get("conditions"), actions.get("requestHeaderConfigurations")]
            lists.append(actions.get("responseHeaderConfigurations"))
            if any(len(found or ()) > _REWRITES for found in lists):
                yield "LimitExceeded", f"{item['id']} has a rule with more than {_REWRITES} conditions or headers."


def _number(version: str) -> tuple[int, ...]:
    """``10.0`` is more than ``3.1``."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _is_small_base64(data: str) -> bool:
    try:
        return len(base64.b64decode(data, validate=True)) <= _CERTIFICATE_BYTES
    except binascii.Error:
        return False
