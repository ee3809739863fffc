"""Serves the aggregated discovery service over gRPC: one stream per Envoy, in either dialect.

Only this module uses gRPC, and opens the port. Messages are bytes here; ``session`` decides what they say. Methods are
named by their paths, so that no generated stubs are needed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
import grpc.aio

from intentc.listening.connections import most_connections

from . import client_limits
from .dialects import Dialect, Incremental, StateOfTheWorld
from .elements import Type
from .metrics import Figures
from .rejections import RejectionAnalyzer
from .session import Session
from .snapshot_cache import SnapshotCache

_Result = TypeVar("_Result")
_LOG = logging.getLogger(__name__)
_SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
_GRACE = 1.0
_MOST_CONNECTIONS = 4096
_SHARE_OF_FILES = 2
HANDSHAKE_SECONDS = 10.0
"""Seconds in which a new connection must begin HTTP/2."""
_IDLE_SECONDS = 60.0
"""Seconds after which a connection without a stream is closed."""
FIRST_REQUEST_SECONDS = 10.0
"""Seconds in which a new stream must send its first request."""
_LOG_PERIOD = 60.0
"""Seconds between two log lines about aborted streams."""
_MOST_STREAMS = 16
"""Streams of one connection; an Envoy opens one."""
_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", client_limits.LARGEST_REQUEST),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_concurrent_streams", _MOST_STREAMS),
    ("grpc.max_connection_idle_ms", int(_IDLE_SECONDS * 1000)),
    # An Envoy that disappears without closing is noticed; one that pings often is not disconnected.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.so_reuseport", 0),
)


class AddressTaken(OSError):
    """The address can't be used to listen; the message says what to do."""


