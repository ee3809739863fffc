"""Decides which targets an upstream may have.

The gateway is inside the network: an address of its own machine, or of the cloud's metadata service, would lend its
rights to everybody who may write a Mapping. The setting ``ambassador.allowed_targets`` (a list of CIDRs and host names)
allows exceptions. Names are checked as they are written: what DNS answers later is not visible here.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

from intentc import Context

from .service_url import address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
_METADATA_ADDRESSES = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"))
)
"""Metadata services of clouds that don't use a link-local address."""
_METADATA_NAMES = frozenset(
    {
        *("metadata", "metadata.google.internal", "metadata.goog", "metadata.azure.internal"),
        *("metadata.tencentyun.com", "metadata.platformequinix.com", "instance-data"),
    }
)
_METADATA_NAME = re.compile(r"instance-data(\.[a-z0-9-]+)*\.internal|.*\.metadata\.google\.internal")
"""``instance-data.ec2.internal``, and the same in other regions and networks."""
_OWN_NAMES = frozenset({"localhost", "localhost.localdomain", "localhost4", "localhost6"})
_OWN_NAME = re.compile(r".*\.localhost|(localhost[46]|ip6-(localhost|loopback))(\.localdomain[46]?)?")
_NAT64 = tuple(map(ipaddress.IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48")))
_6TO4 = ipaddress.IPv6Network("2002::/16")
_ISATAP = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))


class AllowedTargets(NamedTuple):
    """Exceptions: targets that are allowed although they would be rejected."""

    networks: tuple[Network, ...] = ()
    names: frozenset[str] = frozenset()


def allowed_targets(ctx: Context) -> AllowedTargets:
    """The setting ``ambassador.allowed_targets``; nothing without one."""
    try:
        given = ctx.setting("ambassador.allowed_targets")
    except KeyError:
        return AllowedTargets()
    networks: list[Network] = []
    names: set[str] = set()
    for one in map(str, given or ()):
        try:
            networks.append(ipaddress.ip_network(one, strict=False))
        except ValueError:
            names.add(one.lower())
    return AllowedTargets(tuple(networks), frozenset(names))


def forbidden(host: str, allowed: AllowedTargets) -> bool:
    """Whether ``host``, a name in lower case or an address, must not be an upstream.

    >>> forbidden("169.254.169.254", AllowedTargets()), forbidden("10.0.0.1", AllowedTargets())
    (True, False)
    """
    found = address(host)
    if found is None:
        name = host.removesuffix(".")
        own = name in _OWN_NAMES or _OWN_NAME.fullmatch(name) is not None
        metadata = name in _METADATA_NAMES or _METADATA_NAME.fullmatch(name) is not None
        return (own or metadata) and name not in allowed.names
    meant = _meant(found)
    if any(one in network for one in (found, *meant) for network in allowed.networks):
        return False
    return any(_guarded(one) for one in meant)


def _guarded(one: Address) -> bool:
    return (
        one.is_loopback
        or one.is_link_local
        or one.is_unspecified
        or one.is_multicast
        or one in _METADATA_ADDRESSES
        or one in _THIS_NETWORK
    )


def _meant(found: Address) -> tuple[Address, ...]:
    """The addresses that packets for ``found`` may reach: the IPv4 addresses embedded in an IPv6 address, otherwise
    itself.

    >>> _meant(ipaddress.ip_address("64:ff9b::a9fe:a9fe"))
    (IPv4Address('169.254.169.254'),)
    """
    if not isinstance(found, ipaddress.IPv6Address):
        return (found,)
    packed = found.packed
    if found.ipv4_mapped is not None:
        return (found.ipv4_mapped,)
    if packed[:12] == bytes(12) and int(found) > 1:
        return (ipaddress.IPv4Address(packed[12:]),)
    if found in _6TO4:
        return (ipaddress.IPv4Address(packed[2:6]),)
    if found in _NAT64[0]:
        return (ipaddress.IPv4Address(packed[12:]),)
    if found in _NAT64[1]:
        # The position of the address depends on the length of the translator's prefix (RFC 6052 2.2); byte 8 is
        # skipped.
        spread = packed[:8] + packed[9:]
        parts = [ipaddress.IPv4Address(part) for part in (spread[6:10], spread[7:11], spread[8:12])]
        return (*(one for one in parts if one not in _THIS_NETWORK), ipaddress.IPv4Address(packed[12:]))
    if packed[:12] == bytes(8) + b"\xff\xff" + bytes(2):
        return (ipaddress.IPv4Address(packed[12:]),)
    if found.teredo is not None:
        return found.teredo
    if packed[8:12] in _ISATAP:
        return (found, ipaddress.IPv4Address(packed[12:]))
    return (found,)
