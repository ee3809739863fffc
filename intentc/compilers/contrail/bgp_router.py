"""A BGP router refers to its peers in the mesh, and may get its autonomous system here (docs/contrail.md D.12).

The mesh is full, or stars of route reflectors. Links between members belong to the compiler; other sessions of users
stay. With ``ibgp_auto_mesh`` false all links stay as they are. The routers of BGP as a service are compiled by
``bgp_as_a_service.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from intentc import Claim, Context, Fact, Intent, Name, Source, assign, drop_references, keep_references, refer

from .route_target_sources import own_reasons
from .route_targets import GLOBAL_SYSTEM_CONFIG, autonomous_system

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


SPEAKER = "bgp_speaker"
"""The fact to which every router contributes, under one name."""

MESH = "mesh"

AUTONOMOUS_SYSTEM = "bgp_router_parameters.autonomous_system"


class BgpRouterIntent(Intent):
    kind = "bgp_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        parameters = self.bgp_router_parameters
        if parameters.router_type in SERVICE_TYPES:
            return
        me = self._speaker(parameters, ctx)
        yield Fact(SPEAKER, MESH, me)
        if _is_contrail(parameters) and not me.sub_cluster:
            forced = assign(self, AUTONOMOUS_SYSTEM, autonomous_system(ctx))
            for reason in own_reasons(self, ctx) if ctx.explaining else ():
                ctx.because(forced, *reason)
            yield forced
        config = ctx.find("global_system_config", GLOBAL_SYSTEM_CONFIG)
        if config is None or config.ibgp_auto_mesh:
            yield from self._links(me, ctx)
        else:
            kept = keep_references(self, "bgp_router")
            ctx.because(kept, Source.of(self), Source.of(config, "ibgp_auto_mesh"))
            yield kept

    def _speaker(self, parameters: Any, ctx: Context) -> Speaker:
        sub_clusters = self.references("sub_cluster")
        devices = self.back_references("physical_router")
        fabrics = {fabric.fq_name for device in devices for fabric in device.references("fabric")}
        # Its own autonomous system is not read where the compiler writes it.
        in_system = _is_contrail(parameters) or parameters.autonomous_system == autonomous_system(ctx)
        return Speaker(
            self.fq_name,
            member=in_system or bool(sub_clusters) or bool(fabrics),
            sub_cluster=sub_clusters[0].fq_name if sub_clusters else (),
            control_node=parameters.router_type == CONTROL_NODE,
            reflector=bool(parameters.cluster_id),
            fabrics=tuple(sorted(fabrics)),
        )

    def _links(self, me: Speaker, ctx: Context) -> Iterator[Claim]:
        mesh = Mesh([value for _, value in ctx.contributions(SPEAKER, MESH)])
        strangers = []
        for candidate in mesh.candidates(me):
            router = Name("bgp_router", candidate.fq_name)
            if not mesh.are_peers(me, candidate):
                strangers.append(router)
                continue
            link = refer(self, router, **PEERING)
            ctx.because(link, Source.of(self), Source("bgp_router", ":".join(candidate.fq_name)))
            yield link
        # What a user makes between two members has no place in the mesh. Claimed whether it is there or not: a claim
        # that came and went with the user's reference would be a change each time, and never contention.
        if strangers:
            yield drop_references(self, "bgp_router", strangers)


def _is_contrail(parameters: Any) -> bool:
    return (parameters.vendor or CONTRAIL).lower() == CONTRAIL
