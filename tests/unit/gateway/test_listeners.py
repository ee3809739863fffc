"""Host names, listeners by themselves and on their port, and the ports that follow (docs/gateway.md §6)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.gateway.gateway_listeners import Certificate, Listener, is_valid, overlap
from intentc.compilers.gateway.instance import Port
from intentc.compilers.gateway.listener_checks import ports_of, verdicts

CERTIFICATE = (Certificate("", "Secret", "", "cert"),)


def listener(name: str, protocol: str = "HTTP", port: int = 80, **fields: Any) -> Listener:
    return Listener(name, protocol, port, **fields)


def secure(name: str, protocol: str = "HTTPS", **fields: Any) -> Listener:
    return Listener(name, protocol, 443, has_tls=True, certificates=CERTIFICATE, **fields)


def test_host_names() -> None:
    valid = ["", "*", "shop.example.com", "*.example.com", "SHOP.example.com", "localhost", "a" * 63 + ".com"]
    assert [name for name in valid if not is_valid(name)] == []
    invalid = ["10.0.0.1", "::1", "*.*.com", "a.*.com", "*a.com", "-a.com", "a..com", "a_b.com", "a" * 64 + ".com"]
    assert [name for name in invalid if is_valid(name)] == []


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("", "shop.example.com", True),
        ("*.example.com", "shop.example.com", True),
        ("*.example.com", "*.shop.example.com", True),
        ("*.example.com", "example.com", False),
        ("a.example.com", "b.example.com", False),
        ("*.example.com", "*.example.org", False),
    ],
)
def test_overlaps_are_mutual(one: str, other: str, both: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is both


def test_protocols_of_the_layouts() -> None:
    listeners = [listener("a", "TCP", 5432), secure("b", "projectcontour.io/https"), listener("c")]
    assert [one.reason for one in verdicts(listeners, "provisioner")] == ["", "", ""]
    assert [one.reason for one in verdicts(listeners, "operator")] == ["UnsupportedProtocol"] * 2 + [""]


def test_https_with_passthrough_is_valid_in_the_older_version_alone() -> None:
    listeners = [secure("a", mode="Passthrough"), secure("b", "TLS", mode="Passthrough", hostname="b.com")]
    assert [one.reason for one in verdicts(listeners, "operator")] == ["", ""]
    assert [one.reason for one in verdicts(listeners, "provisioner")] == ["UnsupportedValue", ""]


def test_an_invalid_listener_conflicts_with_nobody() -> None:
    listeners = [listener("a"), listener("b", hostname="10.0.0.1"), listener("c", "UDP")]
    found = verdicts(listeners, "provisioner")
    assert [one.reason or one.conflict for one in found] == ["", "UnsupportedValue", "UnsupportedProtocol"]


def test_conflicts_do_not_depend_on_the_order() -> None:
    listeners = [listener("a"), secure("b"), listener("c", port=443), listener("d", hostname="x.com"), listener("e")]
    expected = {
        "a": "HostnameConflict",
        "b": "ProtocolConflict",
        "c": "ProtocolConflict",
        "d": "",
        "e": "HostnameConflict",
    }
    for order in (listeners, listeners[::-1], listeners[2:] + listeners[:2]):
        found = verdicts(order, "provisioner")
        assert {one.name: verdict.conflict for one, verdict in zip(order, found, strict=True)} == expected


def test_https_and_tls_share_a_port_with_different_names() -> None:
    found = verdicts([secure("a", hostname="a.com"), secure("b", "TLS", hostname="b.com")], "provisioner")
    assert [one.is_good for one in found] == [True, True]
    found = verdicts([secure("a", hostname="a.com"), secure("b", "TLS", hostname="A.com")], "provisioner")
    assert [one.conflict for one in found] == ["HostnameConflict", "HostnameConflict"]


def test_each_port_number_of_a_good_listener_is_one_port() -> None:
    listeners = [
        secure("s"),
        listener("b", hostname="b.com"),
        listener("a", hostname="a.com"),
        listener("x", "UDP", 53),
    ]
    found = verdicts(listeners, "provisioner")
    assert ports_of(listeners, found) == (Port(80, "http"), Port(443, "https"))
