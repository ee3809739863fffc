"""One write per object at a time."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from intentc.model import Key
from intentc.writing.http import Turns

pytestmark = pytest.mark.anyio

ONE, OTHER = Key("group", "1"), Key("group", "2")


async def test_turns_of_one_object_follow_each_other_in_order() -> None:
    turns, order = Turns(), []

    async def take(number: int) -> None:
        await turns.begin(ONE)
        order.append(number)
        await asyncio.sleep(0)
        turns.end(ONE)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(take(number))
    assert order == [0, 1, 2, 3, 4]


async def test_other_objects_do_not_wait() -> None:
    turns = Turns()
    await turns.begin(ONE)
    await turns.begin(OTHER)
    turns.end(ONE)
    turns.end(OTHER)


async def test_a_turn_that_comes_to_somebody_who_has_gone_is_passed_on() -> None:
    turns = Turns()
    await turns.begin(ONE)
    second, third = asyncio.ensure_future(turns.begin(ONE)), asyncio.ensure_future(turns.begin(ONE))
    await anyio.wait_all_tasks_blocked()
    turns.end(ONE)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    await third
    turns.end(ONE)


async def test_somebody_who_goes_while_waiting_is_passed_over() -> None:
    turns = Turns()
    await turns.begin(ONE)
    second, third = asyncio.ensure_future(turns.begin(ONE)), asyncio.ensure_future(turns.begin(ONE))
    await anyio.wait_all_tasks_blocked()
    second.cancel()
    await anyio.wait_all_tasks_blocked()
    assert not third.done()
    turns.end(ONE)
    await third
