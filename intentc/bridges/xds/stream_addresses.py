"""Tracks the addresses of one Envoy's listeners, and which listener must release one before another takes it.

Why it exists: Envoy applies the listeners of a response one by one, and a changed listener keeps its old address until
the new version is warm, which is after the answer. So a listener that releases an address to another is removed first,
and added again once Envoy has answered that (docs/adr/0014). What former streams sent is unknown; ``retrying`` handles
the rejections that follow from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

ListenerAddresses = Mapping[str, Iterable[str]]
"""Name of a listener → its addresses, none for a deleted one."""


class HandOver(NamedTuple):
    """Names of listeners. ``leaving``: their removal must be answered first; ``coming``: they wait for that."""

    leaving: set[str]
    coming: set[str]


class StreamAddresses:
    """The addresses at which the Envoy of one stream listens."""

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}

    def sent(self, listeners: ListenerAddresses) -> None:
        """Note listeners that were sent: until Envoy answers, each may be at its old or its new addresses."""
        for name, addresses in listeners.items():
            self._held.setdefault(name, set()).update(addresses)

    def accepted(self, listeners: ListenerAddresses, *, whole: bool) -> None:
        """Note that Envoy listens there now; ``whole``: and nowhere else."""
        if whole:
            self._held = {}
        self._held |= {name: set(addresses) for name, addresses in listeners.items()}
        self._held = {name: addresses for name, addresses in self._held.items() if addresses}

    def hand_over(self, changed: Iterable[str], wanted: ListenerAddresses) -> HandOver:
        """Which of the ``changed`` listeners hand an address over to another one, with ``wanted`` as the goal."""
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
