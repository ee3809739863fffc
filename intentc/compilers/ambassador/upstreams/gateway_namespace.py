"""The namespace in which the gateway itself runs: names of Services there need none (docs/ambassador.md §4.4), and what
is said there about the whole gateway goes before what anybody says elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Context, View

from ..ambassador_id import ours

DEFAULT_NAMESPACE = "default"


def gateway_namespace(ctx: Context) -> str:
    """The setting ``ambassador.namespace``; ``default`` without one."""
    try:
        return str(ctx.setting("ambassador.namespace")) or DEFAULT_NAMESPACE
    except KeyError:
        return DEFAULT_NAMESPACE


def in_order(kind: str, ctx: Context) -> Iterator[View]:
    """The resources of ``kind`` for this gateway, those of its own namespace first, then by name: of several that are
    for all of it the first counts. Those that nobody asks for are not read: one that can't be holds back nobody."""
    own = gateway_namespace(ctx)
    for resource in ctx.select(kind, "name", own):
        if resource.fq_name[0] == own and ours(resource, ctx):
            yield resource
    for resource in ctx.all(kind):
        if resource.fq_name[0] != own and ours(resource, ctx):
            yield resource
