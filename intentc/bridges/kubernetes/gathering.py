"""Reads the events of a watch in portions: those that follow one another closely cost one wake-up together.

Why it exists: a server sends each event as a piece of its own, and to wake up, receive and pass up a piece costs more
than to see that it changes nothing. So after a small portion the connection is left alone for a moment, in which the
kernel gathers what arrives. An event after a pause waits for nothing, and neither does a stream that is behind.

State: of one stream, how much the last portion had.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import anyio

_MOMENT = 0.02
"""Seconds: what a later event waits at most, twice that if it is split from the one before."""
_PLENTY = 32 * 1024
"""Bytes: a portion with so much shows that more is waiting already."""


async def gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces. If the event loop turned while one was awaited, it was not there yet: a portion begins."""
    loop = asyncio.get_running_loop()
    portion = 0
    while True:
        turned = asyncio.Event()
        turn = loop.call_soon(turned.set)
        try:
            piece = await anext(pieces)
        except StopAsyncIteration:
            return
        finally:
            turn.cancel()
        begins = turned.is_set()
        is_small, portion = begins and portion < _PLENTY, len(piece) + (0 if begins else portion)
        yield piece
        if is_small:
            await anyio.sleep(_MOMENT)
