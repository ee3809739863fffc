"""Tracks the addresses of listeners: those in force, and those at which one Envoy listens.

One listener at a time can have an address. When a listener is deleted or moves, another may take its address
(``Addresses``). Envoy applies the listeners of a response one by one, and a changed listener keeps its old address
until the new version is warm, which is after the answer. So a listener that releases an address to another is removed
first, and added again once Envoy has answered that (``StreamAddresses``, docs/adr/0014).

State: ``world`` and ``retrying`` change ``Addresses``, ``session`` its ``StreamAddresses``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .elements import Key

_IN_USE = re.compile(r"cannot bind|duplicate address|address already in use", re.IGNORECASE)


def in_use(message: str) -> bool:
    """Whether Envoy rejects a listener only because its address is in use, which is no fault of the element."""
    return _IN_USE.search(message) is not None


def addresses_of(config: dict[str, Any]) -> tuple[str, ...]:
    """``PROTOCOL address:port`` of each socket in the v3 JSON of a listener; sockets without a port are left out."""
    additional = config.get("additional_addresses")
    holders = [config, *(additional if isinstance(additional, list) else ())]
    found = []
    for holder in holders:
        address = holder.get("address") if isinstance(holder, dict) else None
        socket = address.get("socket_address") if isinstance(address, dict) else None
        if isinstance(socket, dict) and socket.get("port_value"):
            found.append(f"{socket.get('protocol', 'TCP')} {socket.get('address', '')}:{socket['port_value']}")
    return tuple(found)


class Addresses:
    """The addresses of the listeners in force. ``left``: address → the serial that publishes its release."""

    def __init__(self) -> None:
        self.left: dict[str, int] = {}
        self._held: defaultdict[str, set[Key]] = defaultdict(set)

    def move(self, key: Key, before: Iterable[str], after: Iterable[str], serial: int) -> None:
        """Move ``key`` from ``before`` to ``after`` with the publication ``serial``; 0: it never had ``before``."""
        before, after = set(before), set(after)
        for address in before - after:
            self._held[address].discard(key)
            if not self._held[address]:
                del self._held[address]
            if serial:
                self.left[address] = serial
        for address in after - before:
            self._held[address].add(key)

    def had_by_another(self, key: Key, addresses: Iterable[str]) -> bool:
        """Whether another listener in force has one of ``addresses``."""
        return any(self._held.get(address, set()) - {key} for address in addresses)

    def last_left(self, addresses: Iterable[str]) -> int:
        """The last serial that published a release of one of ``addresses``; 0 for none."""
        return max((self.left.get(address, 0) for address in addresses), default=0)

    def forget(self, serial: int) -> None:
        """Forget releases that every Envoy has answered: those up to ``serial``."""
        self.left = {address: left for address, left in self.left.items() if left > serial}


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
