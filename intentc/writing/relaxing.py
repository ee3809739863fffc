"""Relaxes references at a server that needs a separate request for it, as Contrail's does.

Why it exists: there a reference and its relaxation are two requests, and the second may fail after the first was
acknowledged. The reference is as planned then, so no later plan would relax it, and a user could never delete the
target (docs/engine.md §6.6). So pending relaxations are remembered here and retried until the server accepts them or
the reference no longer exists. A crash loses them, and the targets stay blocked: only a server that does both in one
transaction has no such gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

import msgspec

from intentc.model import Key
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Failure, Fenced

from .answers import failure
from .connection import Connection, fence_header

_LOG = logging.getLogger(__name__)

_ROUNDS = Backoff(0.5, 30.0)
"""The pauses between two rounds while nothing succeeds."""


class Relaxations:
    """Pending relaxations. ``owed``: (holder, target) of references that may still block → the fence to send."""

    def __init__(self, connection: Connection) -> None:
        self.owed: dict[tuple[Key, Key], str | None] = {}
        self._connection = connection
        self._making_up: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
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
            self._wake.set()

    def owe(self, holder: Key, target: Key, fence: str | None) -> None:
        """Relax a reference later, if it exists then."""
        self.owed[holder, target] = fence
        if self._making_up is None and not self._closed:
            self._wake.clear()
            self._making_up = asyncio.create_task(self._make_up(), name="relax references")

    async def settled(self) -> None:
        """Wait until no relaxation is pending."""
        if self._making_up is not None:
            await asyncio.wait([self._making_up])

    async def aclose(self) -> None:
        """Stop retrying, and log how many relaxations are pending."""
        self._closed = True
        if self._making_up is not None:
            self._making_up.cancel()
            await asyncio.wait([self._making_up])
        if self.owed:
            _LOG.warning("%d references still block the deletion of their targets", len(self.owed))

    async def _make_up(self) -> None:
        fruitless = 0
        try:
            while self.owed:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), _ROUNDS.seconds(fruitless + 1))
                self._wake.clear()
                before = len(self.owed)
                await self._round()
                fruitless = 0 if len(self.owed) < before else fruitless + 1
        finally:
            self._making_up = None

    async def _round(self) -> None:
        for (holder, target), fence in list(self.owed.items()):
            try:
                await self._request(holder, target, fence)
            except Failure as error:
                extra = {"key": str(holder)}
                _LOG.info("relaxing the reference of %s to %s: %s", holder, target, error, extra=extra)

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
