"""Claims on objects, and facts for other intents: what evaluations yield (docs/engine.md §4, §5).

An evaluation yields claims and ``Fact`` values. ``planning`` merges all claims on one object, whatever their origins,
into its desired state; nothing here knows the present state. Property and attribute values are the frozen structs of
the kind's schema (``kind.py``), never dicts or lists.

Values only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .names import Key, Name


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
