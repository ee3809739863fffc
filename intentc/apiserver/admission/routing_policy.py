"""Checks which route targets routing policies give to routes (docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from . import users_targets
from .rules import Change, Found, Lookup, Rules


class RoutingPolicyRules(Rules):
    """No action may name a route target that the compiler allocates."""

    kind: ClassVar[str] = "routing_policy"

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_lists(self.kind, change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_lists(self.kind, change, found)
