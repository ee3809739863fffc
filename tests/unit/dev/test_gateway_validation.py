"""The stand-in rejects what Azure rejects, and names the guilty sub-resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from intentc.dev.gateway_validation import first_fault
from tests.support.azure_gateway import OWN, item, listener, reference, rule, small_gateway

Properties = dict[str, Any]


def _appended(collection: str, *items: dict[str, Any]) -> Callable[[Properties], None]:
    return lambda properties: properties.setdefault(collection, []).extend(items)


def _path_map(*patterns: str) -> dict[str, Any]:
    target = {
        "backendAddressPool": reference("backendAddressPools", "pool"),
        "backendHttpSettings": reference("backendHttpSettingsCollection", "settings"),
    }
    rules = [
        {"name": f"path-{index}", "properties": {"paths": [pattern], **target}}
        for index, pattern in enumerate(patterns)
    ]
    default = {"default" + name[:1].upper() + name[1:]: value for name, value in target.items()}
    return item("urlPathMaps", "paths", pathRules=rules, **default)


def _all(*edits: Callable[[Properties], None]) -> Callable[[Properties], None]:
    def edit(properties: Properties) -> None:
        for one in edits:
            one(properties)

    return edit


def test_a_gateway_that_serves_one_site_is_accepted() -> None:
    assert first_fault(small_gateway()) is None


def test_a_path_map_with_prefixes_is_accepted() -> None:
    document = small_gateway()
    document["properties"]["urlPathMaps"] = [_path_map("/cart", "/cart/*")]
    assert first_fault(document) is None


CASES: dict[str, tuple[str, str, Callable[[Properties], None]]] = {
    "two pools of one name": (
        "DuplicateResourceName",
        "backendAddressPools/POOL",
        _appended("backendAddressPools", item("backendAddressPools", "POOL")),
    ),
    "a dangling reference": (
        "InvalidResourceReference",
        "backendAddressPools/lost",
        lambda given: given["requestRoutingRules"][0]["properties"].update(
            backendAddressPool=reference("backendAddressPools", "lost")
        ),
    ),
    "an old tier": (
        "ApplicationGatewaySkuTierNotSupported",
        "Standard,",
        lambda given: given.update(sku={"tier": "Standard"}),
    ),
    "a port twice": (
        "ApplicationGatewayFrontendPortsUsingSamePortNumber",
        "frontendPorts/again",
        _appended("frontendPorts", item("frontendPorts", "again", port=80)),
    ),
    "two listeners for one site": (
        "ApplicationGatewayHttpListenersUsingSameFrontendPortHostNameAndFrontendIpConfig",
        "httpListeners/other",
        _all(
            _appended("httpListeners", listener("other", "SHOP.example")),
            _appended("requestRoutingRules", rule("other", "other", 101)),
        ),
    ),
    "six names": (
        "ApplicationGatewayHttpListenerHostNamesLimit",
        "httpListeners/shop",
        lambda given: given["httpListeners"][0]["properties"].update(hostNames=[f"{n}.example" for n in range(6)]),
    ),
    "HTTPS without a certificate": (
        "ApplicationGatewayHttpsListenerMustReferenceSslCertificate",
        "httpListeners/shop",
        lambda given: given["httpListeners"][0]["properties"].update(protocol="Https"),
    ),
    "a priority twice": (
        "ApplicationGatewayRequestRoutingRulePriorityMustBeUnique",
        "requestRoutingRules/other",
        _all(
            _appended("httpListeners", listener("other", "other.example")),
            _appended("requestRoutingRules", rule("other", "other", 100)),
        ),
    ),
    "no priority": (
        "ApplicationGatewayRequestRoutingRulePriorityCannotBeEmpty",
        "requestRoutingRules/shop",
        lambda given: given["requestRoutingRules"][0]["properties"].pop("priority"),
    ),
    "a listener without rule": (
        "ApplicationGatewayHttpListenerWithoutRequestRoutingRule",
        "httpListeners/other",
        _appended("httpListeners", listener("other", "other.example")),
    ),
    "a listener with two rules": (
        "ApplicationGatewayHttpListenerUsedByMultipleRequestRoutingRules",
        "requestRoutingRules/",
        _appended("requestRoutingRules", rule("other", "shop", 101)),
    ),
    "a redirect to a wildcard": (
        "ApplicationGatewayRedirectConfigurationTargetListenerWildcardHostNameError",
        "redirectConfigurations/to-all",
        _all(
            lambda given: given["httpListeners"][0]["properties"].update(hostNames=["*.example"]),
            _appended(
                "redirectConfigurations",
                item("redirectConfigurations", "to-all", targetListener=reference("httpListeners", "shop")),
            ),
        ),
    ),
    "a probe of another protocol": (
        "ApplicationGatewayProbeProtocolMustMatchBackendHttpSettinsProtocol",
        "probes/probe",
        _all(
            _appended("probes", item("probes", "probe", protocol="Https", path="/")),
            lambda given: given["backendHttpSettingsCollection"][0]["properties"].update(
                probe=reference("probes", "probe")
            ),
        ),
    ),
    "a path rule for everything": (
        "ApplicationGatewayPathRulePathShouldHaveNonEmptyMatchValue",
        "urlPathMaps/paths/pathRules/path-0",
        _appended("urlPathMaps", _path_map("/*")),
    ),
    "a star inside a path": (
        "ApplicationGatewayPathRuleInvalidCharacter",
        "urlPathMaps/paths/pathRules/path-0",
        _appended("urlPathMaps", _path_map("/a*b")),
    ),
    "too many pools": (
        "ApplicationGatewayLimitExceeded",
        "backendAddressPools",
        _appended("backendAddressPools", *(item("backendAddressPools", f"pool-{number}") for number in range(100))),
    ),
}


@pytest.mark.parametrize(("code", "guilty", "edit"), CASES.values(), ids=CASES.keys())
def test_what_azure_rejects_is_rejected(code: str, guilty: str, edit: Callable[[Properties], None]) -> None:
    document = small_gateway()
    edit(document["properties"])
    fault = first_fault(document)
    assert fault is not None and fault.code == code
    assert guilty in fault.message


def test_an_old_rule_set_of_the_firewall_has_a_smaller_limit() -> None:
    document = small_gateway()
    pools = [item("backendAddressPools", f"pool-{number}") for number in range(40)]
    document["properties"]["backendAddressPools"] += pools
    assert first_fault(document) is None
    document["properties"]["sku"] = {"name": "WAF_v2", "tier": "WAF_v2"}
    document["properties"]["webApplicationFirewallConfiguration"] = {"enabled": False, "ruleSetVersion": "3.1"}
    fault = first_fault(document)
    assert fault is not None and fault.code == "ApplicationGatewayLimitExceeded"
    document["properties"]["webApplicationFirewallConfiguration"]["ruleSetVersion"] = "10.0"
    assert first_fault(document) is None


def test_ids_are_those_of_the_gateway() -> None:
    document = small_gateway()
    document["properties"]["frontendPorts"][0]["id"] = OWN + "/frontendPorts/p443"
    fault = first_fault(document)
    assert fault is not None and fault.code == "InvalidResourceReference"
