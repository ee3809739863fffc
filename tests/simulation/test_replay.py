"""A seed is all that a failure needs to be seen again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.property.resources import Put
from tests.property.steps import Remove, Repair, Settle
from tests.simulation import __main__ as runner
from tests.simulation.faults import Happening
from tests.simulation.histories import History, Lived, made
from tests.simulation.subjects import CONTRAIL

SERVICE = made(CONTRAIL, "service")


def test_a_seed_gives_the_same_history_and_the_same_trace_each_time() -> None:
    history = SERVICE.drawn(11)
    assert SERVICE.drawn(11) == history
    trace = SERVICE.run(history, 11).trace
    assert len(trace) > 20
    assert SERVICE.run(history, 11).trace == trace


def test_another_seed_gives_another_history() -> None:
    assert SERVICE.drawn(11) != SERVICE.drawn(12)


async def _without_removals(begin: Sequence[Put], steps: Sequence[Any]) -> Lived:
    """A way to live that fails for one step, whatever else is there."""
    await asyncio.sleep(1)
    assert not any(isinstance(happening.step, Remove) for happening in steps), "something was removed"
    return Lived(set())


FRAGILE = SERVICE._replace(live=_without_removals)


def test_histories_are_as_long_as_the_runner_is_asked_for() -> None:
    assert {len(made(CONTRAIL, "steps", 60).drawn(seed).steps) for seed in range(3)} == {60}


def test_a_history_that_fails_is_shrunk_to_what_it_needs() -> None:
    removal = Happening(Remove("virtual_network", 0), 1.0)
    steps = [Happening(Settle(), 1.0), removal, Happening(Repair(), 1.0)]
    assert FRAGILE.shrunk(History(SERVICE.drawn(11).begin, steps), 11) == History([], [removal])


def test_the_runner_prints_the_seed_that_replays_a_failure_and_why_it_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "made", lambda *_: FRAGILE)
    seed = next(seed for seed in range(100) if any("Remove(" in str(step) for step in FRAGILE.drawn(seed).steps))
    monkeypatch.setattr("sys.argv", ["simulation", "--seed", str(seed), "--runs", "1"])
    assert runner.main() == 1
    printed = capsys.readouterr().out
    assert f"--compiler contrail --form service --seed {seed} --runs 1 replays it" in printed
    assert "something was removed" in printed
    assert "Remove(kind=" in printed
