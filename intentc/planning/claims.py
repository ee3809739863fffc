"""Who wants what of which object: the claims of all origins, by origin and by object (docs/engine.md §5).

An evaluation hands in everything that its origin wants; the book answers which objects that concerns, so that only
those are planned again. What the claims on one object amount to is ``merge.py``; that an origin is held is decided by
the engine, which then calls ``retain`` in place of ``replace``.

Nobody knows what an origin contributed that is held since before the first pass: its claims are not there. While there
is such an origin (``unknown``) only that may go which was claimed and withdrawn under our eyes (``withdrawn``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from intentc.model import Claim, Key, Name, ReferenceClaim, claimed

Item = str | tuple[str, Name]
"""A part of an object that can be claimed: a field, a (relation, target), or ``EXISTENCE``."""

EXISTENCE = ""

LATER = ""
"""In place of an origin's uuid: a removal waits, but for no single origin."""

_NOBODY: Mapping[Key, tuple[Claim, ...]] = {}


class ClaimBook:
    """All claims in force. Kept on the event loop, changed only between awaits."""

    def __init__(self) -> None:
        self._by_object: dict[Name, dict[Key, tuple[Claim, ...]]] = {}
        self._objects_of: dict[Key, tuple[Name, ...]] = {}
        self._unknown: set[Key] = set()
        self._withdrawn: dict[Name, set[Item]] = {}
        self._put_off: dict[str, set[Name]] = {}
        self.complete = False
        """Whether everything that was listed has been evaluated once; before that nothing may be removed."""

    def replace(self, origin: Key, claims: Iterable[Claim]) -> frozenset[Name]:
        """From now on ``origin`` wants exactly ``claims``. Returns the objects to plan again: those on which its claims
        really changed and, if it was held until now, those on which a removal was put off."""
        grouped: dict[Name, tuple[Claim, ...]] = {}
        for claim in claims:
            name = claimed(claim)
            grouped[name] = (*grouped.get(name, ()), claim)
        changed = {name for name in self._objects_of.get(origin, ()) if name not in grouped}
        for name in changed:
            self._remove(name, origin)
        for name, own in grouped.items():
            on_object = self._by_object.setdefault(name, {})
            before = on_object.get(origin)
            if before != own:
                self._note_withdrawn(name, before or ())
                on_object[origin] = own
                changed.add(name)
        self._objects_of[origin] = tuple(grouped)
        return frozenset(changed | self._released(origin))

    def drop(self, origin: Key) -> frozenset[Name]:
        """``origin`` exists no more: its claims go. Returns the objects to plan again."""
        names = self._objects_of.pop(origin, ())
        for name in names:
            self._remove(name, origin)
        return frozenset(names) | self._released(origin)

    def retain(self, origin: Key) -> frozenset[Name]:
        """``origin`` is held: its claims stay as they are (docs/engine.md §7). Returns the objects to plan again.

        Before the first pass is complete it may have claims from a run that did not see everything yet. Nothing was
        planned from these, and the store holds what its last complete run claimed, so they do not count."""
        if self.complete:
            return frozenset()
        names = self._objects_of.pop(origin, ())
        for name in names:
            self._remove(name, origin)
        self._unknown.add(origin)
        return frozenset(names)

    def put_off(self, name: Name, until: str) -> None:
        """A removal on this object waits for the held origin with the uuid ``until``; ``LATER``: for the first pass to
        be complete, or for unknown origins."""
        self._put_off.setdefault(until, set()).add(name)

    def resume(self, until: str) -> frozenset[Name]:
        """What was put off until then: the objects to plan again."""
        return frozenset(self._put_off.pop(until, ()))

    @property
    def unknown(self) -> bool:
        """Whether there is a held origin whose contributions are not known."""
        return bool(self._unknown)

    def is_unknown(self, origin: Key) -> bool:
        """Whether an origin is held since before the first pass, so that nobody knows what it contributed."""
        return origin in self._unknown

    def withdrawn(self, name: Name) -> Set[Item]:
        """What was claimed of an object and then withdrawn since there are unknown origins."""
        return self._withdrawn.get(name, frozenset())

    def on(self, name: Name) -> Mapping[Key, tuple[Claim, ...]]:
        """The claims on one object: origin → its claims in the order in which it yielded them."""
        return self._by_object.get(name, _NOBODY)

    def of(self, origin: Key) -> tuple[Name, ...]:
        """The objects of which ``origin`` wants something."""
        return self._objects_of.get(origin, ())

    def names(self) -> Iterator[Name]:
        """All objects with claims."""
        return iter(self._by_object)

    def __contains__(self, name: Name) -> bool:
        return name in self._by_object

    def _remove(self, name: Name, origin: Key) -> None:
        on_object = self._by_object[name]
        self._note_withdrawn(name, on_object.pop(origin))
        if not on_object:
            del self._by_object[name]

    def _note_withdrawn(self, name: Name, claims: tuple[Claim, ...]) -> None:
        if self._unknown and self.complete:
            items = self._withdrawn.setdefault(name, set())
            for claim in claims:
                if isinstance(claim, ReferenceClaim):
                    items.add((claim.relation, claim.target))
                else:
                    items.update((EXISTENCE, *(field for field, _ in claim.properties)))

    def _released(self, origin: Key) -> frozenset[Name]:
        if origin in self._unknown:
            self._unknown.discard(origin)
            if not self._unknown:
                self._withdrawn.clear()
                return self.resume(origin.uuid) | self.resume(LATER)
        return self.resume(origin.uuid)
