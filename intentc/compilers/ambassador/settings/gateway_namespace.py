"""The gateway's own namespace: Services there need no namespace in their name (docs/ambassador.md §4.4), and
gateway-wide resources there take precedence over others."""

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
    """The resources of ``kind`` for this gateway, those in its own namespace first, then by name.

    Of several gateway-wide resources the first takes effect. It reads no further than the caller iterates, so that an
    unreadable one does not hold back callers that need only the first.
    """
    own = gateway_namespace(ctx)
    for resource in ctx.select(kind, "name", own):
        if resource.fq_name[0] == own and ours(resource, ctx):
            yield resource
    for resource in ctx.all(kind):
        if resource.fq_name[0] != own and ours(resource, ctx):
            yield resource
