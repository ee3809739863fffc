"""Reasons: which fields of which resources a part of an object follows from, as values.

An evaluation gives reasons only on request (``ctx.because``): they are computed again from the present inputs, so they
are as true after a restart as before. What is read is known anyway (``reads``); reasons say which reads are *needed*,
and which part of them. Other modules add revisions, and word the answer.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .claims import PropertyClaim, ReferenceClaim


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
    (``route_target_refs[target:64512:1]``), or empty for the object itself."""

    part: str
    sources: tuple[Source, ...]


def claimed_part(claim: ReferenceClaim | PropertyClaim) -> str:
    """The part of the holder that is claimed: a field, or a reference such as ``route_target_refs[target:64512:1]``."""
    if isinstance(claim, PropertyClaim):
        return claim.field
    return f"{claim.relation}_refs[{':'.join(claim.target.fq_name)}]"
