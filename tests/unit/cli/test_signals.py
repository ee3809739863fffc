"""Signals end a service in good order, however many come."""

from __future__ import annotations

import os
import signal

import anyio
import anyio.lowlevel
import pytest

from intentc.cli.signals import ended_by_signals

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_cancels_the_block(first: signal.Signals) -> None:
    with anyio.fail_after(10):
        async with ended_by_signals() as scope:
            os.kill(os.getpid(), first)
            await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_further_signals_leave_the_cleaning_up_alone() -> None:
    cleaned = False
    with anyio.fail_after(10):
        async with ended_by_signals():
            try:
                os.kill(os.getpid(), signal.SIGINT)
                await anyio.sleep_forever()
            finally:
                for number in (signal.SIGTERM, signal.SIGINT):
                    os.kill(os.getpid(), number)
                with anyio.CancelScope(shield=True):
                    for _ in range(10):
                        await anyio.lowlevel.checkpoint()
                cleaned = True
    assert cleaned


async def test_a_block_that_ends_by_itself_needs_no_signal() -> None:
    with anyio.fail_after(10):
        async with ended_by_signals() as scope:
            await anyio.lowlevel.checkpoint()
    assert not scope.cancel_called
