"""The time budget: no author's code takes longer, and only the author's code is cut off."""

from __future__ import annotations

import gc
import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from intentc.evaluation import PROCESS, Budget, BudgetExceeded, Limits, Status
from intentc.model import Key
from tests.support.naive_world import NaiveWorld
from tests.support.waiting import PATIENCE
from tests.unit.evaluation.poisons import POISONS
from tests.unit.evaluation.toy import evaluate, runner, toy_schema, toy_world

LIMITS = Limits(thread_seconds=0.1, wall_seconds=0.3, reads=1_000)
NO_TIME = Limits(thread_seconds=-1.0)
TICK = 0.02
_SOON = 2.0
"""Seconds of CPU time, of which a busy machine takes none: ten times what a cut needs, recursion at the limit apart."""


@pytest.fixture
def enforced() -> Iterator[None]:
    with PROCESS.enforced(tick=TICK):
        yield


@pytest.mark.usefixtures("enforced")
@pytest.mark.parametrize("name", POISONS)
def test_a_poison_is_contained(name: str) -> None:
    world = toy_world()
    poison = POISONS[name]
    begun = time.process_time()
    outcome = evaluate(world, world.put("box", "a"), poison.body, LIMITS)
    assert time.process_time() - begun < _SOON
    assert (outcome.status, outcome.claims) == (Status.FAILED, ())
    assert outcome.problems[-1].reason == poison.reason, outcome.problems


@pytest.mark.parametrize("name", [name for name, poison in POISONS.items() if not poison.slow])
def test_what_ends_by_itself_is_contained_without_a_timer(name: str) -> None:
    world = toy_world()
    outcome = evaluate(world, world.put("box", "a"), POISONS[name].body, LIMITS)
    assert (outcome.status, outcome.problems[-1].reason) == (Status.FAILED, POISONS[name].reason)


@pytest.mark.usefixtures("enforced")
def test_the_problem_says_how_long_and_where() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        while True:
            time.sleep(60)

    line = body.__code__.co_firstlineno + 2
    outcome = evaluate(world, world.put("box", "a"), body, LIMITS)
    assert outcome.problems[-1].message == f"Body: cut off after 0.3 s (test_budget.py:{line})"


@pytest.mark.usefixtures("enforced")
def test_a_cut_off_run_keeps_its_reads_and_the_problems_that_it_reported() -> None:
    world = toy_world()

    def body(box: Any, ctx: Any) -> Any:
        ctx.problem("Odd", "something else")
        ctx.find("box", ("late",))
        while True:
            pass

    outcome = evaluate(world, world.put("box", "a"), body, LIMITS)
    assert ("name", "box", "late") in outcome.reads
    assert [problem.reason for problem in outcome.problems] == ["Odd", "BudgetExceeded"]


@pytest.mark.usefixtures("enforced")
def test_the_next_evaluation_has_its_own_budget() -> None:
    world = toy_world()
    key = world.put("box", "a")

    def brief(box: Any, ctx: Any) -> Any:
        done = time.thread_time() + 0.7 * LIMITS.thread_seconds
        while time.thread_time() < done:
            pass
        return ()

    evaluate(world, key, POISONS["loops"].body, LIMITS)
    limits = LIMITS._replace(wall_seconds=60)
    assert [evaluate(world, key, brief, limits).status for _ in range(4)] == [Status.DONE] * 4


@pytest.mark.usefixtures("enforced")
def test_reading_the_world_is_not_cut_off_half_way() -> None:
    """It may keep what it found; so the next read is rejected instead."""

    class SlowWorld(NaiveWorld):
        whole = 0

        def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None:
            done = time.thread_time() + 2 * LIMITS.thread_seconds
            while time.thread_time() < done:
                pass
            self.whole += 1
            return None

    world = SlowWorld(toy_schema())

    def body(box: Any, ctx: Any) -> Any:
        ctx.find("box", ("first",))
        ctx.find("box", ("second",))

    outcome = evaluate(world, world.put("box", "a"), body, LIMITS)
    assert outcome.problems[-1].reason == "BudgetExceeded"
    assert world.whole == 1


