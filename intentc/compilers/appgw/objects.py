"""Makes claims for the sub-resources of the gateway, each with its origins.

``config`` is the sub-resource as Azure Resource Manager has it; ``names.py`` names it.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from intentc import Claim, Intent

from .names import sub_id
from .precedence import Owner

MOST_ORIGINS = 20
"""The most origins that one object lists: the list must not grow with the number of Ingresses."""


class Origin(msgspec.Struct, frozen=True, order=True):
    """The user's resource and field that a sub-resource comes from; ``name``: namespace:name."""

    kind: str
    name: str
    field: str = ""


def of_ingress(owner: Owner, field: str = "") -> Origin:
    return Origin("ingress", owner.shown, field)


def sub_resource(
    intent: Intent,
    kind: str,
    gateway: str,
    collection: str,
    name: str,
    content: dict[str, Any],
    origins: Iterable[Origin],
    **further: Any,
) -> Claim:
    """A claim that the gateway has the sub-resource ``name`` of ``collection`` with ``content`` as its properties."""
    config = {"id": sub_id(gateway, collection, name), "name": name, "properties": content}
    first = sorted(set(origins))[:MOST_ORIGINS]
    return intent.owned(kind, (name,), config=config, origins=first, **further)
