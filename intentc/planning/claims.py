"""Keeps the claims of all origins, by origin and by object, and the removals that wait for an origin
(docs/engine.md §5).

The outcome of an evaluation has everything that its origin wants; the book returns the affected objects, so that only
those are planned again. ``merge.py`` combines the claims on one object. The engine decides that an origin is held, and
then calls ``retain`` in place of ``replace``; ``engine/evaluator.py`` calls it.

The contributions of an origin that is held since before the first pass are unknown: its claims are missing. While there
is such an origin (``unknown``), only what this process saw claimed and then withdrawn may be removed (``withdrawn``).

State, in memory: the claims, which nothing else holds; which origins' claims are unknown, and what was withdrawn
meanwhile; deferred removals; merged claims of busy objects, for ``desired.py``; and whether a pass was complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from intentc.model import (
    Claim,
    FinalizerClaim,
    Key,
    Name,
    PropertyClaim,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
    StatusClaim,
    claimed,
)
from intentc.model.status import status_item

Item = str | tuple[str, Name]
"""A part of an object that can be claimed: a field, a (relation, target), or ``EXISTENCE``."""

EXISTENCE = ""

LATER = ""
"""In place of an origin's uuid: a removal is deferred, but not for a single origin."""


def finalizer_item(name: str) -> Item:
    """A finalizer as a part of its holder."""
    return f"{_FINALIZER}{name}"


_FINALIZER = "metadata.finalizers "
_NOBODY: Mapping[Key, tuple[Claim, ...]] = {}


