"""Opens new TLS connections to the API server when certificate files have been replaced.

Why it exists: certificates that are valid for a day must not require a restart every day. A request that finds changed
files uses new connections; requests under way end on the old ones. ``connection`` sends; ``Endpoint`` reads the files.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import httpx2

from .endpoint import Endpoint

_LOG = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Generation:
    """The connections opened with one state of the files; ``under_way``: requests on them."""

    transport: httpx2.AsyncBaseTransport
    under_way: int = 0


class RotatingTransport(httpx2.AsyncBaseTransport):
    """A transport to ``endpoint``. The constructor raises ``OSError`` if the TLS files can't be used."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._stamps = endpoint.stamps()
        self._current = _Generation(_transport(endpoint))
        self._retired: set[_Generation] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        generation = await self._latest()
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

    async def _latest(self) -> _Generation:
        stamps = self._endpoint.stamps()
        if stamps == self._stamps:
            return self._current
        self._stamps = stamps
        try:
            fresh = _Generation(_transport(self._endpoint))
        except OSError as error:
            # Half of a pair may have been replaced: the other half will be another change.
            _LOG.warning("the TLS files for %s can't be used, the former ones stay: %s", self._endpoint.url, error)
            return self._current
        _LOG.info("the TLS files for %s have changed: new connections use them", self._endpoint.url)
        former, self._current = self._current, fresh
        self._retired.add(former)
        await self._close_if_idle(former)
        return self._current

    async def _ended(self, generation: _Generation) -> None:
        generation.under_way -= 1
        if generation is not self._current:
            await self._close_if_idle(generation)

    async def _close_if_idle(self, generation: _Generation) -> None:
        if not generation.under_way and generation in self._retired:
            self._retired.remove(generation)
            await generation.transport.aclose()


def _transport(endpoint: Endpoint) -> httpx2.AsyncHTTPTransport:
    connections = endpoint.batches + endpoint.singles
    return httpx2.AsyncHTTPTransport(
        verify=endpoint.tls(),
        trust_env=False,
        retries=1,  # of making a connection; httpx never repeats what it has begun to send
        limits=httpx2.Limits(
            max_connections=connections,
            max_keepalive_connections=connections,
            # Below the 5 s after which uvicorn closes an idle connection: a request that meets the closing is lost.
            keepalive_expiry=4.0,
        ),
    )


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
