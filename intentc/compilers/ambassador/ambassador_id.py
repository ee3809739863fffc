"""Which gateway a resource is meant for: several may share one cluster, each with an id of its own.

A resource names the ids of its gateways in ``ambassador_id``, a list (in v2 also a text); one that names none is meant
for ``default``. Ours stands in the configuration as ``ambassador.id`` (docs/ambassador.md §4.3).
"""

from __future__ import annotations

from typing import Any

import msgspec

from intentc import Context, View

DEFAULT_ID = "default"
_ANY = "_automatic_"


def ours(resource: View, ctx: Context) -> bool:
    """Whether ``resource`` (its ``ambassador_id`` is an opaque property) is meant for this gateway. One that isn't has
    no effect here, and no problems either: the other gateway tells them."""
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
