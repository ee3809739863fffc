"""Why a part of an object is there, as values: which fields of which resources it follows from.

An evaluation tells it when somebody asks (``ctx.because``), never otherwise: it is computed again from the inputs of
now, so it is as true after a restart as before. What is read is known anyway (``reads``); this says which of it is
*needed*, and where in it. Revisions, and how an answer is worded, are left to ``explaining``.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from .claims import ReferenceClaim


class Named(Protocol):
    """A resource as evaluations see it."""

    @property
    def kind(self) -> str: ...

    @property
    def fq_name(self) -> tuple[str, ...]: ...


class Source(NamedTuple):
    """A stored resource, and the field of it that is meant. ``name``: its fq_name joined by ``:``. ``field``: a path
    such as ``security_group_entries.policy_rule[2]``; empty for the whole."""

    kind: str
    name: str
    field: str = ""

    @classmethod
    def of(cls, resource: Named, field: str = "") -> Source:
        """``resource``, or a field of it."""
        return cls(resource.kind, ":".join(resource.fq_name), field)


class Reason(NamedTuple):
    """What suffices for one part of an object; every source is needed for it. A part stands while one of its reasons
    does. ``part``: a field's path (``access_control_list_entries.acl_rule[0]``), a reference
    (``route_target_refs[target:64512:1]``), or empty for the object itself."""

    part: str
    sources: tuple[Source, ...]


def reference_part(claim: ReferenceClaim) -> str:
    """How the part is called that a reference is: ``route_target_refs[target:64512:1]``."""
    return f"{claim.relation}_refs[{':'.join(claim.target.fq_name)}]"
