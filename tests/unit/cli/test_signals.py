"""Signals end a service in good order, however many come."""

from __future__ import annotations

import os
import signal

import anyio
import anyio.lowlevel
import pytest

from intentc.cli import process_edges
from intentc.cli.server_process import ended_by_signals
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_cancels_the_block(first: signal.Signals) -> None:
    with anyio.fail_after(PATIENCE):
        async with ended_by_signals() as scope:
            os.kill(os.getpid(), first)
            await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_further_signals_leave_the_cleaning_up_alone() -> None:
    cleaned = False
    with anyio.fail_after(PATIENCE):
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
    with anyio.fail_after(PATIENCE):
        async with ended_by_signals() as scope:
            await anyio.lowlevel.checkpoint()
    assert not scope.cancel_called


async def test_a_signal_among_thousands_of_ticks_is_heard() -> None:
    """Ticks of the budget come by the thousand while an evaluation is past it."""
    ticks = 0

    def tick(*_: object) -> None:
        nonlocal ticks
        ticks += 1

    former = signal.signal(signal.SIGALRM, tick)
    try:
        with anyio.fail_after(PATIENCE):
            async with ended_by_signals() as scope:
                for _ in range(2_000):
                    signal.raise_signal(signal.SIGALRM)
                os.kill(os.getpid(), signal.SIGTERM)
                await anyio.sleep_forever()
    finally:
        signal.signal(signal.SIGALRM, former)
    assert ticks == 2_000
    assert scope.cancelled_caught


async def test_a_hang_up_asks_for_a_reload_and_ends_nothing() -> None:
    reloads = anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with ended_by_signals(reloads.set) as scope:
            os.kill(os.getpid(), signal.SIGHUP)
            await reloads.wait()
    assert not scope.cancel_called


async def test_a_hang_up_whose_terminal_has_gone_ends_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    monkeypatch.setattr("intentc.cli.server_process.current_terminal", lambda: theirs)
    reloads = anyio.Event()
    with anyio.fail_after(PATIENCE):
        async with ended_by_signals(reloads.set) as scope:
            os.close(ours)
            os.kill(os.getpid(), signal.SIGHUP)
            await anyio.sleep_forever()
    os.close(theirs)
    assert scope.cancelled_caught
    assert not reloads.is_set()


async def test_a_hang_up_that_came_before_is_answered_once() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    reloads = 0

    def reload() -> None:
        nonlocal reloads
        reloads += 1

    try:
        process_edges.heed()
        os.kill(os.getpid(), signal.SIGHUP)
        for _ in range(2):
            async with ended_by_signals(reload) as scope:
                assert not scope.cancel_called
    finally:
        signal.signal(signal.SIGHUP, former)
    assert reloads == 1


async def test_a_terminal_that_went_before_ends_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    monkeypatch.setattr("intentc.cli.process_edges.current_terminal", lambda: theirs)
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        process_edges.heed()
        os.close(ours)
        os.kill(os.getpid(), signal.SIGHUP)
        with anyio.fail_after(PATIENCE):
            async with ended_by_signals(lambda: None) as scope:
                await anyio.sleep_forever()
    finally:
        signal.signal(signal.SIGHUP, former)
        os.close(theirs)
    assert scope.cancelled_caught


def test_a_process_that_ignores_sighup_keeps_ignoring_it() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process_edges.heed()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)


async def test_where_nothing_can_be_reloaded_a_hang_up_is_as_it_was() -> None:
    before = signal.getsignal(signal.SIGHUP)
    async with ended_by_signals():
        assert signal.getsignal(signal.SIGHUP) == before
