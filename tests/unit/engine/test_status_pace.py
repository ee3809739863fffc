"""The status of one object is written at most once in an interval, and the last one counts."""

from __future__ import annotations

import pytest

from intentc.engine.drift import Drift
from intentc.engine.object_planner import StatusPace
from intentc.engine.objects import Objects
from intentc.model import Delete, Key, Name, UpdateStatus
from intentc.planning import Plan

pytestmark = pytest.mark.anyio

NAME = Name("gate", ("a",))
WRITE = UpdateStatus(Key("gate", "a"), NAME, {"state": "red"}, "default", ("state",))
OTHER = Delete(Key("gate", "a"), NAME, 1)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_second_write_within_the_interval_waits_for_its_end() -> None:
    clock, objects = Clock(), Objects()
    pace, drift = StatusPace(1.0, clock), Drift(clock)
    assert pace.permitted(Plan(NAME, (WRITE,)), objects, drift).operations == (WRITE,)
    clock.now = 0.4
    later = pace.permitted(Plan(NAME, (OTHER, WRITE)), objects, drift)
    assert later.operations == (OTHER,)
    assert later.deferred
    assert objects.backs_off(NAME)
    clock.now = 1.1
    assert pace.permitted(Plan(NAME, (WRITE,)), objects, drift).operations == (WRITE,)
    objects.close()


async def test_without_an_interval_every_write_is_made() -> None:
    clock, objects = Clock(), Objects()
    pace, drift = StatusPace(0.0, clock), Drift(clock)
    for _ in range(2):
        assert pace.permitted(Plan(NAME, (WRITE,)), objects, drift).operations == (WRITE,)
    assert not objects.backs_off(NAME)


async def test_what_was_left_out_is_no_repair_when_it_is_written() -> None:
    clock, objects = Clock(), Objects()
    pace, drift = StatusPace(1.0, clock), Drift(clock)
    pace.permitted(Plan(NAME, (WRITE,)), objects, drift)
    pace.permitted(Plan(NAME, (WRITE,)), objects, drift)
    drift.stands(NAME, 5)
    clock.now = 1.1
    pace.permitted(Plan(NAME, (WRITE,)), objects, drift)
    assert not drift.differs(NAME, 6, ("status.state",))
    objects.close()


async def test_what_was_left_out_is_forgotten_once_the_status_is_right() -> None:
    clock, objects = Clock(), Objects()
    pace, drift = StatusPace(1.0, clock), Drift(clock)
    pace.permitted(Plan(NAME, (WRITE,)), objects, drift)
    pace.permitted(Plan(NAME, (WRITE,)), objects, drift)
    pace.permitted(Plan(NAME), objects, drift)
    drift.stands(NAME, 5)
    clock.now = 1.1
    assert pace.permitted(Plan(NAME, (WRITE,)), objects, drift).operations == (WRITE,)
    assert drift.differs(NAME, 6, ("status.state",)), "somebody else changed it: a repair"
    objects.close()
