"""Host names of listeners and routes: which are valid, which are equal, and which overlap (docs/gateway.md §6).

Pure functions of texts: no state.
"""

from __future__ import annotations

import ipaddress
import re

ANY = ""
"""What an absent host name, an empty one and ``*`` mean."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST = 253


def normal(hostname: str) -> str:
    """The host name in the form in which two equal ones are equal texts.

    >>> normal("Shop.Example.COM"), normal("*")
    ('shop.example.com', '')
    """
    lower = hostname.lower()
    return ANY if lower == "*" else lower


def is_valid(hostname: str) -> bool:
    """Whether it is a DNS name, with ``*`` at most as its whole first label, and no IP address.

    >>> [is_valid(name) for name in ("", "*.example.com", "10.0.0.1", "a.*.com", "-a.com")]
    [True, True, False, False, False]
    """
    name = normal(hostname)
    if name == ANY:
        return True
    if len(name) > _LONGEST or _is_address(name):
        return False
    labels = name.removeprefix("*.").split(".")
    return all(_LABEL.fullmatch(label) for label in labels)


def overlap(one: str, other: str) -> bool:
    """Whether some host name fits both.

    >>> overlap("*.example.com", "a.b.example.com"), overlap("*.example.com", "example.com")
    (True, False)
    """
    one, other = normal(one), normal(other)
    if ANY in (one, other) or one == other:
        return True
    if one.startswith("*.") and other.startswith("*."):
        return one.endswith(other[1:]) or other.endswith(one[1:])
    if one.startswith("*."):
        return other.endswith(one[1:])
    return other.startswith("*.") and one.endswith(other[1:])


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
