"""The guarantees of the keyed queue: one job per key, no starvation, failures return later, no polling."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from intentc.reconcile import KeyedQueue
from intentc.reconcile.backoff import Backoff


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


def take(queue: KeyedQueue[str]) -> str:
    key = queue.take()
    assert key is not None
    return key


def drain(queue: KeyedQueue[str]) -> list[str]:
    order = []
    while not queue.idle:
        key = take(queue)
        order.append(key)
        queue.done(key)
    return order


def fail_once(queue: KeyedQueue[str], key: str) -> None:
    queue.add(key)
    assert take(queue) == key
    queue.retry(key)
    queue.done(key)


def test_keys_come_in_the_order_in_which_they_were_first_added(queue: KeyedQueue[str]) -> None:
    for key in ("a", "b", "c", "a"):
        queue.add(key)
    assert drain(queue) == ["a", "b", "c"]


def test_a_key_that_runs_again_goes_behind_those_that_wait(queue: KeyedQueue[str]) -> None:
    queue.add("hub")
    queue.add("other")
    first = take(queue)
    queue.add("hub")
    queue.done(first)
    assert drain(queue) == ["other", "hub"]


def test_added_while_worked_on_it_runs_once_more(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    key = take(queue)
    queue.add("a")
    queue.add("a")
    assert queue.pending() == 1, "the second run must not start before the first has ended"
    queue.done(key)
    assert drain(queue) == ["a"]


def test_live_changes_go_before_resync_and_every_eighth_job_is_a_resync_one(queue: KeyedQueue[str]) -> None:
    for number in range(3):
        queue.add(f"r{number}", resync=True)
    for number in range(16):
        queue.add(f"l{number}")
    order = drain(queue)
    assert [place for place, key in enumerate(order) if key.startswith("r")] == [7, 15, 18]


def test_a_resync_key_that_changes_becomes_live(queue: KeyedQueue[str]) -> None:
    queue.add("a", resync=True)
    queue.add("b")
    queue.add("a")
    assert drain(queue) == ["b", "a"]


def test_a_live_key_is_not_put_back_by_resync(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    queue.add("a", resync=True)
    assert drain(queue) == ["a", "b"]


def test_a_live_change_during_a_resync_run_runs_live_afterwards(queue: KeyedQueue[str]) -> None:
    queue.add("a", resync=True)
    key = take(queue)
    queue.add("a", resync=True)
    queue.add("a")
    queue.add("z", resync=True)
    queue.done(key)
    assert drain(queue) == ["a", "z"]


def test_ten_thousand_adds_of_five_hundred_keys_are_five_hundred_jobs(queue: KeyedQueue[str]) -> None:
    for number in range(10_000):
        queue.add(f"k{number % 500}")
    assert queue.pending() == 500
    assert len(drain(queue)) == 500


def test_a_failed_key_comes_back_after_its_back_off(queue: KeyedQueue[str], clock: ManualClock) -> None:
    fail_once(queue, "a")
    clock.advance(0.004)
    assert queue.idle and not queue.settled
    clock.advance(0.001)
    assert drain(queue) == ["a"]


def test_failures_in_a_row_double_the_back_off_until_forgotten(queue: KeyedQueue[str]) -> None:
    delays = [queue.retry("a") for _ in range(3)]
    queue.forget("a")
    assert delays == pytest.approx([0.005, 0.010, 0.020])
    assert queue.retry("a") == pytest.approx(0.005)
    assert queue.failures("a") == 1


def test_a_live_change_does_not_wait_for_the_back_off(queue: KeyedQueue[str], clock: ManualClock) -> None:
    fail_once(queue, "a")
    queue.add("a")
    assert drain(queue) == ["a"]
    clock.advance(60)
    assert queue.settled, "the back-off must have been called off"


def test_a_change_during_a_failing_run_takes_the_place_of_the_back_off(queue: KeyedQueue[str]) -> None:
    queue.add("a")
    key = take(queue)
    queue.add("a")
    assert queue.retry(key) == 0.0
    queue.done(key)
    assert drain(queue) == ["a"]
    assert queue.failures("a") == 1


def test_resync_does_not_overtake_a_back_off(queue: KeyedQueue[str]) -> None:
    fail_once(queue, "a")
    queue.add("a", resync=True)
    assert queue.idle
    assert queue.delayed() == {"a": pytest.approx(0.005)}


def test_closing_calls_off_back_offs(queue: KeyedQueue[str], clock: ManualClock) -> None:
    fail_once(queue, "a")
    queue.close()
    clock.advance(60)
    assert queue.settled


def test_done_without_work_is_an_error(queue: KeyedQueue[str]) -> None:
    with pytest.raises(KeyError):
        queue.done("a")


def test_taking_all_gives_every_waiting_key_in_order(queue: KeyedQueue[str]) -> None:
    queue.add("r", resync=True)
    queue.add("a")
    queue.add("b")
    assert queue.take_all() == ("a", "b", "r")
    assert queue.pending() == 3
    for key in ("a", "b", "r"):
        queue.done(key)
    assert queue.idle


def test_a_pause_asked_for_by_the_server_is_kept_and_is_no_failure(queue: KeyedQueue[str], clock: ManualClock) -> None:
    queue.add("a")
    key = take(queue)
    assert queue.retry(key, after=5.0) == 5.0
    queue.done(key)
    clock.advance(4.9)
    assert queue.idle
    clock.advance(0.1)
    assert drain(queue) == ["a"]
    assert queue.failures("a") == 0
