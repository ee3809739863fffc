"""Reasons: which fields of which resources a part of an object follows from, as values; and which parts a claim is
about.

An evaluation gives reasons only on request (``ctx.because``): they are computed again from the present inputs, so they
are as true after a restart as before. What is read is known anyway (``reads``); reasons say which reads are *needed*,
and which part of them. ``inspection`` adds revisions, and words the answer.

Values only.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .claims import Claim, FinalizerClaim, PropertyClaim, ReferenceClaim, RelationClaim, ResourceClaim, StatusClaim
from .names import Name


class Named(Protocol):
    """A resource as evaluations see it."""

    @property
    def kind(self) -> str: ...

    @property
    def fq_name(self) -> tuple[str, ...]: ...


class Source(NamedTuple):
    """A stored resource, and the relevant field of it. ``name``: its fq_name joined by ``:``. ``field``: a path such as
    ``security_group_entries.policy_rule[2]``; empty for the whole resource.

    >>> Source("farm", "valley:north", "crops[0]").field
    'crops[0]'
    """

    kind: str
    name: str
    field: str = ""

    @classmethod
    def of(cls, resource: Named, field: str = "") -> Source:
        """``resource``, or a field of it."""
        return cls(resource.kind, ":".join(resource.fq_name), field)


class Reason(NamedTuple):
    """A set of sources that suffices for one part of an object; every source is needed for it. A part stays while one
    of its reasons holds. ``part``: a field's path (``access_control_list_entries.acl_rule[0]``), a reference
    (``route_target_refs[target:64512:1]``), a list of references that stays as it is (``bgp_router_refs``), or empty
    for the object itself."""

    part: str
    sources: tuple[Source, ...]


def claimed_parts(claim: Claim) -> tuple[str, ...]:
    """The parts of its object that are claimed: the object itself and its fields, one field, a reference such as
    ``route_target_refs[target:64512:1]``, a list that stays as it is, or the references that must not be there.

    >>> claimed_parts(RelationClaim(Name("farm", ("valley",)), "farm", unwanted=(Name("farm", ("hill",)),)))
    ('farm_refs[hill]',)
    """
    match claim:
        case ResourceClaim():
            return ("", *(field for field, _ in claim.properties))
        case PropertyClaim():
            return (claim.field,)
        case StatusClaim():
            return (f"status.{claim.item}",)
        case ReferenceClaim():
            return (reference_part(claim.relation, claim.target),)
        case RelationClaim():
            kept = (f"{claim.relation}_refs",) if claim.kept else ()
            return (*kept, *(reference_part(claim.relation, target) for target in claim.unwanted))
        case FinalizerClaim():
            return (finalizer_part(claim.finalizer),)


def finalizer_part(finalizer: str) -> str:
    """A finalizer as a part of its holder."""
    return f"metadata.finalizers[{finalizer}]"


def reference_part(relation: str, target: Name) -> str:
    """A reference as a part of its holder."""
    return f"{relation}_refs[{':'.join(target.fq_name)}]"
