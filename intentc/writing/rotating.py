"""Opens new TLS connections to a server when files for them have been replaced.

Why it exists: certificates that are valid for a day must not require a restart every day. A request that finds changed
files uses new connections; requests under way end on the old ones. ``connection`` sends to the API server, and the
Kubernetes bridge to its cluster; what they read the files for is up to them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import httpx2

from intentc.model import InvalidInput
from intentc.model.files import Stamp

_LOG = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Generation:
    """The connections opened with one state of the files; ``under_way``: requests on them."""

    transport: httpx2.AsyncBaseTransport
    under_way: int = 0


class RotatingTransport(httpx2.AsyncBaseTransport):
    """A transport to ``server``, a name for the log. ``stamps``: when the files were last written; ``open_anew`` reads
    them and makes connections, also in the constructor: it raises ``OSError`` or ``InvalidInput``."""

    def __init__(
        self,
        server: str,
        stamps: Callable[[], tuple[Stamp, ...]],
        open_anew: Callable[[], httpx2.AsyncBaseTransport],
    ) -> None:
        self._server = server
        self._stamps_now = stamps
        self._open_anew = open_anew
        self._stamps = stamps()
        self._current = _Generation(open_anew())
        self._retired: set[_Generation] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await self.refresh()
        generation = self._current
        generation.under_way += 1
        try:
            response = await generation.transport.handle_async_request(request)
        except BaseException:
            await self._ended(generation)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Answer(response.stream, lambda: self._ended(generation))
        return response

    async def aclose(self) -> None:
        for generation in (self._current, *self._retired):
            await generation.transport.aclose()
        self._retired.clear()

    async def refresh(self) -> None:
        """Use new connections from now on if files have changed."""
        stamps = self._stamps_now()
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            fresh = _Generation(self._open_anew())
        except (OSError, InvalidInput) as error:
            # Half of a pair may have been replaced: the other half will be another change.
            _LOG.warning("the TLS files for %s can't be used, the former ones stay: %s", self._server, error)
            return
        _LOG.info("the TLS files for %s have changed: new connections use them", self._server)
        former, self._current = self._current, fresh
        self._retired.add(former)
        await self._close_if_idle(former)

    async def _ended(self, generation: _Generation) -> None:
        generation.under_way -= 1
        if generation is not self._current:
            await self._close_if_idle(generation)

    async def _close_if_idle(self, generation: _Generation) -> None:
        if not generation.under_way and generation in self._retired:
            self._retired.remove(generation)
            await generation.transport.aclose()


class _Answer(httpx2.AsyncByteStream):
    """The body of an answer; calls ``ended`` once it is closed."""

    def __init__(self, stream: httpx2.AsyncByteStream, ended: Callable[[], Awaitable[None]]) -> None:
        self._stream = stream
        self._ended: Callable[[], Awaitable[None]] | None = ended

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        ended, self._ended = self._ended, None
        try:
            await self._stream.aclose()
        finally:
            if ended is not None:
                await ended()
