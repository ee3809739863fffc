"""A watch's pieces, in portions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from intentc.bridges.kubernetes.cluster import gathered

pytestmark = pytest.mark.anyio


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr("intentc.bridges.kubernetes.cluster.anyio.sleep", sleep)
    return found


async def _portions(*portions: list[bytes]) -> AsyncIterator[bytes]:
    """Each portion is there once the loop has turned."""
    for portion in portions:
        await asyncio.sleep(0)
        for piece in portion:
            yield piece


async def test_a_pause_follows_each_small_portion_and_no_large_one(pauses: list[float]) -> None:
    large = [b"x" * 20_000, b"y" * 20_000]
    found = [
        (piece[:1], len(pauses)) async for piece in gathered(_portions([b"a"], [b"b", b"c"], large, [b"d"], [b"e"]))
    ]
    assert found == [(b"a", 0), (b"b", 1), (b"c", 2), (b"x", 2), (b"y", 3), (b"d", 3), (b"e", 3)]


async def test_an_error_of_the_stream_passes_through(pauses: list[float]) -> None:
    async def cut() -> AsyncIterator[bytes]:
        yield b"a"
        raise ConnectionError

    found = []
    with pytest.raises(ConnectionError):
        async for piece in gathered(cut()):
            found.append(piece)
    assert found == [b"a"]
