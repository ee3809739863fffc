"""Routing instances: which route targets their static routes may name (docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from . import users_targets
from .rules import Change, Found, Lookup, Rules


class RoutingInstanceRules(Rules):
    """None of its static routes may name a route target that the compiler numbers."""

    kind: ClassVar[str] = "routing_instance"

    def final_lookups(self, change: Change) -> Iterable[Lookup]:
        return users_targets.lookups_of_lists(self.kind, change)

    def verify(self, change: Change, found: Found) -> None:
        users_targets.check_lists(self.kind, change, found)
