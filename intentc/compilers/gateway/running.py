"""What the cluster has of an instance, as far as conditions and statuses depend on it (docs/gateway.md §9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from intentc import Context, ResourceClaim, View

from .children import Child


class Running(NamedTuple):
    """``contours``, ``envoys``: available pods. ``is_contour_available``: None if the cluster has not said it yet.
    ``missing``: the first workload that does not exist, such as ``Deployment contour``. ``taken``: objects of others
    that have a needed name; ``rejected``: what the cluster says of objects that it does not take. ``addresses``: of
    the Service, as its type publishes them."""

    contours: int = 0
    envoys: int = 0
    is_contour_available: bool | None = None
    missing: str = ""
    taken: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        """Whether Contour is available and at least one Envoy is."""
        return not self.missing and bool(self.is_contour_available) and self.envoys > 0

    @property
    def waits_for(self) -> str:
        """Why it is not up, for people."""
        if self.missing:
            return f"{self.missing} does not exist yet"
        if not self.is_contour_available:
            return "the Deployment of Contour is not available"
        return "no Envoy is available"


def running(
    ctx: Context, objects: Iterable[tuple[Child, ResourceClaim]], service_type: str, lost: Iterable[str] = ()
) -> Running:
    """What was observed of an instance's objects. ``service_type``: the publishing type of its Service. ``lost``: the
    objects of its names that other instances have."""
    state = Running()
    taken = list(lost)
    rejected: list[str] = []
    workloads: list[str] = []
    for child, claim in objects:
        seen = ctx.observed(claim)
        kind = child.manifest["kind"]
        title = f"{kind} {child.manifest['metadata']['name']}"
        if seen is not None and kind != "Namespace":
            if seen.taken:
                taken.append(title)
            elif seen.rejected:
                rejected.append(f"{title}: {seen.rejected}")
        if child.manifest.get("apiVersion") == "apps/v1":
            if _is_absent(seen):
                workloads.append(title)
            state = _with_workload(state, child, seen)
        if kind == "Service" and child.manifest["metadata"]["name"].startswith("envoy") and seen is not None:
            state = state._replace(addresses=_addresses(seen, service_type))
    return state._replace(missing=workloads[0] if workloads else "", taken=tuple(taken), rejected=tuple(rejected))


def _with_workload(state: Running, child: Child, seen: View | None) -> Running:
    count = 0 if seen is None or _is_absent(seen) else int(seen.counts.available)
    if child.manifest["metadata"]["name"].startswith("contour"):
        available = None if seen is None or _is_absent(seen) else seen.available
        return state._replace(contours=count, is_contour_available=available)
    return state._replace(envoys=state.envoys + count)


def _is_absent(seen: View | None) -> bool:
    return seen is None or bool(seen.gone)


def _addresses(seen: View, service_type: str) -> tuple[str, ...]:
    match service_type:
        case "LoadBalancerService":
            return tuple(seen.addresses)
        case "ClusterIPService":
            return tuple(seen.cluster_addresses)
    return ()
