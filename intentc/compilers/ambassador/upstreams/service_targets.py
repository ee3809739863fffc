"""Where a service's text leads: the parts of its URL, and which targets are allowed."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple

from intentc import Context

_LABEL = re.compile(r"[0-9a-z_]([0-9a-z_-]{0,61}[0-9a-z_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_HOST = 253


class ServiceUrl(NamedTuple):
    """``scheme``: ``http``, ``https``, or empty if there is none. ``host``: a DNS name in lower case, or an address
    without brackets. ``port``: 0 if there is none."""

    scheme: str
    host: str
    port: int


def parse_service(text: str) -> ServiceUrl:
    """``text`` taken apart. Raises ``ValueError`` with what is wrong and what to write.

    >>> parse_service("https://Echo.shop:8443")
    ServiceUrl(scheme='https', host='echo.shop', port=8443)
    >>> parse_service("[::1]:80").host
    '::1'
    """
    shown = repr(text)
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "", text
    scheme = scheme.lower()
    if scheme not in ("", "http", "https"):
        raise ValueError(f"service {shown}: the scheme is http or https, not {scheme!r}")
    host, port_text = _split(rest, shown)
    host = host.lower()
    port = _port(port_text, shown) if port_text is not None else 0
    if address(host) is None:
        _check_name(host, shown)
    return ServiceUrl(scheme, host, port)


@lru_cache(maxsize=1024)
def address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """``host`` as an address, None if it is a name."""
    # Parsing is expensive, and each step asks about the same host; the last letter identifies most names.
    if ":" not in host and not host[-1:].isdigit():
        return None
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _split(rest: str, shown: str) -> tuple[str, str | None]:
    """(host, port as written or None)"""
    if rest.startswith("["):
        host, bracket, after = rest[1:].partition("]")
        if not bracket or (after and not after.startswith(":")):
            raise ValueError(f"service {shown}: an IPv6 address is written [address] or [address]:port")
        found = address(host)
        if found is None or found.version != 6 or "%" in host:
            raise ValueError(f"service {shown}: {host!r} is not an IPv6 address")
        return str(found), after[1:] if after else None
    if rest.count(":") > 1:
        raise ValueError(f"service {shown}: write an IPv6 address in brackets")
    host, colon, port = rest.partition(":")
    return host, port if colon else None


def _port(text: str, shown: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise ValueError(f"service {shown}: the port is a number from 1 to 65535, not {text!r}")
    return int(text)


def _check_name(host: str, shown: str) -> None:
    labels = host.removesuffix(".").split(".")
    if len(host) > _LONGEST_HOST or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(
            f"service {shown}: write [http://|https://]host[:port], without a path; {host!r} is not a host"
        )
    if _NUMBER.fullmatch(labels[-1]):
        raise ValueError(f"service {shown}: {host!r} looks like an address, but is none; write it as a.b.c.d")


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
    given = ctx.setting("ambassador.allowed_targets", ())
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