class ClaimBook:
    """All claims in force. Lives on the event loop, and changes only between awaits."""

    def __init__(self) -> None:
        self._by_object: dict[Name, dict[Key, tuple[Claim, ...]]] = {}
        self._objects_of: dict[Key, tuple[Name, ...]] = {}
        self._finalizers: dict[Key, tuple[FinalizerClaim, ...]] = {}
        self._unknown: set[Key] = set()
        self._status_known: set[Key] = set()
        """Held origins whose claims of status are those of their last evaluation."""
        self._withdrawn: dict[Name, set[Item]] = {}
        self._deferred: dict[str, set[Name]] = {}
        self.merged: dict[Name, Any] = {}
        """What the claims on an object come to, as the planner remembers it until they change."""
        self.complete = False
        """Whether everything listed has been evaluated once; before that nothing may be removed."""

    def replace(self, origin: Key, claims: Iterable[Claim]) -> frozenset[Name]:
        """Set the claims of ``origin``. Returns the objects to plan again: those whose claims changed and, if the
        origin was held until now, those with a removal deferred for it."""
        grouped, finalizers = _grouped(claims)
        changed = {name for name in self._objects_of.get(origin, ()) if name not in grouped}
        for name in changed:
            self._remove(name, origin)
        for name, own in grouped.items():
            on_object = self._by_object.setdefault(name, {})
            before = on_object.get(origin)
            if before != own:
                self._note_withdrawn(name, before or ())
                on_object[origin] = own
                self.merged.pop(name, None)
                changed.add(name)
        self._objects_of[origin] = tuple(grouped)
        if finalizers:
            self._finalizers[origin] = finalizers
        else:
            self._finalizers.pop(origin, None)
        return frozenset(changed | self._released(origin))

    def drop(self, origin: Key) -> frozenset[Name]:
        """Remove the claims of a deleted ``origin``. Returns the objects to plan again."""
        return self._forget(origin) | self._released(origin)

    def retain(self, origin: Key) -> frozenset[Name]:
        """Keep the claims of a held ``origin`` (docs/engine.md §7). Returns the objects to plan again.

        Before the first pass is complete it may have claims from a run that did not see everything yet. Nothing was
        planned from these, and the store holds what its last complete run claimed, so they are dropped."""
        self._status_known.discard(origin)
        if self.complete:
            return frozenset()
        self._unknown.add(origin)
        return self._forget(origin)

    def replace_status(self, origin: Key, claims: Iterable[Claim]) -> frozenset[Name]:
        """Set what a held ``origin`` claims of status; its other claims stay. Returns the objects to plan again."""
        grouped, _ = _grouped(claims)
        changed: set[Name] = set()
        own: dict[Name, None] = {}
        for name in dict.fromkeys((*self._objects_of.get(origin, ()), *grouped)):
            before = self._by_object.get(name, _NOBODY).get(origin, ())
            kept = tuple(claim for claim in before if not isinstance(claim, StatusClaim))
            after = (*kept, *grouped.get(name, ()))
            if after:
                own[name] = None
            if after == before:
                continue
            changed.add(name)
            if not after:
                self._remove(name, origin)
                continue
            self._note_withdrawn(name, tuple(claim for claim in before if isinstance(claim, StatusClaim)))
            self._by_object.setdefault(name, {})[origin] = after
            self.merged.pop(name, None)
        self._objects_of[origin] = tuple(own)
        if origin not in self._status_known:
            self._status_known.add(origin)
            changed |= self.resume(origin.uuid)
            if not self.unknown_status:
                changed |= self.resume(LATER)
        return frozenset(changed)

    def defer(self, name: Name, until: str) -> None:
        """Defer a removal on this object while the origin with the uuid ``until`` is held; ``LATER``: until the first
        pass is complete, or while there are unknown origins."""
        self._deferred.setdefault(until, set()).add(name)

    def resume(self, until: str) -> frozenset[Name]:
        """The objects to plan again, since their removals were deferred until now."""
        return frozenset(self._deferred.pop(until, ()))

    @property
    def unknown(self) -> bool:
        """Whether there is a held origin whose contributions are not known."""
        return bool(self._unknown)

    @property
    def unknown_status(self) -> bool:
        """Whether there is a held origin of which it is not known what it claims of status."""
        return not self._unknown <= self._status_known

    def knows_status(self, origin: Key) -> bool:
        """Whether the claims of status of a held origin are those of its last evaluation."""
        return origin in self._status_known

    def is_unknown(self, origin: Key) -> bool:
        """Whether an origin is held since before the first pass, so that its contributions are unknown."""
        return origin in self._unknown

    def withdrawn(self, name: Name) -> Set[Item]:
        """What was claimed of an object and then withdrawn while there are unknown origins."""
        return self._withdrawn.get(name, frozenset())

    def on(self, name: Name) -> Mapping[Key, tuple[Claim, ...]]:
        """The claims on one object: origin → its claims in the order in which it yielded them."""
        return self._by_object.get(name, _NOBODY)

    def of(self, origin: Key) -> tuple[Name, ...]:
        """The objects that ``origin`` has claims on."""
        return self._objects_of.get(origin, ())

    def finalizers_of(self, origin: Key) -> tuple[FinalizerClaim, ...]:
        """The finalizers that ``origin`` claims, on any resource."""
        return self._finalizers.get(origin, ())

    def names(self) -> Iterator[Name]:
        """All objects with claims."""
        return iter(self._by_object)

    def __contains__(self, name: Name) -> bool:
        """Whether an intent claims something of this object."""
        return name in self._by_object

    def is_written(self, name: Name) -> bool:
        """Whether an intent claims more of this object than its status, and that references stay as they are."""
        return any(not _keeps_only(claim) for claims in self.on(name).values() for claim in claims)

    def _forget(self, origin: Key) -> frozenset[Name]:
        """Remove all claims of ``origin``. Returns the objects that had some."""
        names = self._objects_of.pop(origin, ())
        for name in names:
            self._remove(name, origin)
        self._finalizers.pop(origin, None)
        return frozenset(names)

    def _remove(self, name: Name, origin: Key) -> None:
        on_object = self._by_object[name]
        self.merged.pop(name, None)
        self._note_withdrawn(name, on_object.pop(origin))
        if not on_object:
            del self._by_object[name]

    def _note_withdrawn(self, name: Name, claims: tuple[Claim, ...]) -> None:
        if self._unknown and self.complete:
            items = self._withdrawn.setdefault(name, set())
            for claim in claims:
                if isinstance(claim, ReferenceClaim):
                    items.add((claim.relation, claim.target))
                elif isinstance(claim, PropertyClaim):
                    items.add(claim.field)
                elif isinstance(claim, FinalizerClaim):
                    items.add(finalizer_item(claim.finalizer))
                elif isinstance(claim, StatusClaim):
                    items.add(status_item(claim.item))
                elif isinstance(claim, ResourceClaim):
                    items.update((EXISTENCE, *(field for field, _ in claim.properties)))

    def _released(self, origin: Key) -> frozenset[Name]:
        self._status_known.discard(origin)
        if origin in self._unknown:
            self._unknown.discard(origin)
            if not self._unknown:
                self._withdrawn.clear()
                return self.resume(origin.uuid) | self.resume(LATER)
        return self.resume(origin.uuid)


def _grouped(claims: Iterable[Claim]) -> tuple[dict[Name, tuple[Claim, ...]], tuple[FinalizerClaim, ...]]:
    """The claims by object, and those of finalizers."""
    grouped: dict[Name, tuple[Claim, ...]] = {}
    finalizers: tuple[FinalizerClaim, ...] = ()
    for claim in claims:
        if isinstance(claim, FinalizerClaim):
            finalizers = (*finalizers, claim)
        name = claimed(claim)
        grouped[name] = (*grouped.get(name, ()), claim)
    return grouped, finalizers


def _keeps_only(claim: Claim) -> bool:
    return isinstance(claim, StatusClaim) or (isinstance(claim, RelationClaim) and not claim.unwanted)
