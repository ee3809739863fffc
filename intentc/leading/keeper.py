"""Keeps a leader's lease alive, and knows until when it is certainly held.

Why a protocol: over etcd a thread with its own connection renews the lease (``watch/lease_keeper.py``), so that a busy
event loop does not cost the leadership; a store in this process needs neither.

State: until when the lease is held. It renews one lease, through the store that it gets; it neither grants nor revokes
it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import anyio

from intentc.watch.protocol import Store, StoreError

RENEWALS_IN_A_TTL = 3
RETRIES_IN_A_TTL = 20


class LeaseKeeper(Protocol):
    """Keeps one lease."""

    def held_until(self) -> float:
        """Until when the lease is certainly held, in seconds of the monotonic clock: its time to live from when the
        last *answered* request was sent. ``-inf``: it is gone. Safe from any thread."""
        ...

    async def run(self) -> None:
        """Renew until cancelled; returns once the store reports that the lease is lost. Raises nothing: failures are
        retried, and delays show in ``held_until``."""
        ...


KeeperFactory = Callable[[int, int, float], LeaseKeeper]
"""Lease, its time to live in seconds, until when it is already held → its keeper, not yet running."""


class StoreKeeper:
    """A keeper in the event loop, through the store itself."""

    def __init__(self, store: Store, clock: Callable[[], float], lease: int, ttl: int, held_until: float) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._ttl = ttl
        self._held_until = held_until

    def held_until(self) -> float:
        """See ``LeaseKeeper.held_until``."""
        return self._held_until

    async def run(self) -> None:
        """See ``LeaseKeeper.run``."""
        while True:
            sent = self._clock()
            pause = self._ttl / RENEWALS_IN_A_TTL
            try:
                left = await self._store.keep_lease_alive(self._lease)
            except StoreError:
                pause = self._ttl / RETRIES_IN_A_TTL
            else:
                if left == 0:
                    self._held_until = -math.inf
                    return
                self._held_until = max(self._held_until, sent + left)
            await anyio.sleep(pause)
