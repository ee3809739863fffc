"""Checks the listeners of a Gateway of either version, with what they refer to, and says which ports they need
(docs/gateway.md §6). The checks themselves are in ``listeners``.

It reads Secrets, grants, routes and namespaces through ``ctx``; no state.
"""

from __future__ import annotations

from intentc import Context, View

from .conditions.condition import Checked
from .instance import Port
from .listeners.checks import verdicts
from .listeners.listener import listeners_of
from .listeners.overlaps import overlapping
from .listeners.ports import ports_of
from .listeners.references import Resolution, resolved
from .listeners.routes import attached_routes


def checked_listeners(ctx: Context, gateway: View) -> tuple[Checked, ...]:
    """The listeners of a Gateway, each with what was found out about it."""
    early = gateway.kind == "gateway_v1alpha1"
    listeners = listeners_of(gateway)
    found = verdicts(listeners, "operator" if early else "provisioner")
    overlaps = overlapping(listeners, found)
    attached = (0,) * len(listeners) if early else attached_routes(ctx, gateway, listeners)
    return tuple(
        Checked(
            listener,
            verdict,
            # One that is refused needs no certificate.
            resolved(ctx, listener, gateway.fq_name[0], early=early) if verdict.is_good else Resolution(),
            count,
            overlap,
        )
        for listener, verdict, count, overlap in zip(listeners, found, attached, overlaps, strict=True)
    )


def ports(listeners: tuple[Checked, ...]) -> tuple[Port, ...]:
    """The ports of the listeners in force."""
    return ports_of([one.listener for one in listeners], [one.verdict for one in listeners])
