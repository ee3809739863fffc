"""A store that fails for a while: waited out with back-off, and told of once.

Why it exists: an election tries for ever, and its every attempt in an hour without etcd must not be a line in the log.
"""

from __future__ import annotations

import logging

import anyio

from intentc.watch.backoff import Backoff
from intentc.watch.protocol import StoreError

_LOG = logging.getLogger(__name__)


class Outage:
    """The store's failures, as one part of the process meets them."""

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._told = False

    async def wait_out(self, error: StoreError) -> None:
        """Return when it is time to try again."""
        _LOG.log(logging.DEBUG if self._told else logging.WARNING, "leader election waits for etcd: %s", error)
        self._told = True
        await anyio.sleep(self._backoff.next_wait())

    def over(self) -> None:
        """The store works."""
        if self._told:
            _LOG.info("leader election goes on: etcd answers again")
        self._told = False
        self._backoff.went_well()
