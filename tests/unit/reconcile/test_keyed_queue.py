"""The guarantees of the keyed queue: one job per key, no starvation, failures return later, no polling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import anyio
import pytest

from intentc.reconcile import KeyedQueue
from intentc.reconcile.backoff import Backoff
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


class ManualTimer:
    def __init__(self, due: float, callback: Callable[[], None]) -> None:
        self.due = due
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """Stands still until a test moves it: ``advance`` makes the calls that are due, in their order."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[ManualTimer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> ManualTimer:
        timer = ManualTimer(self.now + delay, callback)
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = sorted((timer for timer in self.timers if timer.due <= self.now), key=lambda timer: timer.due)
        self.timers = [timer for timer in self.timers if timer.due > self.now]
        for timer in due:
            if not timer.cancelled:
                timer.callback()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(clock: ManualClock) -> KeyedQueue[str]:
    return KeyedQueue(clock=clock, backoff=Backoff(0.005, 60.0, jitter=0))


async def drain(queue: KeyedQueue[str]) -> list[str]:
    order = []
    while not queue.idle:
        key = await queue.get()
        order.append(key)
        queue.done(key)
    return order


async def fail_once(queue: KeyedQueue[str], key: str) -> None:
    queue.add(key)
    assert await queue.get() == key
    queue.retry(key)
    queue.done(key)


async def test_keys_come_in_the_order_in_which_they_were_first_added(queue: KeyedQueue[str]) -> None:
    for key in ("a", "b", "c", "a"):
        queue.add(key)
    assert await drain(queue) == ["a", "b", "c"]


async def test_a_key_that_runs_again_goes_behind_those_that_wait(queue: KeyedQueue[str]) -> None:
    queue.add("hub")
    queue.add("other")
    first = await queue.get()
    queue.add("hub")
    queue.done(first)
    assert await drain(queue) == ["other", "hub"]


async def test_a_key_is_never_worked_on_twice_at_once(queue: KeyedQueue[str]) -> None:
    working: set[str] = set()
    runs = 0

    async def worker() -> None:
        nonlocal runs
        while True:
            key = await queue.get()
            assert key not in working
            working.add(key)
            runs += 1
            await anyio.lowlevel.checkpoint()
            queue.add(f"k{runs % 5}") if runs < 300 else None
            await anyio.lowlevel.checkpoint()
            working.remove(key)
            queue.done(key)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(worker)
        for number in range(5):
            queue.add(f"k{number}")
        await queue.wait_settled()
        group.cancel_scope.cancel()
    assert runs >= 50


