"""Relaxes references at a server that needs a separate request for it, as Contrail's does.

Why it exists: there a reference and its relaxation are two requests, and the second may fail after the first was
acknowledged. The reference is as planned then, so no later plan would relax it, and a user could never delete the
target (docs/engine.md §6.6). So pending relaxations are remembered here and retried until the server accepts them or
the reference no longer exists. A crash loses them, and the targets stay blocked: only a server that does both in one
transaction has no such gap.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from intentc.model import Key
from intentc.reconcile import Loop, Pause
from intentc.reconcile.backoff import RECONNECT, Backoff
from intentc.reconcile.failures import Conflict, Failure, Fenced

from .answers import failure
from .connection import Connection, fence_header

_LOG = logging.getLogger(__name__)

_AGAIN = Backoff(0.5, 30.0)
"""Between two attempts at one reference."""

_Reference = tuple[Key, Key]


class Relaxations:
    """Pending relaxations. ``owed``: (holder, target) of references that may still block → the fence to send."""

    def __init__(self, connection: Connection) -> None:
        self.owed: dict[_Reference, str | None] = {}
        self._connection = connection
        self._loop: Loop[_Reference] = Loop(
            self._make_up, backoff=_AGAIN, pause=Pause(RECONNECT), on_failure=_note_failure
        )
        self._running: asyncio.Task[None] | None = None
        self._closed = False

    async def relax(self, holder: Key, target: Key, fence: str | None) -> None:
        """Relax a reference that was just written. A failure is not one of that write: it is retried later."""
        try:
            await self._request(holder, target, fence)
        except asyncio.CancelledError:
            self.owe(holder, target, fence)
            raise
        except Failure as error:
            if not self.owed:
                _LOG.warning(
                    "a reference still blocks the deletion of %s: %s; trying again until it doesn't",
                    target,
                    error,
                    extra={"key": str(target)},
                )
            self.owe(holder, target, fence)
        else:
            # The server accepts relaxations (again): retry pending ones now.
            for reference in self.owed:
                self._loop.end_backoff(reference)

    def owe(self, holder: Key, target: Key, fence: str | None) -> None:
        """Relax a reference later, if it exists then."""
        self.owed[holder, target] = fence
        if not self._closed:
            self._loop.add((holder, target), after=_AGAIN.first)
            self._running = self._running or asyncio.create_task(self._loop.run(), name="relax references")

    async def aclose(self) -> None:
        """Stop retrying, and log how many relaxations are pending."""
        self._closed = True
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        self._loop.queue.close()
        if self.owed:
            _LOG.warning("%d references still block the deletion of their targets", len(self.owed))

    async def _make_up(self, reference: _Reference) -> None:
        if reference in self.owed:
            await self._request(*reference, self.owed[reference])

    async def _request(self, holder: Key, target: Key, fence: str | None) -> None:
        """Try once; idempotent.

        The relaxation is no longer pending if that succeeds, if the reference does not exist, or if another compiler
        leads.
        """
        body = msgspec.json.encode({"uuid": holder.uuid, "ref-uuid": target.uuid})
        answer = await self._connection.send("POST", "/ref-relax-for-delete", body, fence_header(fence))
        error = None if answer.ok else failure(answer)
        if error is None or isinstance(error, Conflict | Fenced):
            self.owed.pop((holder, target), None)
        else:
            raise error


def _note_failure(reference: _Reference, error: Exception) -> None:
    fault, extra = not isinstance(error, Failure), {"key": str(reference[0])}
    level = logging.ERROR if fault else logging.INFO
    _LOG.log(level, "relaxing the reference of %s to %s: %s", *reference, error, extra=extra, exc_info=fault)
