"""Annotations of an Ingress: values, bounds, and what is wrong with them (docs/appgw.md §7)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.appgw.annotations import PREFIX, Annotations, read_annotations

POLICY = (
    "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/ApplicationGatewayWebApplicationFirewallPolicies/p"
)


def read(**given: str) -> Annotations:
    found, mistakes = read_annotations({PREFIX + name.replace("_", "-"): text for name, text in given.items()})
    assert mistakes == []
    return found


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("backend_path_prefix", "/api", "/api"),
        ("backend_hostname", "shop.internal", "shop.internal"),
        ("backend_protocol", "HTTPS", "Https"),
        ("health_probe_hostname", "probe.internal", "probe.internal"),
        ("health_probe_path", "/ready", "/ready"),
        ("health_probe_port", "65535", 65535),
        ("health_probe_status_codes", "200-399, 401", ("200-399", "401")),
        ("health_probe_interval", "86400", 86400),
        ("health_probe_timeout", "1", 1),
        ("health_probe_unhealthy_threshold", "20", 20),
        ("cookie_based_affinity", "t", True),
        ("request_timeout", "120", 120),
        ("connection_draining", "TRUE", True),
        ("connection_draining_timeout", "3600", 3600),
        ("ssl_redirect", "1", True),
        ("ssl_redirect", "F", False),
        ("appgw_ssl_certificate", "wild", "wild"),
        ("appgw_ssl_profile", "strict", "strict"),
        ("appgw_trusted_root_certificate", "one, ,two", ("one", "two")),
        ("use_private_ip", "true", True),
        ("override_frontend_port", "64999", 64999),
        ("hostname_extension", "a.test, b.test,", ("a.test", "b.test")),
        ("waf_policy_for_path", POLICY, POLICY),
        ("rewrite_rule_set", "headers", "headers"),
        ("rewrite_rule_set_custom_resource", "headers", "headers"),
        ("rule_priority", "20000", 20000),
    ],
)
def test_a_value_is_read(name: str, text: str, value: Any) -> None:
    assert getattr(read(**{name: text}), name) == value


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("backend-protocol", "grpc", "http or https"),
        ("backend-hostname", "not a host", "a host name"),
        ("ssl-redirect", "yes", "true or false"),
        ("health-probe-port", "0", "a number from 1 to 65535"),
        ("health-probe-interval", "86401", "a number from 1 to 86400"),
        ("health-probe-unhealthy-threshold", "21", "a number from 1 to 20"),
        ("health-probe-status-codes", "200-", "a list of status codes"),
        ("health-probe-status-codes", "399-200", "a list of status codes"),
        ("health-probe-status-codes", "600", "a list of status codes"),
        ("connection-draining-timeout", "3601", "a number from 1 to 3600"),
        ("override-frontend-port", "65200", "a number from 1 to 64999"),
        ("rule-priority", "1.5", "a number from 1 to 20000"),
        ("waf-policy-for-path", "policy", "the id of an Azure resource"),
    ],
)
def test_a_value_that_cannot_be_read_has_no_effect_and_is_reported(name: str, text: str, wanted: str) -> None:
    found, (mistake,) = read_annotations({PREFIX + name: text})
    assert found == Annotations()
    assert mistake.reason == "InvalidAnnotation"
    assert PREFIX + name in mistake.message
    assert wanted in mistake.message


def test_an_unknown_annotation_of_ours_is_reported_with_the_nearest_name() -> None:
    _, (mistake,) = read_annotations({PREFIX + "ssl-redirekt": "true", "other.io/x": "y"})
    assert mistake.reason == "UnknownAnnotation"
    assert mistake.message.endswith(f"did you mean {PREFIX}ssl-redirect?")


def test_a_distinct_cookie_needs_affinity() -> None:
    both = read(cookie_based_affinity="true", cookie_based_affinity_distinct_name="true")
    assert both.cookie_based_affinity_distinct_name
    alone, (mistake,) = read_annotations({PREFIX + "cookie-based-affinity-distinct-name": "true"})
    assert alone == Annotations()
    assert mistake.reason == "InvalidAnnotation"
