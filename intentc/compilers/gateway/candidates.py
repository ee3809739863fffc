"""Makes a resource a candidate for the instance of a namespace, and finds the others (docs/gateway.md §7); ``holder``
decides between them.

It reads resources and facts through ``ctx``; no state.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Context, View

from .finalizers import is_ending
from .holder import Candidate
from .instance import Instance
from .parameters.classes import Class


def candidate_of(view: View, instance: Instance | None, fault: str = "", found: Class | None = None) -> Candidate:
    """``view``: a Contour, or a Gateway of v1alpha1. ``found``: its class; a Gateway without one does not count."""
    holder = found.holder if found is not None else None
    return Candidate(
        kind="contour" if view.kind == "contour" else "gateway_v1alpha1",
        namespace=view.fq_name[0],
        name=view.fq_name[1],
        created=view.metadata.creationTimestamp,
        instance=instance,
        fault=fault,
        counts=found is not None or view.kind == "contour",
        is_ending=is_ending(view),
        parameters=(holder.kind, *holder.fq_name) if holder is not None else (),
        gateway_class=(found.view.kind, *found.view.fq_name) if found is not None else (),
    )


def others_of(ctx: Context, name: str, view: View) -> Iterator[Candidate]:
    """The other candidates for an instance. ``name``: of the fact."""
    for key, candidate in ctx.contributions("contour_instance", name):
        if key != view.key:
            yield candidate
