"""Reads the whole answer to a request, within limits: bytes, time, and no compression.

Why it exists: the HTTP client reads answers of any size, gives each piece of one a new time-out, and decompresses a
kilobyte to megabytes. A server that is broken, or another one than expected, must cost a failed request, and not the
process. Nothing is asked for in compressed form, so an answer that is compressed is rejected unread. The clients of the
API server, of Keystone and of clusters read with this function; what an answer means is up to them.
"""

from __future__ import annotations

from collections.abc import Awaitable

import anyio
import httpx2

from .answers import Answer


class UnusableAnswer(httpx2.TransportError):
    """An answer beyond the limits; the message says which, and has nothing of its content."""


class AnswerTooLarge(UnusableAnswer):
    """An answer with too many bytes."""


UNCOMPRESSED = {"Accept-Encoding": "identity"}
"""The header for all requests of a client."""


async def received(sent: Awaitable[httpx2.Response], *, most: int, seconds: float) -> Answer:
    """The answer to a request that is sent with ``stream=True``. ``most``: bytes of its body; ``seconds``: for the
    whole of it, beyond the client's own time-outs. Raises ``httpx2.HTTPError``, of which ``UnusableAnswer`` is one."""
    with anyio.move_on_after(seconds):
        answer = await sent
        try:
            return Answer(answer.status_code, answer.headers, await read(answer, most))
        finally:
            with anyio.CancelScope(shield=True):
                await answer.aclose()
    raise UnusableAnswer(f"the answer was not complete within {seconds:g} s")


async def read(answer: httpx2.Response, most: int) -> bytes:
    """The body of an answer of at most ``most`` bytes. Raises ``httpx2.HTTPError``."""
    check_uncompressed(answer)
    pieces: list[bytes] = []
    size = 0
    async for piece in answer.aiter_bytes():
        size += len(piece)
        if size > most:
            raise AnswerTooLarge(f"the answer has more than {most:,} bytes")
        pieces.append(piece)
    return b"".join(pieces)


def check_uncompressed(answer: httpx2.Response) -> None:
    """Raise ``UnusableAnswer`` for a compressed answer."""
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnusableAnswer(f"the answer is compressed ({encoding[:20]!r}), which was not asked for")
