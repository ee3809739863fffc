"""Explains the objects of an instance (`intentc why`): from which Gateway or Contour each follows, and from which
listeners a port of Envoy's Service.

It gives reasons through ``ctx``, and only if somebody asks for them; no state.
"""

from __future__ import annotations

from intentc import Context, Source, View

from .checking import checked_listeners
from .conditions.condition import Checked
from .holder import Candidate
from .objects import Object


def explain(ctx: Context, gateway: View, listeners: tuple[Checked, ...], made: tuple[Object, ...]) -> None:
    """Give the reasons for the objects of a Gateway's instance."""
    if not ctx.explaining:
        return
    for child, claim in made:
        ctx.because(claim, Source.of(gateway))
        if child.manifest["kind"] != "Service" or not child.manifest["metadata"]["name"].startswith("envoy"):
            continue
        for position, port in enumerate(child.manifest["spec"]["ports"]):
            for place in _listeners_of(listeners, port["port"]):
                source = Source.of(gateway, f"listeners[{place}]")
                ctx.because(claim, source, part=f"content.spec.ports[{position}]")


def explain_instance(ctx: Context, held_by: Candidate, made: tuple[Object, ...]) -> None:
    """Give the reasons for the objects of the instance of a namespace."""
    if not ctx.explaining:
        return
    owner = ctx.find(held_by.kind, (held_by.namespace, held_by.name))
    if owner is None:
        return
    if held_by.kind == "contour":
        explain(ctx, owner, (), made)
        return
    explain(ctx, owner, checked_listeners(ctx, owner), made)


def _listeners_of(listeners: tuple[Checked, ...], number: int) -> list[int]:
    return [place for place, one in enumerate(listeners) if one.verdict.is_good and one.listener.port == number]