@pytest.mark.parametrize("name", ["recurses for ages", "recurses", "loops"])
def test_the_collector_does_not_run_others_code_in_the_midst_of_an_evaluation(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would fail there for want of stack, or be cut off in the author's stead. Hypothesis has such a callback; what
    failed was reported with every exception that the author's code had swallowed until then, which took minutes."""
    world = toy_world()
    hit: list[object] = []

    class Noting(Budget):
        def end(self) -> None:
            gc.callbacks.remove(callback)
            super().end()

    def body(box: Any, ctx: Any) -> Any:
        gc.callbacks.append(callback)
        for _ in range(10 * gc.get_threshold()[0]):
            cycle: list[Any] = []
            cycle.append(cycle)
        return POISONS[name].body(box, ctx)

    def callback(phase: str, info: dict[str, int]) -> None:
        hit.append(phase)

    monkeypatch.setattr(sys, "unraisablehook", hit.append)
    budget = Noting()
    with budget.enforced(tick=TICK):
        outcome = evaluate(world, world.put("box", "a"), body, LIMITS, budget=budget)
    assert outcome.status is Status.FAILED
    assert hit == []
    assert gc.isenabled()


class _TickAt:
    """Has the handler called before the ``position``-th bytecode, counted from where tracing begins, as a signal that
    comes just then would; ``ticked``: there were as many."""

    def __init__(self, budget: Budget, position: int) -> None:
        self._budget = budget
        self._left = position
        self.ticked = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode" and not self.ticked:
            self._left -= 1
            if self._left < 0:
                self.ticked = True
                for _ in range(3):  # the first begins the count, the second finds that the time is over
                    self._budget.tick(None, signal.SIGALRM, frame)
        return self


def test_whenever_the_tick_comes_it_hits_the_authors_code_or_nothing() -> None:
    world = toy_world()
    key = world.put("box", "a:b")
    world.put("box", "other")
    budget = Budget()
    statuses = []

    def body(box: Any, ctx: Any) -> Any:
        yield box.child("part", "one")
        if ctx.find("box", ("other",)):
            raise ValueError("one that must be reported")

    running = runner(world, "box", body, NO_TIME, budget=budget)

    def caught(position: int) -> bool:
        """One evaluation with a tick at a position; False once there is no such position."""
        tick = _TickAt(budget, position)
        sys.settrace(tick)
        try:
            outcome = running.run(key)
        except BudgetExceeded as error:
            pytest.fail(f"it got out at position {position}: {error!r}")
        finally:
            sys.settrace(None)
        statuses.append(outcome.problems[-1].reason)
        return tick.ticked

    with _alarms_ignored():
        position = 0
        while caught(position):
            position += 1
    assert position > 500
    assert set(statuses) == {"BudgetExceeded", "EvaluationFailed"}
    assert statuses.count("BudgetExceeded") > 200
    assert evaluate(world, key, body, LIMITS, budget=budget).problems[-1].reason == "EvaluationFailed"


class _alarms_ignored:
    """Ticks by hand make signals pending, and set the timer; nobody must die of that."""

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGALRM, lambda number, frame: None)

    def __exit__(self, *exception: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)


def test_time_in_which_the_process_did_not_run_does_not_count() -> None:
    """A process that is stopped gets one tick, however long it was."""
    world = toy_world()
    budget = Budget()

    def body(box: Any, ctx: Any) -> Any:
        for _ in range(3):
            time.sleep(2 * limits.wall_seconds)
            budget.tick(None, signal.SIGALRM, sys._getframe())
        return ()

    limits = Limits(wall_seconds=0.12)
    with _alarms_ignored():
        assert evaluate(world, world.put("box", "a"), body, limits, budget=budget).status is Status.DONE


def test_the_timer_and_its_handler_are_put_back() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with PROCESS.enforced(tick=TICK):
        assert signal.getsignal(signal.SIGALRM) is not before
        assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(TICK, rel=0.2)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.usefixtures("enforced")
def test_an_idle_process_ticks_slowly_again_after_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    world = toy_world()
    intervals: list[float] = []
    set_timer = signal.setitimer

    def noting(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        intervals.append(interval)
        return set_timer(which, seconds, interval)

    monkeypatch.setattr(signal, "setitimer", noting)
    evaluate(world, world.put("box", "a"), POISONS["loops"].body, LIMITS)
    end = time.monotonic() + PATIENCE
    while signal.getitimer(signal.ITIMER_REAL)[1] < TICK / 2 and time.monotonic() < end:
        time.sleep(TICK)
    assert min(intervals) < TICK / 2
    assert signal.getitimer(signal.ITIMER_REAL)[1] == pytest.approx(TICK, rel=0.2)


def test_outside_the_main_thread_nothing_is_bounded_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    found: list[Any] = []

    def run() -> None:
        with Budget().enforced():
            found.append(signal.getitimer(signal.ITIMER_REAL))

    with caplog.at_level(logging.WARNING):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert found == [(0.0, 0.0)]
    assert [record.message for record in caplog.records] == [
        "evaluations are not bounded in time: that needs a timer signal in the main thread"
    ]


def test_ctrl_c_gets_through() -> None:
    world = toy_world()
    key = world.put("box", "a")

    def body(box: Any, ctx: Any) -> Any:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        evaluate(world, key, body)


def test_no_timer_outlives_its_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick may be pending just when the timer is stopped, and would set it to another interval: nobody would answer
    that, and the process would end."""
    world = toy_world()
    setitimer = signal.setitimer
    late: list[bool] = []

    def with_a_late_tick(which: int, seconds: float, interval: float = 0.0) -> tuple[float, float]:
        before = setitimer(which, seconds, interval)
        if not seconds and signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
            late.append(True)
            signal.raise_signal(signal.SIGALRM)
        return before

    monkeypatch.setattr(signal, "setitimer", with_a_late_tick)
    with PROCESS.enforced(tick=TICK):
        evaluate(world, world.put("box", "a"), POISONS["loops"].body, LIMITS)
    assert late
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
