"""An API server that only acknowledges: what the path costs up to the answer, and who asked for what.

    python -m tests.perf.sink

It keeps nothing, and answers revision 1 to every write: the compiler has applied that already, and waits for no echo.
``requests`` gives how many of which method and path have come, ``items`` the objects in them; ``wait`` (items=N)
answers when N objects have come.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import Counter
from typing import Any

import anyio
import uvicorn

from .parts import Question, serve

_EMPTY_LEDGER = b'{"allocations":[]}'
_LIMITS = b'{"max_txn_ops":1024}'
_HEADERS = [(b"content-type", b"application/json"), (b"x-etcd-revision", b"1")]


class Sink:
    """The ASGI application."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.items = 0
        self._more = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        method, path = scope["method"], scope["path"]
        self.requests[f"{method} {path if path in {'/', '/sync', '/int-pool'} else 'one'}"] += 1
        answer, status = b"{}", 200
        if path == "/":
            answer = _LIMITS
        elif path == "/int-pool" and method == "GET":
            answer = _EMPTY_LEDGER
        elif method == "GET":
            status = 404
        else:
            self.items += body.count(b'"operation":') if path == "/sync" else 1
            self._more.set()
        await send({"type": "http.response.start", "status": status, "headers": _HEADERS})
        await send({"type": "http.response.body", "body": answer})

    async def wait(self, items: int) -> dict[str, Any]:
        while self.items < items:
            self._more.clear()
            await self._more.wait()
        return {"at": time.monotonic()}

    async def answer(self, question: Question) -> dict[str, Any]:
        if question["question"] == "wait":
            return await self.wait(question["items"])
        return {"requests": dict(self.requests), "items": self.items}


async def main() -> None:
    sink = Sink()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(sink, lifespan="off", log_config=None, access_log=False, ws="none")
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            await serve({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}, sink.answer)
            server.should_exit = True


if __name__ == "__main__":
    anyio.run(main, backend_options={"use_uvloop": True})
