"""Where one Envoy listens by what it was told, and who must leave an address before another comes to it.

Why it exists: Envoy takes the listeners of one response one by one, and one that changes keeps its old address until
the new version is warm, which is after the answer. So who leaves an address that another comes to is removed, and comes
back once that is answered (docs/adr/0014). Of what former streams told nothing is known; ``retrying`` mends that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

Told = Mapping[str, Iterable[str]]
"""Name of a listener → its addresses, none for one that is gone."""


class HandOver(NamedTuple):
    """Names of listeners. ``leaving``: whose removal must be answered first; ``coming``: who waits for it."""

    leaving: set[str]
    coming: set[str]


class Places:
    """Of one stream."""

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}

    def told(self, listeners: Told) -> None:
        """Until it answers, it may have them where they were or where they are to be."""
        for name, addresses in listeners.items():
            self._held.setdefault(name, set()).update(addresses)

    def accepted(self, listeners: Told, *, whole: bool) -> None:
        """It listens there now; ``whole``: and nowhere else."""
        if whole:
            self._held = {}
        self._held |= {name: set(addresses) for name, addresses in listeners.items()}
        self._held = {name: addresses for name, addresses in self._held.items() if addresses}

    def hand_over(self, changed: Iterable[str], wanted: Told) -> HandOver:
        """Who of those ``changed`` hands an address over to whom, if ``wanted`` shall be so."""
        names = set(changed)
        comers = {name: set(wanted.get(name, ())) - self._held.get(name, set()) for name in names}
        leaving: set[str] = set()
        coming: set[str] = set()
        for name in names:
            left = self._held.get(name, set()).difference(wanted.get(name, ()))
            followers = {other for other, addresses in comers.items() if other != name and addresses & left}
            if followers:
                leaving.add(name)
                coming |= followers
        return HandOver(leaving, coming)
