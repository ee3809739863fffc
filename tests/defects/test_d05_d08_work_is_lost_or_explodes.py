"""The Go ancestor's work: D5 a goroutine for each job, without order or bound, D6 errors are logged and that is all,
D7 the first dependant that fails stops all others, D8 its walk visits again and again, in another order each time."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from intentc.logic.dependencies import DependencyProcessor, load
from intentc.model import Key
from intentc.reconcile import KeyedQueue
from intentc.reconcile.failures import Conflict, Rejected, UnknownOutcome
from intentc.watch.protocol import Put
from tests.support.box_system import BoxIntent, BoxSystem

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


async def test_d5_a_thousand_events_of_one_key_make_one_job_with_the_last_value(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    runs = box_system.engine.evaluator.runs
    for number in range(1_000):
        await box_system.change("a", text=f"text {number}", settle=False)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "text 999"}
    assert box_system.engine.evaluator.runs - runs <= 2


async def test_d5_one_key_is_never_worked_on_twice_at_once() -> None:
    queue: KeyedQueue[str] = KeyedQueue()
    queue.add("a")
    assert queue.take() == "a"
    for _ in range(1_000):
        queue.add("a")
    assert queue.take() is None
    assert queue.pending() == 1
    queue.done("a")
    assert queue.take() == "a"


@pytest.mark.parametrize("failure", [Rejected(500, "a bad day"), Conflict(409, "stale"), UnknownOutcome("cut off")])
async def test_d6_a_write_that_fails_is_made_later(box_system: BoxSystem, failure: Exception) -> None:
    box_system.write.failures["a"] = [failure] * 3
    await box_system.boxes("a")
    assert await box_system.contents() == {}
    box_system.write.failures.clear()
    await box_system.retry("a")
    assert await box_system.contents() == {"a": "hello"}


async def test_d6_an_evaluation_that_fails_is_reported_and_tried_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="fail")
    (problem,) = box_system.offline.problems()
    assert "as the test asked for" in problem.message
    assert await box_system.key("box", "a") in box_system.engine.jobs.delayed()
    await box_system.change("a", text="repaired")
    assert await box_system.contents() == {"a": "repaired"}
    assert box_system.offline.problems() == ()


async def test_d6_an_unreadable_value_is_held_until_it_is_readable(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    key = f"/contrail/box/{(await box_system.key('box', 'a')).uuid}"
    good = (await box_system.offline.store.range(key)).items[0].value
    await box_system.offline.store.transaction((), [Put(key, b'{"fq_name": ')])
    await box_system.change("b", text="goes on")
    assert len(box_system.offline.problems()) == 1
    assert await box_system.contents() == {"a": "hello", "b": "goes on"}
    await box_system.offline.store.transaction((), [Put(key, good.replace(b"hello", b"healed"))])
    await box_system.offline.settle()
    assert box_system.offline.problems() == ()
    assert await box_system.contents() == {"a": "healed", "b": "goes on"}


async def test_d7_a_dependant_that_fails_stops_no_other(box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    await box_system.boxes("hub", text="old")
    dependants = [f"d{number}" for number in range(5)]
    await box_system.boxes(*dependants, text="see hub")
    assert set((await box_system.contents()).values()) == {"old"}
    evaluate = BoxIntent.evaluate
    failed: list[str] = []

    def first_one_fails(self: Any, ctx: Any) -> Any:
        if self.text == "see hub" and not failed:
            failed.append(self.uuid)
        if self.uuid in failed:
            raise RuntimeError("the first dependant fails")
        return evaluate(self, ctx)

    monkeypatch.setattr(BoxIntent, "evaluate", first_one_fails)
    await box_system.change("hub", text="new")
    contents = await box_system.contents()
    assert sorted(contents[name] for name in dependants) == ["new"] * 4 + ["old"]


def test_d8_a_walk_over_a_dense_graph_ends_and_visits_each_once() -> None:
    """30 kinds, each going on to each from each: the ancestor's walk would make 30! steps."""
    kinds = [f"kind_{number}" for number in range(30)]
    lines = ["intent-compiler:"]
    for kind in kinds:
        lines += [f"  {kind}:", f"    self: [{', '.join(kinds)}]"]
        lines += [f"    {cause}: [{', '.join(kinds)}]" for cause in kinds]
    graph = Complete([Key(kind, "one") for kind in kinds])
    walk = DependencyProcessor(load("\n".join(lines)), graph).walk([Key(kinds[0], "one")])
    assert len(walk) == 30
    assert all(len(path) <= 2 for path in walk.values())
    assert graph.asked <= 31 * 30 * 30


class Complete:
    """Everything is related to everything."""

    def __init__(self, keys: list[Key]) -> None:
        self._keys = keys
        self.asked = 0

    def related(self, key: Key, kind: str) -> list[Key]:
        self.asked += 1
        return [other for other in self._keys if other.kind == kind and other != key]

    def all(self, kind: str) -> list[Key]:
        return [key for key in self._keys if key.kind == kind]


def test_d8_the_same_input_gives_the_same_bytes_whatever_the_order_of_sets() -> None:
    outputs = {compiled(seed) for seed in ("1", "2", "3")}
    (output,) = outputs
    assert output.count(b'"access_control_list"') >= 2


def compiled(hash_seed: str) -> bytes:
    command = [sys.executable, "-m", "intentc.cli", "compile", "sample/tenant.yml", "-o", "json"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True, timeout=60).stdout


async def test_d8_evaluations_come_in_the_same_order_each_time() -> None:
    orders = []
    for _ in range(2):
        box_system = await BoxSystem().begin()
        names = ["hub", *(f"d{number}" for number in range(9))]
        await box_system.boxes(*names, text="see hub")
        orders.append(box_system.write.log)
    assert orders[0] == orders[1]
    assert len(list(itertools.chain(*orders))) == 20
