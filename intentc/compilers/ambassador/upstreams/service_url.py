"""Parses a ``service``: ``[http://|https://]host[:port]``, and rejects everything else.

The rule is Ambassador's (docs/ambassador.md §4.3, §4.4) with its holes closed: a text with two readings (a path, a
user, a number that a resolver would take for an address) is rejected, because the target that is checked must be the
one that is dialled. Others decide on the namespace of an unqualified name, and whether a target is allowed.

State: a cache of 1,024 parsed addresses.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple

_LABEL = re.compile(r"[0-9a-z_]([0-9a-z_-]{0,61}[0-9a-z_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LONGEST_HOST = 253


class ServiceUrl(NamedTuple):
    """``scheme``: ``http``, ``https``, or empty if there is none. ``host``: a DNS name in lower case, or an address
    without brackets. ``port``: 0 if there is none."""

    scheme: str
    host: str
    port: int

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The host as an address, None if it is a name."""
        return address(self.host)

    @property
    def unqualified(self) -> bool:
        """Whether the host is only the name of a service, without a namespace."""
        return "." not in self.host and ":" not in self.host and self.host != "localhost"


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
