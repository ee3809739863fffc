"""Explains route targets, and a BGP router's autonomous system: the fields from which each claim follows.

It is separate from the rules. ``with_reasons`` passes claims on, and computes reasons only while an explanation is
requested. The other functions compute them at each call: callers check ``ctx.explaining``, unless they put the reasons
into facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, product
from typing import TypeVar

from intentc import Claim, Context, ReferenceClaim, ResourceClaim, Source, View

from .route_targets import DEFAULT_AUTONOMOUS_SYSTEM, GLOBAL_SYSTEM_CONFIG, LISTS, autonomous_system, primary_name

Reasons = list[tuple[Source, ...]]
"""The sources of each reason."""


C = TypeVar("C", bound=Claim)

TargetClaim = ResourceClaim | ReferenceClaim
"""A claim of a route target, or of a reference to one."""


def with_reasons(
    ctx: Context, claims: Iterable[TargetClaim], reasons: Callable[[str, tuple[str, ...]], Reasons]
) -> Iterator[TargetClaim]:
    """Yields ``claims``, and, while an explanation is requested, the reasons of each.

    ``reasons``: a function of the route target and of the fq_name of the object that refers to it; that is empty where
    the target itself is claimed.
    """
    for claim in claims:
        if ctx.explaining and isinstance(claim, ResourceClaim | ReferenceClaim):
            named, holder = (
                (claim.name, ()) if isinstance(claim, ResourceClaim) else (claim.target, claim.holder.fq_name)
            )
            explained(ctx, claim, reasons(named.fq_name[-1], holder))
        yield claim


def explained(ctx: Context, claim: C, reasons: Iterable[tuple[Source, ...]], part: str = "") -> C:
    """``claim``, with each of ``reasons`` while an explanation is requested. ``part``: of the claimed object."""
    for reason in dict.fromkeys(reasons) if ctx.explaining else ():
        ctx.because(claim, *reason, part=part)
    return claim


def own_reasons(owner: View, ctx: Context) -> Reasons:
    """Why ``owner`` has its own route target: ``owner`` itself, and the autonomous system in the name, unless it is the
    default."""
    if autonomous_system(ctx) == DEFAULT_AUTONOMOUS_SYSTEM:
        return [(Source.of(owner),)]
    system = Source("global_system_config", ":".join(GLOBAL_SYSTEM_CONFIG), "autonomous_system")
    return [(Source.of(owner), system)]


def listed_reasons(resource: View, fields: Iterable[str], target: str) -> Reasons:
    """Each place of ``target`` in the lists of route targets ``fields``."""
    return [
        (Source.of(resource, f"{field}.route_target[{position}]"),)
        for field in fields
        for position, text in enumerate(resource.field(field).route_target)
        if text == target
    ]


def bgpvpn_reasons(holder: View, target: str) -> Reasons:
    """Each place of ``target`` in the lists of the BGP VPNs to which ``holder`` refers."""
    return [
        (*place, Source.of(holder, f"bgpvpn_refs[{':'.join(bgpvpn.fq_name)}]"))
        for bgpvpn in holder.references("bgpvpn")
        for place in listed_reasons(bgpvpn, LISTS, target)
    ]


class RouterReasons:
    """Explains why a router's targets are on the routing instances of its networks: by each attached interface.

    ``attachments``: (interface, its network). ``instances``: the existing routing instances.
    """

    def __init__(self, router: View, attachments: Iterable[tuple[View, View]], instances: Iterable[View]) -> None:
        self._router = router
        self._attachments = attachments
        self._instances = instances

    def reasons(self, written: Reasons, holder: tuple[str, ...]) -> Reasons:
        """Why ``holder`` refers to a target that the router has for the reasons ``written``.

        For an empty ``holder``: why the target exists.
        """
        ways = self._ways.get(holder, []) if holder else chain.from_iterable(self._ways.values())
        return [(*place, *way) for place, way in product(written, ways)]

    @cached_property
    def _ways(self) -> dict[tuple[str, ...], Reasons]:
        """Routing instance → the sources that lead to it, one tuple for each interface."""
        ways: dict[tuple[str, ...], Reasons] = {instance.fq_name: [] for instance in self._instances}
        for interface, network in self._attachments:
            instance = primary_name(network)
            if instance in ways:
                attached = Source.of(self._router, f"virtual_machine_interface_refs[{':'.join(interface.fq_name)}]")
                stands = Source.of(interface, f"virtual_network_refs[{':'.join(network.fq_name)}]")
                ways[instance].append((attached, stands, Source.of(network)))
        return ways
