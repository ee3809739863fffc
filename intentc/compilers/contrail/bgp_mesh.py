"""Decides which BGP routers refer to each other: a full mesh, or stars of route reflectors (docs/contrail.md D.12).

Pure functions of values. Each router that is not of BGP as a service contributes a ``Speaker`` to the fact
``bgp_speaker``, so that it finds its peers with one read; ``bgp_router.py`` does both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

SERVICE_TYPES = frozenset({"bgpaas-server", "bgpaas-client"})
"""The types of routers that belong to BGP as a service; they take no part in the mesh."""

CONTROL_NODE = "control-node"

CONTRAIL = "contrail"
"""The vendor of routers that get the autonomous system of ``global_system_config``; a missing one means it, too."""

PEERING: dict[str, Any] = {"session": [{"attributes": [{"address_families": {"family": []}}]}]}
"""The attribute of a link of the mesh: one session, with all address families (``ours_with`` in the schema)."""


class Speaker(NamedTuple):
    """What a BGP router is to the mesh. ``member``: it takes part; the others only count as reflectors.

    ``fabrics``: those of its physical routers."""

    fq_name: tuple[str, ...]
    member: bool
    sub_cluster: tuple[str, ...]
    control_node: bool
    reflector: bool
    fabrics: tuple[tuple[str, ...], ...]


class Mesh:
    """The rules for pairs among all speakers."""

    def __init__(self, speakers: Sequence[Speaker]) -> None:
        self._speakers = speakers
        self._any_reflector = any(speaker.reflector for speaker in speakers)
        self._control_reflector = any(speaker.reflector and speaker.control_node for speaker in speakers)

    def candidates(self, one: Speaker) -> list[Speaker]:
        """The other members of its sub-cluster, by name."""
        return sorted(
            other
            for other in self._speakers
            if one.member and other.member and other.sub_cluster == one.sub_cluster and other.fq_name != one.fq_name
        )

    def are_peers(self, one: Speaker, other: Speaker) -> bool:
        """Whether two candidates refer to each other."""
        if not self._any_reflector:
            return True
        if one.control_node and other.control_node and not self._control_reflector:
            return True
        if not (one.reflector or other.reflector):
            return False
        return not (one.fabrics and other.fabrics) or not set(one.fabrics).isdisjoint(other.fabrics)
