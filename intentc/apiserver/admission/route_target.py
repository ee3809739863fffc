"""Checks route targets: their name is their only content, and only the compiler creates automatic ones
(docs/contrail.md B.7).

It only checks: nothing that it gets is changed. The server reads and commits.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest
from ..integers import parse_integer
from . import users_targets
from .rules import Change, Found, Lookup, Rules, Uuids


class RouteTargetRules(Rules):
    """The rules of route targets: ``target:<autonomous system or IPv4 address>:<number>``.

    Only the compiler creates those that it allocates.
    """

    kind: ClassVar[str] = "route_target"

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        assert change.after is not None
        name = ":".join(change.after["fq_name"])
        if not is_route_target(name):
            raise BadRequest(f"{name!r} is no route target; name it target:<autonomous system or address>:<number>")

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_target(change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_target(change, found)


def is_route_target(name: str) -> bool:
    """Whether ``name`` has the form of a route target."""
    parts = name.split(":")
    if len(parts) != 3 or parts[0] != "target" or not _is_number(parts[2]):
        return False
    if _is_number(parts[1]):
        return True
    try:
        ipaddress.IPv4Address(parts[1])
    except ValueError:
        return False
    return True


def _is_number(text: str) -> bool:
    number = parse_integer(text)
    return number is not None and number < 1 << 32
