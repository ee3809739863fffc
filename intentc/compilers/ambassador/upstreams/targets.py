"""Which targets an upstream may have. The gateway stands inside: an address that means the gateway's own machine, or
the cloud's metadata service, would lend its rights to whoever may write a Mapping.

The setting ``ambassador.allowed_targets`` (a list of CIDRs and host names) lifts that for what is in it. Names are
judged as they are written: what DNS answers later is not seen here.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from intentc import Context

from .service_url import address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
_METADATA_ADDRESSES = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254"))
)
"""Of clouds whose metadata service is not on a link-local address."""
_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.goog", "instance-data"})
_OWN_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"})


class AllowedTargets(NamedTuple):
    """What is allowed although it would be refused."""

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
        own = name in _OWN_NAMES or name.endswith(".localhost")
        return (own or name in _METADATA_NAMES) and name not in allowed.names
    meant = _meant(found)
    if any(meant in network or found in network for network in allowed.networks):
        return False
    return (
        meant.is_loopback
        or meant.is_link_local
        or meant.is_unspecified
        or meant.is_multicast
        or meant in _METADATA_ADDRESSES
        or meant in _THIS_NETWORK
    )


def _meant(found: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for (``::ffff:127.0.0.1``), if it stands for one."""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped
        if found.packed[:12] == bytes(12) and int(found) > 1:
            return ipaddress.IPv4Address(found.packed[12:])
    return found
