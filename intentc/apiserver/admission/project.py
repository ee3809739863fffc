"""Checks projects: the routing mode can't change while they have routers (docs/contrail.md B.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import BadRequest
from .rules import Change, ChildrenOf, Found, Lookup, Rules, Uuids


class ProjectRules(Rules):
    """``vxlan_routing`` can't change while the project has logical routers."""

    kind: ClassVar[str] = "project"

    def lookups(self, change: Change) -> Iterable[Lookup]:
        return self._routers(change) if change.before is not None and change.changes("vxlan_routing") else ()

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        for lookup in self.lookups(change):
            routers = found[lookup]
            if routers:
                raise BadRequest(
                    f"vxlan_routing can't change while the project has logical routers "
                    f"({':'.join(routers[0]['fq_name'])}); delete them first"
                )

    @staticmethod
    def _routers(change: Change) -> tuple[Lookup, ...]:
        return (ChildrenOf(change.uuid, "logical_router"),)
