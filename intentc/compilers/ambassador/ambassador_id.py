"""Decides which gateway a resource belongs to: several gateways may share one cluster, each with its own id.

A resource lists the ids of its gateways in ``ambassador_id`` (v2 also accepts a text); without it, the resource belongs
to ``default``. The id of this gateway is the setting ``ambassador.id`` (docs/ambassador.md §4.3).
"""

from __future__ import annotations

from typing import Any

import msgspec

from intentc import Context, View

DEFAULT_ID = "default"
_ANY = "_automatic_"


def ours(resource: View, ctx: Context) -> bool:
    """Whether ``resource`` (its ``ambassador_id`` is an opaque property) belongs to this gateway. A resource of another
    gateway has no effect and no problems here: the other gateway reports them."""
    ids = _ids(resource.ambassador_id)
    return _ANY in ids or gateway_id(ctx) in ids


def gateway_id(ctx: Context) -> str:
    """The setting ``ambassador.id``; ``default`` without one."""
    try:
        return str(ctx.setting("ambassador.id")) or DEFAULT_ID
    except KeyError:
        return DEFAULT_ID


def _ids(declared: Any) -> tuple[str, ...]:
    if not declared:
        return (DEFAULT_ID,)
    given = msgspec.json.decode(declared.text)
    named = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return tuple(str(one) for one in named if one) or (DEFAULT_ID,)
