"""Checks which route targets BGP VPNs list (docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from . import users_targets
from .rules import Change, Found, Lookup, Rules


class BgpVpnRules(Rules):
    """No list may name a route target that the compiler allocates."""

    kind: ClassVar[str] = "bgpvpn"

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_lists(self.kind, change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_lists(self.kind, change, found)