class Discovery:
    """The streams over one cache.

    ``changed`` is called when an answer changes what must be published; ``sleep`` returns after the given seconds;
    ``clock`` gives seconds.
    """

    def __init__(
        self,
        cache: SnapshotCache,
        rejections: RejectionAnalyzer,
        figures: Figures,
        changed: Callable[[], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cache = cache
        self._rejections = rejections
        self._figures = figures
        self._changed = changed
        self._sleep = sleep
        self._clock = clock
        self._logged: dict[str, float] = {}
        """When the last abort was logged, for silence or another reason."""
        self._streams = client_limits.Streams()
        self._unknown_names = client_limits.UnknownNames()
        self._wakes: set[asyncio.Event] = set()

    def published(self) -> None:
        """Wake every stream after a publication, to send what concerns it."""
        for wake in self._wakes:
            wake.set()

    def handlers(self) -> grpc.GenericRpcHandler:
        """The handlers of the service's methods."""
        return grpc.method_handlers_generic_handler(
            _SERVICE,
            {
                "StreamAggregatedResources": self._method(StateOfTheWorld()),
                "DeltaAggregatedResources": self._method(Incremental()),
            },
        )

    def _method(self, dialect: Dialect) -> grpc.RpcMethodHandler:
        async def serve(requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
            await self._stream(dialect, requests, context)

        return grpc.stream_stream_rpc_method_handler(serve)

    async def _stream(
        self, dialect: Dialect, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> None:
        try:
            with self._streams.admitted(context.peer()):
                await self._admitted(dialect, aiter(requests), context)
        except ValueError as error:
            await self._abort(context, grpc.StatusCode.INVALID_ARGUMENT, "malformed", str(error))
        except client_limits.TooMuch as error:
            await self._abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, error.limit, str(error))
        except grpc.aio.AbortError:
            raise
        except grpc.aio.BaseError as error:
            _LOG.debug("a stream from %s ended early: %s", context.peer(), error)

    async def _abort(self, context: grpc.aio.ServicerContext, status: grpc.StatusCode, limit: str, why: str) -> None:
        self._figures.aborted(limit)
        self._log_abort("", context.peer(), why)
        # The status waits behind responses that the client has not read; until then the stream counts as open.
        try:
            await context.abort(status, why)
        except grpc.aio.AbortError:
            raise
        except grpc.aio.BaseError as error:
            _LOG.debug("the client of an aborted stream was gone before: %s", error)

    async def _admitted(
        self, dialect: Dialect, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> None:
        message = await self._first(messages, context)
        if message is None:
            return
        # Not with the first response: a stream whose first response is never read could not be aborted.
        await context.send_initial_metadata(())
        session = Session(
            self._cache, self._rejections, whole=dialect.whole, peer=context.peer(), count=self._figures.count
        )
        wake = asyncio.Event()
        _LOG.info("an Envoy is connected: %s", context.peer())
        self._cache.streams.add(session)
        self._wakes.add(wake)
        speaking = asyncio.create_task(self._speak(session, dialect, context, wake))
        listening = asyncio.create_task(self._listen(session, dialect, message, messages, wake))
        try:
            await asyncio.wait([speaking, listening], return_when=asyncio.FIRST_COMPLETED)
            for task in (speaking, listening):
                if task.done():
                    await task
        finally:
            speaking.cancel()
            listening.cancel()
            self._wakes.discard(wake)
            self._cache.streams.discard(session)
            self._unknown_names.note(session, 0)
            self._changed()
            _LOG.info("an Envoy has disconnected: %s", context.peer())
            await asyncio.gather(speaking, listening, return_exceptions=True)

    async def _listen(
        self,
        session: Session,
        dialect: Dialect,
        message: bytes | None,
        messages: AsyncIterator[bytes],
        wake: asyncio.Event,
    ) -> None:
        """Process ``message`` and all that follow, each in parts, so that a large request delays no other stream."""
        while message is not None:
            most = client_limits.most_names(max(len(self._cache.served.resources(kind)) for kind in Type))
            request = await _in_turns(dialect.reading(message, most))
            if request is not None:
                await _in_turns(session.receiving(request))
                self._unknown_names.note(session, session.unknown_bytes)
                wake.set()
                self._changed()
            message = await anext(messages, None)

    async def _first(self, messages: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> bytes | None:
        """The first message; None if the client ends the stream without one.

        Aborts a stream that sends nothing for ``FIRST_REQUEST_SECONDS``.
        """

        async def receive() -> bytes | None:
            return await anext(messages, None)

        async def wait() -> None:
            await self._sleep(FIRST_REQUEST_SECONDS)

        first, silence = asyncio.create_task(receive()), asyncio.create_task(wait())
        try:
            await asyncio.wait([first, silence], return_when=asyncio.FIRST_COMPLETED)
            if first.done():
                return first.result()
        finally:
            first.cancel()
            silence.cancel()
        self._log_abort("silence", context.peer(), f"no request came within {FIRST_REQUEST_SECONDS:g} s")
        reason = f"no request came within {FIRST_REQUEST_SECONDS:g} s; open a stream again and send one"
        await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, reason)
        return None

    def _log_abort(self, about: str, peer: str, why: str) -> None:
        """Log an abort, one for silence and one for other reasons in ``_LOG_PERIOD``."""
        now = self._clock()
        if now - self._logged.get(about, -math.inf) >= _LOG_PERIOD:
            self._logged[about] = now
            _LOG.warning("aborted a stream from %s: %s", peer, why)

    async def _speak(
        self, session: Session, dialect: Dialect, context: grpc.aio.ServicerContext, wake: asyncio.Event
    ) -> None:
        try:
            while True:
                wake.clear()
                before = session.serial
                while (response := session.next()) is not None:
                    await _taken(context, await _in_turns(dialect.writing(response)))
                if session.serial != before:
                    self._changed()
                with anyio.move_on_after(session.patience()):
                    await wake.wait()
        except client_limits.TooMuch:
            raise
        except grpc.aio.BaseError as error:
            # The client went away in the middle of a response, as Envoys do that are stopped.
            _LOG.debug("a response was not sent to the end: %s", error)
        except Exception:
            if not context.cancelled():
                _LOG.exception("a stream to an Envoy failed; the Envoy will reconnect")


async def _in_turns(parts: Generator[None, None, _Result]) -> _Result:
    """Run ``parts`` to its end and return its result; other tasks run after each part."""
    while True:
        try:
            next(parts)
        except StopIteration as end:
            result: _Result = end.value
            return result
        await asyncio.sleep(0)


async def _taken(context: grpc.aio.ServicerContext, message: bytes) -> None:
    """Send ``message``. Raises ``TooMuch`` if the client does not read it in time."""
    try:
        async with asyncio.timeout(client_limits.UNREAD_SECONDS):
            await context.write(message)
    except TimeoutError:
        seconds = client_limits.UNREAD_SECONDS
        raise client_limits.TooMuch("unread", f"a response was not read within {seconds:g} s") from None


def _connection_limits() -> tuple[tuple[str, Any], ...]:
    return (
        ("grpc.max_allowed_incoming_connections", most_connections(_MOST_CONNECTIONS, _SHARE_OF_FILES)),
        ("grpc.server_handshake_timeout_ms", int(HANDSHAKE_SECONDS * 1000)),
    )


@asynccontextmanager
async def listening(discovery: Discovery, host: str, port: int) -> AsyncIterator[int]:
    """Serve at ``host``:``port`` (0: a free one) until the block ends; yields the port. Raises ``AddressTaken``.

    gRPC accepts connections itself, so the limits of ``listening.connections`` are gRPC options here: a connection past
    the limit is closed at once, and displaces no other. A connection has no maximum age: to cut working streams would
    make every Envoy ask for everything again.
    """
    server = grpc.aio.server(options=(*_OPTIONS, *_connection_limits()))
    server.add_generic_rpc_handlers((discovery.handlers(),))
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError:
        bound = 0
    if not bound:
        raise AddressTaken(f"can't listen on {address}; choose another --address")
    await server.start()
    try:
        yield bound
    finally:
        with anyio.CancelScope(shield=True):
            await server.stop(_GRACE)
