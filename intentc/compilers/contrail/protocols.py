"""Converts protocol names in rules to the protocol numbers of access control lists (docs/contrail.md D.5.3).

Where the ancestors differ, the rule is what a user expects: names in any case, the whole table of the Python ancestor,
and ``icmp`` under IPv6 is ICMPv6. Without a protocol a rule of a policy means any; one of a group is left out before it
comes here (docs/contrail.md D.5.1).
"""

from __future__ import annotations

from collections.abc import Mapping

ANY = "any"

NUMBERS: Mapping[str, int] = {
    "ah": 51,
    "dccp": 33,
    "egp": 8,
    "esp": 50,
    "gre": 47,
    "hopopt": 0,
    "icmp": 1,
    "icmp6": 58,
    "igmp": 2,
    "ip": 0,
    "ipip": 4,
    "ipv6-encap": 41,
    "ipv6-frag": 44,
    "ipv6-icmp": 58,
    "ipv6-nonxt": 59,
    "ipv6-opts": 60,
    "ipv6-route": 43,
    "ospf": 89,
    "pgm": 113,
    "rsvp": 46,
    "sctp": 132,
    "tcp": 6,
    "udp": 17,
    "udplite": 136,
    "vrrp": 112,
}


def acl_protocol(protocol: str, ethertype: str) -> str:
    """What an access control list has for a rule's protocol. Raises ``ValueError`` for one that is not known.

    >>> acl_protocol("icmp", "IPv6")
    '58'
    """
    name = protocol.lower() or ANY
    if name == ANY:
        return ANY
    if name.isdecimal() and name.isascii() and len(name) <= 3 and int(name) <= 255:
        return protocol
    if name == "icmp" and ethertype == "IPv6":
        name = "icmp6"
    if name not in NUMBERS:
        raise ValueError(f"protocol {protocol!r} is unknown; write any, a number up to 255, or a name such as tcp")
    return str(NUMBERS[name])
