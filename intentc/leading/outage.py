"""Waits out failures of the store with back-off, and logs each outage once.

Why it exists: an election retries without end, and its attempts in an hour without etcd must not fill the log.

State: whether the outage was logged, and the back-off's count.
"""

from __future__ import annotations

import logging

import anyio

from intentc.reconcile.backoff import Retries
from intentc.watch.protocol import StoreError

_LOG = logging.getLogger(__name__)


class Outage:
    """The store's failures, as seen by one part of the process."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._logged = False

    async def wait_out(self, error: StoreError) -> None:
        """Return when it is time to retry."""
        _LOG.log(logging.DEBUG if self._logged else logging.WARNING, "leader election waits for etcd: %s", error)
        self._logged = True
        await anyio.sleep(self._retries.next_wait())

    def over(self) -> None:
        """End the outage: the store works."""
        if self._logged:
            _LOG.info("leader election goes on: etcd answers again")
        self._logged = False
        self._retries.went_well()
