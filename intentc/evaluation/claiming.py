"""Builds claims other than those on an intent's own objects (``Intent.child``, ``Intent.owned``, ``Intent.manifest``)
and on status (``status.py``).

Values may be plain here; the runner converts them to the schema's structs.

Pure: it makes values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from intentc.model import SHARED, FinalizerClaim, Name, PropertyClaim, ReferenceClaim, RelationClaim, ResourceClaim

from .intent import View


def shared(kind: str, fq_name: tuple[str, ...], **properties: Any) -> ResourceClaim:
    """A claim that the root object ``kind`` ``fq_name`` exists, shared by its claimants: it ends with its last claim.

    >>> shared("label", ("blue",)).owner
    'shared'
    """
    return ResourceClaim(Name(kind, tuple(fq_name)), None, SHARED, tuple(sorted(properties.items())))


def refer(holder: View | ResourceClaim | Name, target: View | ResourceClaim | Name, **attribute: Any) -> ReferenceClaim:
    """A claim that ``holder`` refers to ``target`` by the relation named after the target's kind, with these fields of
    the attribute. The target need not exist yet.

    >>> claim = refer(Name("farm", ("valley", "north")), shared("crop", ("barley",)), acres=3)
    >>> claim.relation, claim.attribute
    ('crop', {'acres': 3})
    """
    name = name_of(target)
    return ReferenceClaim(name_of(holder), name.kind, name, attribute)


def assign(holder: View | ResourceClaim | Name, field: str, value: Any) -> PropertyClaim:
    """A claim that the field of ``holder`` has this value. The schema must give the field to compilers.

    ``field``: a property; when nobody claims it any more, it has its default again. Or a part of a user's property that
    its ``compiler_parts`` name (``parameters.number``); when nobody claims it any more, it stays as it is.

    >>> assign(Name("farm", ("valley", "north")), "parameters.number", 7).field
    'parameters.number'
    """
    return PropertyClaim(name_of(holder), field, value)


def keep_references(holder: View, relation: str) -> RelationClaim:
    """A claim that all entries of a shared list stay as they are, whoever wrote them."""
    return RelationClaim(name_of(holder), relation, kept=True)


def drop_references(holder: View, relation: str, targets: Iterable[View | ResourceClaim | Name]) -> RelationClaim:
    """A claim that ``holder`` does not refer to ``targets`` by a shared list, even if a user wrote the reference.

    Name all targets that must not be there, whether a reference to them exists or not: a claim that depends on what a
    user writes changes with each of the user's writes, and what changes the claims is not seen as contention
    (docs/engine.md §7)."""
    return RelationClaim(name_of(holder), relation, unwanted=tuple(sorted(map(name_of, targets))))


def finalizer(holder: View | Name, name: str) -> FinalizerClaim:
    """A claim that ``holder`` (a resource of the Kubernetes shape) has the finalizer ``name``, which the compiler
    declares (``Compiler(finalizers=…)``). It is stored before anything is created that the same evaluation claims.

    While the resource of the claiming intent is being deleted, the claim holds only until all that the intent made is
    gone (docs/engine.md §14.2).

    >>> finalizer(Name("app", ("shop", "web")), "example.com/app").finalizer
    'example.com/app'
    """
    return FinalizerClaim(name_of(holder), name)


def name_of(object_: View | ResourceClaim | Name) -> Name:
    """The name of the object that is meant."""
    if isinstance(object_, Name):
        return object_
    return object_.name if isinstance(object_, ResourceClaim) else Name(object_.key.kind, object_.fq_name)
