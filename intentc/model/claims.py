"""Claims, what an intent wants of an object, and reasons: which fields of which resources a part of it follows from.

An evaluation gives reasons only on request (``ctx.because``): they are computed again from the present inputs, so they
are as true after a restart as before. What is read is known anyway (``reads``); reasons say which reads are *needed*,
and which part of them. ``inspection`` adds revisions, and words the answer.

Values only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from intentc.model.names import Key, Name


class Parent(NamedTuple):
    """The parent under which an object is created."""

    key: Key
    fq_name: tuple[str, ...]


class ResourceClaim(NamedTuple):
    """Claims that the object ``name`` exists, with these values of these fields.

    ``owner``: uuid of the one intent that owns it by nature, or ``shared`` if several may claim it. ``properties``:
    ((field, value), …) sorted by field; fields that aren't named are left alone. Authors call ``Intent.child``,
    ``Intent.owned`` or ``shared``.

    >>> ResourceClaim(Name("crop", ("barley",)), None, "shared", (("acres", 3),)).properties
    (('acres', 3),)
    """

    name: Name
    parent: Parent | None
    owner: str
    properties: tuple[tuple[str, Any], ...] = ()


class ReferenceClaim(NamedTuple):
    """Claims that ``holder`` refers to ``target`` by ``relation``, with ``attribute`` (a struct of the relation's type,
    or None). ``holder`` may be an object that we did not make; ``target`` need not exist yet. Authors call ``refer``.

    >>> str(ReferenceClaim(Name("farm", ("valley", "north")), "crop", Name("crop", ("barley",))).target)
    'crop barley'
    """

    holder: Name
    relation: str
    target: Name
    attribute: Any = None


class PropertyClaim(NamedTuple):
    """Claims that the property ``field`` of ``holder``, or the part of it at a path such as
    ``bgp_router_parameters.autonomous_system``, has this value. ``holder`` may be an object that we did not make, and
    need not exist yet; the claim does not create it. Authors call ``assign``.

    >>> PropertyClaim(Name("farm", ("valley", "north")), "acres", 7).value
    7
    """

    holder: Name
    field: str
    value: Any


class RelationClaim(NamedTuple):
    """Claims what happens to the entries of a shared list that no ``ReferenceClaim`` names, whoever wrote them.

    ``kept``: all stay, and none is added. ``unwanted``: the entries with these targets are removed."""

    holder: Name
    relation: str
    kept: bool = False
    unwanted: tuple[Name, ...] = ()


class FinalizerClaim(NamedTuple):
    """Claims that ``holder`` has this name among its finalizers, so that it is not removed before the claim ends
    (docs/engine.md §14.2). Authors call ``finalizer``.

    >>> FinalizerClaim(Name("app", ("shop", "web")), "example.com/app").finalizer
    'example.com/app'
    """

    holder: Name
    finalizer: str


class StatusClaim(NamedTuple):
    """Claims one item of the status of ``holder``: a condition (``conditions[Ready]``) or a field (``state``).

    ``value``: a condition as a struct of its type, without a time; or the field's value. ``generation``: of the holder,
    as the evaluation read it. ``holder`` need not exist yet. Authors call ``status.condition`` and ``status.field``.

    >>> StatusClaim(Name("farm", ("valley", "north")), "state", "Running").item
    'state'
    """

    holder: Name
    item: str
    value: Any
    generation: int = 0


class Fact(NamedTuple):
    """A derived value for other intents, kept only in memory. ``value`` is frozen (hashable, comparable).

    >>> Fact("suppliers", "valley:north", ("valley:south",)).value
    ('valley:south',)
    """

    kind: str
    name: str
    value: Any


class HeldFacts(NamedTuple):
    """The facts of an intent whose later runs did not complete. ``create_revision``: of its resource; 0 for a fact that
    is an intent itself."""

    key: Key
    create_revision: int
    facts: tuple[Fact, ...]


Claim = ResourceClaim | ReferenceClaim | PropertyClaim | RelationClaim | FinalizerClaim | StatusClaim


def claimed(claim: Claim) -> Name:
    """The object that a claim is about."""
    return claim.name if isinstance(claim, ResourceClaim) else claim.holder


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
