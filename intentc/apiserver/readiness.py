"""Checks whether the API server can serve requests: whether etcd answers a read that needs a quorum.

Why it exists: ``/readyz`` needs no token, so an answer is reused for 1 s, and one read serves all requests meanwhile.

State: the last answer and its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

from intentc.watch.protocol import Store, StoreError

_HOLDS_SECONDS = 1.0
_PATIENCE_SECONDS = 5.0


class Readiness:
    """The readiness of a server whose resources are at ``/<path>/`` in ``store``. ``clock``: seconds."""

    def __init__(self, store: Store, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._path = path
        self._clock = clock
        self._asking = anyio.Lock()
        self._lack = ""
        self._since = float("-inf")

    async def lack(self) -> str:
        """Why requests can't be served; empty if they can."""
        async with self._asking:
            if self._clock() - self._since >= _HOLDS_SECONDS:
                self._lack = await self._ask()
                self._since = self._clock()
            return self._lack

    async def _ask(self) -> str:
        try:
            with anyio.fail_after(_PATIENCE_SECONDS):
                await self._store.range(f"/{self._path}/", keys_only=True)
        except StoreError as error:
            return f"etcd: {error}"
        except TimeoutError:
            return f"etcd: no answer in {_PATIENCE_SECONDS:g} s"
        return ""
