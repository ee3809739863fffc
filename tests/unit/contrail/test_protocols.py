"""Protocols of rules (docs/contrail.md D.5.3; E.1 TestACLProtocol)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.contrail.protocols import acl_protocol


@pytest.mark.parametrize(
    ("protocol", "ethertype", "expected"),
    [
        ("any", "IPv4", "any"),
        ("", "IPv4", "any"),
        ("17", "IPv4", "17"),
        ("icmp", "IPv6", "58"),
        ("icmp", "IPv4", "1"),
        ("icmp", "", "1"),
        ("icmp6", "IPv6", "58"),
        ("icmp6", "IPv4", "58"),
        ("tcp", "IPv6", "6"),
        ("tcp", "IPv4", "6"),
        ("udp", "IPv6", "17"),
        ("udp", "IPv4", "17"),
        ("TCP", "IPv4", "6"),
        ("Icmp", "IPv6", "58"),
        ("ANY", "IPv4", "any"),
        ("vrrp", "IPv4", "112"),
        ("ipv6-icmp", "IPv6", "58"),
        ("hopopt", "IPv6", "0"),
        ("255", "IPv4", "255"),
    ],
)
def test_a_known_protocol_is_a_number(protocol: Any, ethertype: Any, expected: Any) -> None:
    assert acl_protocol(protocol, ethertype) == expected


@pytest.mark.parametrize("ethertype", ["IPv6", "IPv4", ""])
@pytest.mark.parametrize("protocol", ["unknown protocol", "256", "1" * 5000, "-1", "٣", " tcp"])
def test_any_other_is_rejected(protocol: Any, ethertype: Any) -> None:
    with pytest.raises(ValueError, match="is unknown; write any, a number up to 255, or a name such as tcp"):
        acl_protocol(protocol, ethertype)
