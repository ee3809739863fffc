"""The lists of route targets that users write, and the direction of each target (docs/contrail.md D.1, D.11).

Networks and BGP VPNs have three lists each; networks and routers also get those of the BGP VPNs that they refer to. The
intents decide which routing instances refer to the targets.

It reads and reports problems through ``ctx``.
"""

from __future__ import annotations

from collections.abc import Mapping

from intentc import Context, View

from .route_targets import BOTH, EXPORT, IMPORT, effective

LISTS = ("route_target_list", "import_route_target_list", "export_route_target_list")

Directions = Mapping[str, str]
"""Route target → ``import_export``, sorted by target."""


def list_directions(resource: View, ctx: Context) -> Directions:
    """The targets of the three lists of ``resource``."""
    both, imported, exported = (effective(resource, field, resource.field(field).route_target, ctx) for field in LISTS)
    return united(dict.fromkeys(both, BOTH), dict.fromkeys(imported, IMPORT), dict.fromkeys(exported, EXPORT))


def bgpvpn_directions(holder: View, ctx: Context) -> Directions:
    """The targets of all BGP VPNs that ``holder`` refers to."""
    return united(*(list_directions(bgpvpn, ctx) for bgpvpn in holder.references("bgpvpn")))


def united(*sources: Directions) -> Directions:
    """All targets of ``sources``. Where these give a target different directions, it has both.

    >>> united({"target:1:1": "import", "target:1:2": "export"}, {"target:1:1": "export"})
    {'target:1:1': '', 'target:1:2': 'export'}
    """
    found: dict[str, str] = {}
    for directions in sources:
        for target, direction in directions.items():
            found[target] = direction if found.get(target, direction) == direction else BOTH
    return dict(sorted(found.items()))