async def test_added_while_worked_on_it_runs_once_more(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert queue.pending() == 1, "the second run must not start before the first has ended"
    queue.done(key)
    assert await drain(queue) == ["a"]


async def test_live_changes_go_before_resync_and_every_eighth_job_is_a_resync_one(queue: KeyedQueue[str]) -> None:
    for number in range(3):
        queue.add(f"r{number}", resync=True)
    for number in range(16):
        queue.add(f"l{number}")
    order = await drain(queue)
    assert [place for place, key in enumerate(order) if key.startswith("r")] == [7, 15, 18]


async def test_a_resync_key_that_changes_becomes_live(queue: KeyedQueue[str]) -> None:
    queue.add("a", resync=True)
    queue.add("b")
    queue.add("a")
    assert await drain(queue) == ["b", "a"]


async def test_a_live_key_is_not_put_back_by_resync(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    queue.add("a", resync=True)
    assert await drain(queue) == ["a", "b"]


async def test_a_live_change_during_a_resync_run_runs_live_afterwards(queue: KeyedQueue[str]) -> None:
    queue.add("a", resync=True)
    key = await queue.get()
    queue.add("a", resync=True)
    queue.add("a")
    queue.add("z", resync=True)
    queue.done(key)
    assert await drain(queue) == ["a", "z"]


async def test_ten_thousand_adds_of_five_hundred_keys_are_five_hundred_jobs(queue: KeyedQueue[str]) -> None:
    for number in range(10_000):
        queue.add(f"k{number % 500}")
    assert queue.pending() == 500
    assert len(await drain(queue)) == 500


async def test_a_failed_key_comes_back_after_its_back_off(queue: KeyedQueue[str], clock: ManualClock) -> None:
    await fail_once(queue, "a")
    clock.advance(0.004)
    assert queue.idle
    clock.advance(0.001)
    assert await drain(queue) == ["a"]


async def test_failures_in_a_row_double_the_back_off_until_forgotten(queue: KeyedQueue[str]) -> None:
    delays = [queue.retry("a") for _ in range(3)]
    queue.forget("a")
    assert delays == pytest.approx([0.005, 0.010, 0.020])
    assert queue.retry("a") == pytest.approx(0.005)
    assert queue.failures("a") == 1


async def test_a_live_change_does_not_wait_for_the_back_off(queue: KeyedQueue[str], clock: ManualClock) -> None:
    await fail_once(queue, "a")
    queue.add("a")
    assert await drain(queue) == ["a"]
    clock.advance(60)
    assert queue.settled, "the back-off must have been called off"


async def test_a_change_during_a_failing_run_takes_the_place_of_the_back_off(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    assert queue.retry(key) == 0.0
    queue.done(key)
    assert await drain(queue) == ["a"]
    assert queue.failures("a") == 1


async def test_resync_does_not_overtake_a_back_off(queue: KeyedQueue[str]) -> None:
    await fail_once(queue, "a")
    queue.add("a", resync=True)
    assert queue.idle
    assert queue.delayed() == {"a": pytest.approx(0.005)}


async def test_waiting_workers_are_woken_without_polling(queue: KeyedQueue[str], clock: ManualClock) -> None:
    async with asyncio.TaskGroup() as group:
        getters = [group.create_task(queue.get()) for _ in range(3)]
        await anyio.wait_all_tasks_blocked()
        for key in ("a", "b", "c"):
            queue.add(key)
    assert [getter.result() for getter in getters] == ["a", "b", "c"]
    assert clock.timers == []


async def test_a_key_handed_to_a_cancelled_worker_goes_to_another(queue: KeyedQueue[str]) -> None:
    getter = asyncio.ensure_future(queue.get())
    await anyio.wait_all_tasks_blocked()
    queue.add("a")
    getter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await getter
    assert await drain(queue) == ["a"]


async def test_a_worker_cancelled_while_it_waits_takes_nothing(queue: KeyedQueue[str]) -> None:
    getter = asyncio.ensure_future(queue.get())
    await anyio.wait_all_tasks_blocked()
    getter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await getter
    queue.add("a")
    assert await drain(queue) == ["a"]


async def test_settled_is_reported_when_the_last_job_is_done_and_not_before(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    waiter = asyncio.ensure_future(queue.wait_settled())
    key = await queue.get()
    await anyio.wait_all_tasks_blocked()
    assert not waiter.done()
    queue.done(key)
    await waiter


async def test_idle_does_not_wait_for_back_offs_and_settled_does(queue: KeyedQueue[str], clock: ManualClock) -> None:
    await fail_once(queue, "a")
    assert queue.idle
    waiter = asyncio.ensure_future(queue.wait_settled())
    await anyio.wait_all_tasks_blocked()
    assert not waiter.done()
    clock.advance(1)
    await drain(queue)
    await waiter


async def test_closing_calls_off_back_offs(queue: KeyedQueue[str], clock: ManualClock) -> None:
    await fail_once(queue, "a")
    queue.close()
    clock.advance(60)
    assert queue.settled


async def test_without_a_clock_of_its_own_it_uses_the_loops() -> None:
    queue = KeyedQueue[str]()
    await fail_once(queue, "a")
    with anyio.fail_after(PATIENCE):
        assert await queue.get() == "a"
    queue.done("a")


async def test_done_without_work_is_an_error(queue: KeyedQueue[str]) -> None:
    with pytest.raises(KeyError):
        queue.done("a")


async def test_taking_without_waiting_gives_what_is_there(queue: KeyedQueue[str]) -> None:
    assert queue.take() is None
    queue.add("a")
    assert queue.take() == "a"
    queue.done("a")


async def test_taking_all_gives_every_waiting_key_in_order(queue: KeyedQueue[str]) -> None:
    queue.add("r", resync=True)
    queue.add("a")
    queue.add("b")
    assert queue.take_all() == ("a", "b", "r")
    assert queue.pending() == 3
    for key in ("a", "b", "r"):
        queue.done(key)
    assert queue.idle


async def test_a_pause_asked_for_by_the_server_is_kept_and_is_no_failure(
    queue: KeyedQueue[str], clock: ManualClock
) -> None:
    queue.add("a")
    key = await queue.get()
    assert queue.retry(key, after=5.0) == 5.0
    queue.done(key)
    clock.advance(4.9)
    assert queue.idle
    clock.advance(0.1)
    assert await drain(queue) == ["a"]
    assert queue.failures("a") == 0
