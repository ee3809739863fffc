"""A BGP router refers to its peers in the mesh, and may get its autonomous system here (docs/contrail.md D.12).

One of vendor Contrail outside of sub-clusters has the autonomous system of ``global_system_config``. The mesh's rules
are in ``bgp_mesh.py``. Links between candidates belong to the compiler; other sessions of users stay. With
``ibgp_auto_mesh`` false all links stay as they are. The routers of BGP as a service are compiled by
``bgp_as_a_service.py`` and ``bgp_server.py``.

It reads and gives reasons through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, Name, Source, assign, drop_references, keep_references, refer

from .bgp_mesh import CONTRAIL, CONTROL_NODE, PEERING, SERVICE_TYPES, Mesh, Speaker
from .route_target_sources import own_reasons
from .route_targets import GLOBAL_SYSTEM_CONFIG, autonomous_system

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
        mesh = Mesh([Speaker(*value) for _, value in ctx.contributions(SPEAKER, MESH)])
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
