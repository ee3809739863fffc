"""Tracks the addresses of listeners in force, and which of them became free.

Why it exists: one listener at a time can have an address. When a listener is deleted or moves, another may take its
address. ``stream_addresses`` decides in which order an Envoy is sent such changes; ``retrying`` tries rejected
listeners again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

_IN_USE = re.compile(r"cannot bind|duplicate address|address already in use", re.IGNORECASE)

Key = tuple[str, str]
"""Kind and name of an element."""


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
