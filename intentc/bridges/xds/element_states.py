"""Tracks each element's state with Envoy (wanted, acknowledged, rejected) and searches for the rejected one.

Envoy rejects a whole route configuration for one bad route, and does not always say which. Elements that Envoy
acknowledged before are not to blame, so the cause is among those *on trial*: in force and never acknowledged. Half of
those on trial are set back to their last good version until the other half is acknowledged, and so on. The rejected
element's last good version stays in force, unless it checks clients less strictly; a route without one gets a fallback
(``encoding.fallback_routes``). All other elements take effect.

State: the states belong to ``world``; only it changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .addresses import in_use
from .elements import LISTENER, TYPE_OF, Key, Type
from .encoding import Version, fallback_routes


class ElementState:
    """The state of one element with Envoy.

    ``wanted``: the version in etcd, None if it is deleted; ``good``: the last version that Envoy acknowledged;
    ``rejection``: why ``wanted`` is not in force, or empty; ``suspended``: set back to ``good`` during a search;
    ``fallbacks``: what is offered in place of a rejected version if there is no good one, best first (Envoy may reject
    these as well).
    """

    __slots__ = ("fallbacks", "good", "rejection", "suspended", "wanted")

    def __init__(self) -> None:
        self.wanted: Version | None = None
        self.good: Version | None = None
        self.rejection = ""
        self.suspended = False
        self.fallbacks: tuple[Version, ...] = ()

    @property
    def last_good(self) -> Version | None:
        """The last version of the element itself that Envoy acknowledged."""
        return self.good if self.good is not None and not self.good.is_fallback else None

    @property
    def unguarded(self) -> tuple[str, ...]:
        """The guards that the rejected version has and the last good one lacks.

        If there are any, the last good version must not be in force.
        """
        if not self.rejection or self.wanted is None or self.last_good is None:
            return ()
        return tuple(sorted(set(self.wanted.element.guards).difference(self.last_good.element.guards)))

    @property
    def offered(self) -> Version | None:
        """The version that should be in force; None for none."""
        if self.wanted is None:
            return None
        if self.rejection and self.last_good is None and self.fallbacks and not self.suspended:
            return self.fallbacks[0]
        if self.unguarded:
            return None
        return self.good if self.rejection or self.suspended else self.wanted

    @property
    def on_trial(self) -> bool:
        """Whether the offered version has never been acknowledged."""
        offered = self.offered
        return offered is not None and offered is not self.good


class _Search:
    """The search for rejected elements of one type.

    ``set_back``: groups of elements that are set back, the latest last; ``pending``: suspects that must be answered
    before the last group is released; ``found``: whether an element was rejected since.
    """

    def __init__(self) -> None:
        self.set_back: list[list[Key]] = []
        self.pending: set[Key] = set()
        self.found = False


class ElementStates:
    """The states of all elements."""

    def __init__(self) -> None:
        self.displaced: set[Key] = set()
        """Listeners that are rejected only because their address is in use."""
        self._states: dict[Key, ElementState] = {}
        self._on_trial: dict[Type, set[Key]] = {kind: set() for kind in Type}
        self._suspended: dict[Type, set[Key]] = {kind: set() for kind in Type}
        self._searches = {kind: _Search() for kind in Type}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._states)

    def get(self, key: Key) -> ElementState | None:
        """The state of ``key``; None if the element is unknown."""
        return self._states.get(key)

    def want(self, key: Key, version: Version | None, rejection: str = "") -> None:
        """Note that etcd holds ``version`` now. ``rejection``: why it must not be offered at all."""
        if version is None:
            self._states.pop(key, None)
            self._file(key, None)
            return
        state = self._states.setdefault(key, ElementState())
        if state.wanted is not None and version.same(state.wanted):
            return
        if state.good is not None and version.same(state.good):
            version = state.good = version
        state.wanted, state.rejection, state.suspended = version, rejection, False
        state.fallbacks = fallback_routes(version) if rejection else ()
        self._file(key, state)

    def restore(self, key: Key, good: Version) -> None:
        """Note that Envoys had ``good`` in force before this process started."""
        state = self._states[key]
        if state.wanted is not None and good.same(state.wanted):
            good = state.wanted
        state.good = good
        self._file(key, state)

    def reject(self, key: Key, message: str) -> None:
        """Stop offering the wanted version of ``key``, or the fallback that is offered in its place."""
        self._searches[TYPE_OF[key[0]]].found = True
        state = self._states[key]
        if state.rejection:
            state.fallbacks = state.fallbacks[1:]
        elif state.wanted is not None:
            state.rejection, state.fallbacks = message, fallback_routes(state.wanted)
        state.suspended = False
        if state.good is state.wanted:
            state.good = None
        self._file(key, state)

    def try_again(self, key: Key) -> None:
        """Offer a rejected version again."""
        state = self._states[key]
        state.rejection, state.fallbacks = "", ()
        self._file(key, state)

    def acknowledge(self, versions: Iterable[Version]) -> list[Key]:
        """Note that Envoy has these versions in force. Returns the elements whose wanted version is good now."""
        found = []
        for version in versions:
            state = self._states.get(version.key)
            if state is None or state.good is version:
                continue
            if state.good is not None and state.good.element.revision > version.element.revision:
                continue
            if version.is_fallback and state.last_good is not None:
                continue
            state.good = version
            if state.wanted is version:
                state.rejection, state.fallbacks = "", ()
                found.append(version.key)
            self._file(version.key, state)
        return found

    def trial(self, kind: Type) -> list[Version]:
        """The versions of a type that are offered and were never acknowledged."""
        offered = (self._states[key].offered for key in sorted(self._on_trial[kind]))
        return [version for version in offered if version is not None]

    def suspects(self, trial: Iterable[Version]) -> list[Version] | None:
        """The versions of a rejected response that may have caused the rejection.

        None if one of them has changed since: then the rejection says nothing about what is offered now.
        """
        found = []
        for version in trial:
            state = self._states.get(version.key)
            if state is None or state.offered is not version:
                return None
            if state.good is not version:
                found.append(version)
        return found

    def suspend(self, kind: Type, back: Iterable[Version], suspects: Iterable[Version]) -> None:
        """Set ``back`` to their last good versions until the other ``suspects`` are acknowledged or rejected."""
        keys = [version.key for version in back]
        self._set_back(keys, True)
        search = self._searches[kind]
        search.set_back.append(keys)
        search.pending = {version.key for version in suspects}.difference(keys)
        search.found = False

    def release(self, kind: Type, carried: Callable[[Version], bool]) -> list[Key]:
        """Offer the last group that was set back again, once no suspect is pending. Returns the released elements.

        Suspects that are not ``carried`` to any Envoy don't count. If nothing was rejected meanwhile, the cause must be
        in the group, and only half of it is released.
        """
        search = self._searches[kind]
        waiting = (self._states[key].offered for key in search.pending & self._on_trial[kind])
        if any(version is not None and carried(version) for version in waiting):
            return []
        released: list[Key] = []
        while search.set_back and not released:
            released = [key for key in search.set_back.pop() if key in self._suspended[kind]]
        if not search.found and len(released) > 1:
            search.set_back.append(released[len(released) // 2 :])
            released = released[: len(released) // 2]
        search.pending = set(released)
        self._set_back(released, False)
        return released

    def _set_back(self, keys: Iterable[Key], suspended: bool) -> None:
        for key in keys:
            state = self._states[key]
            state.suspended = suspended
            self._file(key, state)

    def any_suspended(self, kind: Type) -> bool:
        """Whether elements of a type are set back now."""
        return bool(self._suspended[kind])

    def put_on_trial_again(self, versions: Iterable[Version]) -> list[Version]:
        """Put the offered versions among these that were acknowledged on trial again. Returns them."""
        found = []
        for version in versions:
            state = self._states.get(version.key)
            if state is not None and state.offered is version is state.good and state.wanted is version:
                state.good = None
                self._file(version.key, state)
                found.append(version)
        return found

    @property
    def number(self) -> int:
        """The number of elements."""
        return len(self._states)

    def rejected(self) -> list[Key]:
        """The elements that are rejected now."""
        return [key for key, state in self._states.items() if state.rejection]

    def _file(self, key: Key, state: ElementState | None) -> None:
        kind = TYPE_OF[key[0]]
        for filed, belongs in (
            (self._on_trial[kind], state is not None and state.on_trial),
            (self._suspended[kind], state is not None and state.suspended),
            (self.displaced, state is not None and key[0] == LISTENER and in_use(state.rejection)),
        ):
            (filed.add if belongs else filed.discard)(key)
