"""How each element stands with Envoy: wanted, acknowledged, refused; and how the guilty one is found.

Why it exists: Envoy refuses a whole route configuration for one bad route, and does not always say which. What was
acknowledged before is known; so what is to blame is among those *on trial*: in force and never acknowledged. If the
message names it, it is found; else half of those on trial are set back to their last good version until the other half
is acknowledged, and so on. The refused one's last good version stays in force, everything else goes on.

Pure bookkeeping: who was told what is ``session``'s business, putting versions in force ``world``'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from .addresses import Key, in_use
from .encoding import Version
from .fallback_routes import stand_ins
from .kinds import LISTENER, TYPE_OF, VIRTUAL_HOST, Type

_LISTED = re.compile(r"Error adding/updating \w+\(s\) (.*)", re.DOTALL)

__all__ = ["Key", "Standing", "Standings", "half", "lists_names", "named"]


class Standing:
    """One element.

    ``wanted``: as it stands in etcd, None if it is gone; ``good``: the last version that Envoy acknowledged;
    ``refused``: why ``wanted`` is not in force, empty while it is; ``suspended``: set back for a while; ``stand_ins``:
    what is offered in place of what is refused if nothing is good, best first (Envoy may refuse these, too).
    """

    __slots__ = ("good", "refused", "stand_ins", "suspended", "wanted")

    def __init__(self) -> None:
        self.wanted: Version | None = None
        self.good: Version | None = None
        self.refused = ""
        self.suspended = False
        self.stand_ins: tuple[Version, ...] = ()

    @property
    def last_good(self) -> Version | None:
        """The last version of the element itself that Envoy acknowledged."""
        return self.good if self.good is not None and not self.good.stands_in else None

    @property
    def unguarded(self) -> tuple[str, ...]:
        """What the refused version asks of who comes, and the last good one does not: it must not be in force, then."""
        if not self.refused or self.wanted is None or self.last_good is None:
            return ()
        return tuple(sorted(set(self.wanted.element.guards).difference(self.last_good.element.guards)))

    @property
    def offered(self) -> Version | None:
        """What should be in force."""
        if self.wanted is None:
            return None
        if self.refused and self.last_good is None and self.stand_ins and not self.suspended:
            return self.stand_ins[0]
        if self.unguarded:
            return None
        return self.good if self.refused or self.suspended else self.wanted

    @property
    def on_trial(self) -> bool:
        """Whether what is offered has never been acknowledged."""
        offered = self.offered
        return offered is not None and offered is not self.good


class _Search:
    """For the guilty of one type. ``aside``: who is set back, the latest group last; ``jury``: for whose sake;
    ``found``: whether somebody was refused since."""

    def __init__(self) -> None:
        self.aside: list[list[Key]] = []
        self.jury: set[Key] = set()
        self.found = False


class Standings:
    """All elements."""

    def __init__(self) -> None:
        self.displaced: set[Key] = set()
        """Listeners that are refused only because their address is in use."""
        self._standings: dict[Key, Standing] = {}
        self._on_trial: dict[Type, set[Key]] = {kind: set() for kind in Type}
        self._suspended: dict[Type, set[Key]] = {kind: set() for kind in Type}
        self._searches = {kind: _Search() for kind in Type}

    def __iter__(self) -> Iterator[Key]:
        return iter(self._standings)

    def get(self, key: Key) -> Standing | None:
        """How ``key`` stands; None if nothing is known of it."""
        return self._standings.get(key)

    def want(self, key: Key, version: Version | None, refused: str = "") -> None:
        """``version`` stands in etcd now; ``refused``: why it is not even to be offered."""
        if version is None:
            self._standings.pop(key, None)
            self._file(key, None)
            return
        standing = self._standings.setdefault(key, Standing())
        if standing.wanted is not None and version.same(standing.wanted):
            return
        if standing.good is not None and version.same(standing.good):
            version = standing.good = version
        standing.wanted, standing.refused, standing.suspended = version, refused, False
        standing.stand_ins = stand_ins(version) if refused else ()
        self._file(key, standing)

    def restore(self, key: Key, good: Version) -> None:
        """``good`` was in force before we began."""
        standing = self._standings[key]
        if standing.wanted is not None and good.same(standing.wanted):
            good = standing.wanted
        standing.good = good
        self._file(key, standing)

    def refuse(self, key: Key, message: str) -> None:
        """What is wanted of ``key``, or what stands in for it, is not to be offered any more."""
        self._searches[TYPE_OF[key[0]]].found = True
        standing = self._standings[key]
        if standing.refused:
            standing.stand_ins = standing.stand_ins[1:]
        elif standing.wanted is not None:
            standing.refused, standing.stand_ins = message, stand_ins(standing.wanted)
        standing.suspended = False
        if standing.good is standing.wanted:
            standing.good = None
        self._file(key, standing)

    def try_again(self, key: Key) -> None:
        """Offer again what was refused."""
        standing = self._standings[key]
        standing.refused, standing.stand_ins = "", ()
        self._file(key, standing)

    def acknowledge(self, versions: Iterable[Version]) -> list[Key]:
        """Envoy has these versions in force. Returns those of them that were on trial."""
        found = []
        for version in versions:
            standing = self._standings.get(version.key)
            if standing is None or standing.good is version:
                continue
            if standing.good is not None and standing.good.element.revision > version.element.revision:
                continue
            if version.stands_in and standing.last_good is not None:
                continue
            standing.good = version
            if standing.wanted is version:
                standing.refused, standing.stand_ins = "", ()
                found.append(version.key)
            self._file(version.key, standing)
        return found

    def trial(self, kind: Type) -> list[Version]:
        """What of a type is offered and was never acknowledged."""
        offered = (self._standings[key].offered for key in sorted(self._on_trial[kind]))
        return [version for version in offered if version is not None]

    def suspects(self, trial: Iterable[Version]) -> list[Version] | None:
        """Who of those that were on trial in a refused response may be to blame; None if it has been changed since, so
        that the refusal tells nothing about what is offered now."""
        found = []
        for version in trial:
            standing = self._standings.get(version.key)
            if standing is None or standing.offered is not version:
                return None
            if standing.good is not version:
                found.append(version)
        return found

    def suspend(self, kind: Type, back: Iterable[Version], suspects: Iterable[Version]) -> None:
        """Set ``back`` to what was good before, until the others among ``suspects`` are acknowledged or refused."""
        keys = [version.key for version in back]
        self._set_back(keys, True)
        search = self._searches[kind]
        search.aside.append(keys)
        search.jury = {version.key for version in suspects}.difference(keys)
        search.found = False

    def release(self, kind: Type, carried: Callable[[Version], bool]) -> list[Key]:
        """Offer again some of what was set back, once nobody for whose sake that was is on trial any more, of those who
        are ``carried`` to an Envoy at all; who that is. Half of it, if the guilty must be there."""
        search = self._searches[kind]
        waiting = (self._standings[key].offered for key in search.jury & self._on_trial[kind])
        if any(version is not None and carried(version) for version in waiting):
            return []
        released: list[Key] = []
        while search.aside and not released:
            released = [key for key in search.aside.pop() if key in self._suspended[kind]]
        if not search.found and len(released) > 1:
            search.aside.append(released[len(released) // 2 :])
            released = released[: len(released) // 2]
        search.jury = set(released)
        self._set_back(released, False)
        return released

    def _set_back(self, keys: Iterable[Key], suspended: bool) -> None:
        for key in keys:
            standing = self._standings[key]
            standing.suspended = suspended
            self._file(key, standing)

    def any_suspended(self, kind: Type) -> bool:
        """Whether some of a type are set back now."""
        return bool(self._suspended[kind])

    def doubt(self, versions: Iterable[Version]) -> list[Version]:
        """Put those of these on trial again that are offered and were acknowledged once; who that is."""
        found = []
        for version in versions:
            standing = self._standings.get(version.key)
            if standing is not None and standing.offered is version is standing.good and standing.wanted is version:
                standing.good = None
                self._file(version.key, standing)
                found.append(version)
        return found

    @property
    def number(self) -> int:
        """How many elements there are."""
        return len(self._standings)

    def refused(self) -> list[Key]:
        """Who is refused now."""
        return [key for key, standing in self._standings.items() if standing.refused]

    def _file(self, key: Key, standing: Standing | None) -> None:
        kind = TYPE_OF[key[0]]
        for filed, belongs in (
            (self._on_trial[kind], standing is not None and standing.on_trial),
            (self._suspended[kind], standing is not None and standing.suspended),
            (self.displaced, standing is not None and key[0] == LISTENER and in_use(standing.refused)),
        ):
            (filed.add if belongs else filed.discard)(key)


def lists_names(message: str) -> bool:
    """Whether Envoy says by name whom it refuses, and has taken all others of the same response."""
    return _LISTED.match(message) is not None


def named(message: str, suspects: Iterable[Version], others: Iterable[Version] = ()) -> list[tuple[Version, str]]:
    """Whom of ``suspects`` Envoy names, with what it says of each: it applies clusters and listeners one by one, and
    lists those that it refuses, ``Error adding/updating cluster(s) NAME: why, NAME: why``, listeners with an end of
    line between them. ``others``: who may be named there, too, so that their part is not taken for another's."""
    found = _LISTED.match(message)
    if found is None:
        return []
    listed, suspects = found[1], list(suspects)
    starts: dict[int, str] = {}
    for name in {one.resource for one in (*suspects, *others)} - {""}:
        places = (0 if listed.startswith(f"{name}: ") else -1, *(listed.find(f"{by}{name}: ") for by in (", ", "\n")))
        at = min((place for place in places if place >= 0), default=-1)
        if at >= 0:
            starts[at] = name
    ends = [*sorted(starts)[1:], len(listed)]
    said = {
        starts[at]: listed[at:end].removeprefix(", ").strip().removeprefix(f"{starts[at]}: ").strip()
        for at, end in zip(sorted(starts), ends, strict=False)
    }
    return [(one, said[one.resource]) for one in suspects if one.resource in said]


def half(message: str, suspects: list[Version]) -> list[Version]:
    """Whom to set back first: those whose names occur in the message, if that are some and not all, else the second
    half. Virtual hosts are the last to go: without them nothing would be learned of their routes."""
    mentioned = [one for one in suspects if one.element.kind != VIRTUAL_HOST and one.resource in message]
    if mentioned and len(mentioned) < len(suspects):
        return mentioned
    ordered = sorted(suspects, key=lambda one: (one.element.kind != VIRTUAL_HOST, one.key))
    return ordered[len(ordered) // 2 :]
