"""Merges all claims on one object into its desired state (docs/engine.md §5.3).

A property has one value, and so has an item of the status, unless the schema says that a property's elements are
independent: then lists are united and maps joined by key. References are united by target; if the schema names a
function, the attributes for one target are merged. Finalizers are united. If an origin owns the object, owner and
parent are what it claims, whatever shared claims say. Contributors that disagree get a problem each, and the stored
value stays; so do those that contradict each other about a shared list. The order of contributors never matters.
``diff.py`` computes the writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import (
    SHARED,
    Claim,
    FinalizerClaim,
    Key,
    Kind,
    Name,
    Parent,
    Problem,
    PropertyClaim,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
    StatusClaim,
)
from intentc.model.kind import Property
from intentc.model.status import common_value, status_item
from intentc.model.values import ENCODER

from .claims import Item

_NO_PARTS: Mapping[str, Any] = {}


class Desired(NamedTuple):
    """The combined claims of all contributors to one object.

    ``exists``: the object itself is claimed; ``owner`` and ``parent`` are from that claim (``owner`` None: origins
    disagree). ``properties``: field → value. ``references``: relation → target → attribute. ``disputed``: fields and
    (relation, target) pairs on which contributors disagree. ``problems``: one per contributor and dispute. ``inner``:
    path inside a user's property → value. ``kept``: relations whose entries all stay. ``unwanted``: (relation, target)
    pairs that nobody's entry may connect. ``finalizers``: name → the origins that claim it. ``status``: item → value.
    """

    exists: bool
    owner: str | None
    parent: Parent | None
    properties: Mapping[str, Any]
    references: Mapping[str, Mapping[Name, Any]]
    disputed: frozenset[Item]
    problems: tuple[Problem, ...]
    inner: Mapping[str, Any] = _NO_PARTS
    kept: frozenset[str] = frozenset()
    unwanted: frozenset[Item] = frozenset()
    finalizers: Mapping[str, tuple[Key, ...]] = _NO_PARTS
    status: Mapping[str, Any] = _NO_PARTS


NOTHING = Desired(False, None, None, {}, {}, frozenset(), ())


def merge_import_export(one: Any, other: Any) -> Any:
    """``import`` and ``export`` make both; both wins over either. A missing value means both."""
    if one.import_export == other.import_export:
        return one
    return msgspec.structs.replace(one, import_export=type(one)().import_export)


MERGES: Mapping[str, Callable[[Any, Any], Any]] = {"import_export": merge_import_export}
"""Name in schema files → a function of two attributes."""


def merge(kind: Kind, name: Name, claims: Mapping[Key, tuple[Claim, ...]], title: Callable[[Key], str]) -> Desired:
    """The desired state of the object ``name`` of ``kind``. ``title``: the name of an origin, for problems."""
    if not claims:
        return NOTHING
    if len(claims) == 1:
        (own,) = claims.values()
        claim = own[0]
        if len(own) == 1 and isinstance(claim, ResourceClaim):
            return Desired(True, claim.owner, claim.parent, dict(claim.properties), {}, frozenset(), ())
    merging = _Merging(kind, name, title)
    for origin in sorted(claims):
        for claim in claims[origin]:
            merging.add(origin, claim)
    return merging.result()


class _Merging:
    """Collects the claims on one object by the part that they are about."""

    def __init__(self, kind: Kind, name: Name, title: Callable[[Key], str]) -> None:
        self._kind = kind
        self._name = name
        self._title = title
        self._existence: list[tuple[Key, ResourceClaim]] = []
        self._properties: dict[str, list[tuple[Key, Any]]] = {}
        self._references: dict[str, dict[Name, list[tuple[Key, Any]]]] = {}
        self._kept: dict[str, list[Key]] = {}
        self._unwanted: dict[tuple[str, Name], list[Key]] = {}
        self._finalizers: dict[str, tuple[Key, ...]] = {}
        self._status: dict[str, list[tuple[Key, Any]]] = {}
        self._problems: dict[Problem, None] = {}
        self._disputed: set[Item] = set()

    def add(self, origin: Key, claim: Claim) -> None:
        match claim:
            case ResourceClaim():
                self._existence.append((origin, claim))
                for field, value in claim.properties:
                    self._properties.setdefault(field, []).append((origin, value))
            case PropertyClaim():
                self._properties.setdefault(claim.field, []).append((origin, claim.value))
            case StatusClaim():
                self._status.setdefault(claim.item, []).append((origin, claim.value))
            case RelationClaim():
                if claim.kept:
                    self._kept.setdefault(claim.relation, []).append(origin)
                for target in claim.unwanted:
                    self._unwanted.setdefault((claim.relation, target), []).append(origin)
            case ReferenceClaim():
                self._reference(origin, claim)
            case FinalizerClaim():
                self._finalizers[claim.finalizer] = (*self._finalizers.get(claim.finalizer, ()), origin)

    def _reference(self, origin: Key, claim: ReferenceClaim) -> None:
        relation = self._kind.relations.get(claim.relation)
        if relation is None:
            message = (
                f"it refers from {claim.holder} by {claim.relation!r}, which the schema doesn't declare; declare it"
            )
            self._problem(origin, "UnknownRelation", message)
            return
        attribute = claim.attribute
        if attribute is None and relation.attribute:
            attribute = default_attribute(self._kind, relation.name)
        by_target = self._references.setdefault(relation.name, {})
        by_target.setdefault(claim.target, []).append((origin, attribute))

    def result(self) -> Desired:
        owner, parent = self._owner_and_parent()
        properties: dict[str, Any] = {}
        inner: dict[str, Any] = {}
        for field, values in self._properties.items():
            agreed, value = self._property(field, [value for _, value in values])
            if agreed:
                (inner if "." in field else properties)[field] = value
            else:
                self._dispute(field, [origin for origin, _ in values], f"different values of {field}")
        status: dict[str, Any] = {}
        for item, values in self._status.items():
            value = common_value([value for _, value in values])
            if value is not None:
                status[item] = value
            else:
                part = status_item(item)
                self._dispute(part, [origin for origin, _ in values], f"different values of {part}")
        self._contradictions()
        references: dict[str, dict[Name, Any]] = {}
        for relation, by_target in self._references.items():
            combine = MERGES.get(self._kind.relations[relation].merge)
            entries = references.setdefault(relation, {})
            for target, wanted in by_target.items():
                if (relation, target) in self._disputed:
                    continue
                attribute = wanted[0][1]
                for _, other in wanted[1:]:
                    if other != attribute and combine is None:
                        origins = [origin for origin, _ in wanted]
                        self._dispute((relation, target), origins, f"different attributes of its reference to {target}")
                        break
                    attribute = combine(attribute, other) if combine else attribute
                else:
                    entries[target] = attribute
        return Desired(
            bool(self._existence),
            owner,
            parent,
            properties,
            references,
            frozenset(self._disputed),
            tuple(self._problems),
            inner,
            frozenset(self._kept),
            frozenset(item for item in self._unwanted if item not in self._disputed),
            self._finalizers,
            status,
        )

    def _contradictions(self) -> None:
        """Dispute the references that claims want, and other claims want to be absent or as they are stored."""
        for relation, keepers in self._kept.items():
            for target in (*self._references.get(relation, ()), *(t for r, t in self._unwanted if r == relation)):
                what = f"its references to {relation} to stay as they are, and the one to {target} to change"
                self._dispute((relation, target), [*keepers, *self._wanting(relation, target)], what)
        for (relation, target), unwilling in self._unwanted.items():
            if relation not in self._kept and target in self._references.get(relation, ()):
                what = f"a reference to {target} and none"
                self._dispute((relation, target), [*unwilling, *self._wanting(relation, target)], what)

    def _wanting(self, relation: str, target: Name) -> list[Key]:
        """The origins that claim something about one reference."""
        wanted = self._references.get(relation, {}).get(target, ())
        return [origin for origin, _ in wanted] + self._unwanted.get((relation, target), [])

    def _owner_and_parent(self) -> tuple[str | None, Parent | None]:
        if not self._existence:
            return None, None
        # A shared claim says nothing about the owner: if another origin owns the object, it is that origin's.
        owned = [entry for entry in self._existence if entry[1].owner != SHARED] or self._existence
        first = owned[0][1]
        if all(claim.owner == first.owner and claim.parent == first.parent for _, claim in owned):
            return first.owner, first.parent
        self._dispute("owner", [origin for origin, _ in self._existence], "different owners or parents")
        return None, None

    def _property(self, field: str, values: list[Any]) -> tuple[bool, Any]:
        first = values[0]
        if all(value == first for value in values[1:]):
            return True, first
        declared = self._kind.properties.get(field)
        united = unite(declared, values) if declared is not None else None
        return united is not None, united

    def _dispute(self, item: Item, contributors: list[Key], what: str) -> None:
        self._disputed.add(item)
        origins = sorted(set(contributors))
        everyone = " and ".join(f"{origin.kind} {self._title(origin)}" for origin in origins)
        want = "want" if len(origins) > 1 else "wants"
        for origin in origins:
            message = f"{everyone} {want} {what} on {self._name}; what is stored stays until they agree"
            self._problem(origin, "Conflict", message)

    def _problem(self, origin: Key, reason: str, message: str) -> None:
        self._problems[Problem(origin.kind, self._title(origin), reason, message)] = None


def default_attribute(kind: Kind, relation: str) -> Any:
    """The attribute of a reference without one; None if the relation has none."""
    attribute_type = kind.attribute_type(relation)
    return attribute_type() if attribute_type is not None else None


def elements(value: Any) -> tuple[Any, ...] | None:
    """The elements of a list, or of a struct that wraps one list; None for other values."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, msgspec.Struct) and len(value.__struct_fields__) == 1:
        inner = getattr(value, value.__struct_fields__[0])
        return inner if isinstance(inner, tuple) else None
    return None


def with_elements(value: Any, new: tuple[Any, ...]) -> Any:
    """A value like ``value`` with these elements."""
    return new if isinstance(value, tuple) else type(value)(new)


def unite(declared: Property, values: list[Any]) -> Any:
    """One collection of all elements, in an order independent of the inputs; None if the property is no collection, or
    two elements of a map have the same key and differ."""
    if declared.collection not in {"list", "map"}:
        return None
    found: dict[Any, Any] = {}
    for value in values:
        for element in elements(value) or ():
            place = getattr(element, declared.map_key) if declared.collection == "map" else element
            if found.setdefault(place, element) != element:
                return None
    return with_elements(values[0], tuple(sorted(found.values(), key=ENCODER.encode)))
