"""An API server that misbehaves on demand: ASGI middleware around the real one, for compilers' requests only.

Why in the server and not on the wire: a scenario says what happens to *which* request (this object is rejected, every
twentieth write is carried out and then cut off), and a proxy sees bytes. The server behind it is the real one, so what
a fault lets through is carried out as ever. The person's requests pass untouched.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_READS = {"/fqname-to-id", "/id-to-fqname"}
_PERSON = (b"x-test", b"a person")


class Request(NamedTuple):
    """A compiler's request. ``at``: seconds on the monotonic clock at which it had arrived whole."""

    method: str
    path: str
    raw: bytes
    at: float

    @property
    def mutates(self) -> bool:
        return self.method != "GET" and self.path not in _READS

    @property
    def items(self) -> list[dict[str, Any]]:
        """The elements of a ``/sync``; for any other call one, as its body is."""
        if not self.raw:
            return [{}]
        body = msgspec.json.decode(self.raw)
        return list(body["resources"]) if self.path == "/sync" else [body]

    @property
    def deletes(self) -> bool:
        return self.method == "DELETE" or any(item.get("operation") == "DELETE" for item in self.items)

    def names(self, text: str) -> bool:
        """Whether it is about something by this name or uuid."""
        return text in self.path or text.encode() in self.raw


@dataclass(frozen=True)
class Reject:
    """Answer so, and carry nothing out. ``item``: the element of a batch that the server names as guilty."""

    status: int
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    item: int | None = None


@dataclass(frozen=True)
class Cut:
    """Cut the connection in the midst of the answer; before that, carry the request out if ``applied``."""

    applied: bool = True


@dataclass(frozen=True)
class Slow:
    """Wait, then serve as ever."""

    seconds: float


@dataclass(frozen=True)
class Late:
    """Serve as ever, but keep the answer: ``served`` is set once the request is carried out, and the answer is sent
    when ``released`` is set."""

    served: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


Fault = Reject | Cut | Slow | Late
Rule = Callable[[Request], Fault | None]


def no_fault(request: Request) -> None:
    """The rule of a server that is well."""


class ServerFaults:
    """``rule`` decides for each request of a compiler. ``seen``: all of them, in order; ``struck``: (request, fault) of
    those that a fault befell. ``most_at_once``: the most writes that were slow at the same time, those
    of a batch each."""

    def __init__(self) -> None:
        self.rule: Rule = no_fault
        self.seen: list[Request] = []
        self.struck: list[tuple[Request, Fault]] = []
        self.most_at_once = 0
        self._now = 0

    def forget(self) -> None:
        """Begin to count anew."""
        self.seen.clear()
        self.struck.clear()
        self.most_at_once = 0

    @property
    def writes(self) -> int:
        """How many single writes were asked for: each element of a batch counts."""
        return sum(len(request.items) for request in self.seen if request.mutates)

    def around(self, app: ASGIApp) -> ASGIApp:
        async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or _PERSON in scope["headers"]:
                await app(scope, receive, send)
                return
            raw = await _whole_body(receive)
            request = Request(scope["method"], scope["path"], raw, time.monotonic())
            self.seen.append(request)
            fault = self.rule(request)
            if fault is not None:
                self.struck.append((request, fault))
            match fault:
                case Reject():
                    await _answer(send, fault)
                    return
                case Cut(applied=applied):
                    if applied:
                        await app(scope, _Body(raw, receive), _swallow)
                    await _cut(send)
                    return
                case Slow(seconds=seconds):
                    self._now += len(request.items)
                    self.most_at_once = max(self.most_at_once, self._now)
                    await asyncio.sleep(seconds)
                    self._now -= len(request.items)
                case Late():
                    await app(scope, _Body(raw, receive), _Keeping(send, fault))
                    return
            await app(scope, _Body(raw, receive), send)

        return faulty


class _Body:
    """The body again, for the application; then whatever else the connection sends."""

    def __init__(self, raw: bytes, receive: Receive) -> None:
        self._raw: bytes | None = raw
        self._receive = receive

    async def __call__(self) -> Message:
        if self._raw is None:
            return await self._receive()
        raw, self._raw = self._raw, None
        return {"type": "http.request", "body": raw, "more_body": False}


class _Keeping:
    """Holds an answer back from its first message on."""

    def __init__(self, send: Send, fault: Late) -> None:
        self._send = send
        self._fault = fault

    async def __call__(self, message: Message) -> None:
        self._fault.served.set()
        await self._fault.released.wait()
        await self._send(message)


async def _whole_body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answer(send: Send, fault: Reject) -> None:
    place = {} if fault.item is None else {"item": fault.item, "detail": fault.message}
    body = msgspec.json.encode({"message": fault.message, **place})
    headers = {"content-type": "application/json", "content-length": str(len(body)), **fault.headers}
    await send({"type": "http.response.start", "status": fault.status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})


async def _cut(send: Send) -> None:
    """An answer that never comes to its end: the server closes the connection, and the client can't read the answer."""
    await send({"type": "http.response.start", "status": 200, "headers": _encoded({"content-length": "1000"})})
    await send({"type": "http.response.body", "body": b"{", "more_body": True})


async def _swallow(message: Message) -> None:
    """Where an answer goes that nobody gets."""


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
