"""Builds claims other than those on an intent's own objects (``Intent.child``, ``Intent.owned``).

Values may be plain here; the runner converts them to the schema's structs.
"""

from __future__ import annotations

from typing import Any

from intentc.model import SHARED, Name, PropertyClaim, ReferenceClaim, ResourceClaim

from .intent import View


def shared(kind: str, fq_name: tuple[str, ...], **properties: Any) -> ResourceClaim:
    """A claim that the root object ``kind`` ``fq_name`` exists, shared by its claimants: it ends with its last claim.

    >>> shared("label", ("blue",)).owner
    'shared'
    """
    return ResourceClaim(Name(kind, tuple(fq_name)), None, SHARED, tuple(sorted(properties.items())))


def refer(holder: View | ResourceClaim, target: View | ResourceClaim, **attribute: Any) -> ReferenceClaim:
    """A claim that ``holder`` refers to ``target`` by the relation named after the target's kind, with these fields of
    the attribute. The target need not exist yet."""
    name = _name(target)
    return ReferenceClaim(_name(holder), name.kind, name, attribute)


def assign(holder: View | ResourceClaim, field: str, value: Any) -> PropertyClaim:
    """A claim that the property ``field`` of ``holder`` has this value. The schema must give the field to compilers.
    When nobody claims it any more, it has its default again.
    """
    return PropertyClaim(_name(holder), field, value)


def _name(object_: View | ResourceClaim) -> Name:
    return object_.name if isinstance(object_, ResourceClaim) else Name(object_.key.kind, object_.fq_name)
