"""How many sub-resources Azure allows in one gateway, and of what size (docs/appgw.md §9).

Limits on the host names of a listener are in ``validation``, which asks here last.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

_COLLECTIONS = {
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


def limit_faults(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Code without prefix, and message, for each limit that the properties of a gateway pass."""
    firewall = properties.get("webApplicationFirewallConfiguration") or {}
    tier = str((properties.get("sku") or {}).get("tier", ""))
    is_small = tier.startswith("WAF") and _number(str(firewall.get("ruleSetVersion") or "3.2")) <= (3, 1)
    for collection, limit in _COLLECTIONS.items():
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
