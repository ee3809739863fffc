"""Other writers' changes of ours are repaired and reported as drift; contention backs off (F19, F20)."""

from __future__ import annotations

import pytest

from intentc.engine.drift import CONTENDED, REVERTS, WINDOW, Drift
from intentc.journal import Write
from intentc.model import Name
from tests.support.box_system import BoxSystem, Gate, part
from tests.support.engine_status import engine_status
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

NAME = Name("part", ("a", "one"))
CONTENT = frozenset({"content"})


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def drift(clock: Clock) -> Drift:
    return Drift(clock)


def reverted(drift: Drift, times: int) -> None:
    for _ in range(times):
        drift.stands(NAME, 1)
        assert drift.differs(NAME, 2, CONTENT)


def test_an_object_that_never_stood_right_has_not_drifted(drift: Drift) -> None:
    assert not drift.differs(NAME, 2, CONTENT)


def test_an_object_whose_claims_changed_has_not_drifted(drift: Drift) -> None:
    drift.stands(NAME, 1)
    drift.meant([NAME])
    assert not drift.differs(NAME, 2, CONTENT)


def test_an_object_that_is_set_back_again_and_again_is_contended_and_the_field_is_named(drift: Drift) -> None:
    reverted(drift, REVERTS - 1)
    assert drift.contention(NAME) is None
    reverted(drift, 1)
    contention = drift.contention(NAME)
    assert contention is not None
    assert contention.fields == ("content",)
    assert contention.rest == pytest.approx(CONTENDED.first)


def test_the_same_number_of_repairs_over_a_long_time_is_no_contention(drift: Drift, clock: Clock) -> None:
    for _ in range(3 * REVERTS):
        reverted(drift, 1)
        clock.now += WINDOW / 2
    assert drift.contention(NAME) is None


def test_after_the_rest_it_is_tried_again_and_one_more_revert_doubles_the_rest(drift: Drift, clock: Clock) -> None:
    reverted(drift, REVERTS)
    clock.now += CONTENDED.first
    assert drift.contention(NAME) is None
    reverted(drift, 1)
    contention = drift.contention(NAME)
    assert contention is not None
    assert contention.rest == pytest.approx(2 * CONTENDED.first)


def test_what_stood_for_longer_than_the_rest_begins_anew(drift: Drift, clock: Clock) -> None:
    reverted(drift, REVERTS)
    clock.now += 2 * CONTENDED.first + 1
    reverted(drift, 1)
    assert drift.contention(NAME) is None


def test_what_was_long_ago_is_forgotten(drift: Drift, clock: Clock) -> None:
    reverted(drift, REVERTS)
    clock.now += WINDOW + 2 * CONTENDED.first
    drift.tidy()
    assert not drift._records


def writes(plant: BoxSystem) -> list[tuple[Name, bool]]:
    return [(line.name, line.drift) for line in plant.engine.journal if isinstance(line, Write)]


async def revert(plant: BoxSystem, box: str = "a") -> None:
    """Another writer sets the content of a box's part, and the compiler has its say."""
    await plant.offline.server.update(await plant.key("part", box, "one"), {"content": "mine"})
    await plant.offline.settle()


async def test_a_changed_object_is_repaired_and_journalled_as_drift(plant: BoxSystem) -> None:
    await plant.boxes("a")
    await revert(plant)
    assert await plant.contents() == {"a": "hello"}
    assert writes(plant) == [(part("a"), False), (part("a"), True)]
    assert engine_status(plant.engine)["counters"]["drift_repairs"] == 1


async def test_a_deleted_object_is_made_again_and_journalled_as_drift(plant: BoxSystem) -> None:
    await plant.boxes("a")
    await plant.offline.server.delete(await plant.key("part", "a", "one"))
    await plant.offline.settle()
    assert await plant.contents() == {"a": "hello"}
    assert writes(plant)[-1] == (part("a"), True)


async def test_a_change_of_the_intent_is_no_drift(plant: BoxSystem) -> None:
    await plant.boxes("a")
    await plant.change("a", text="bye")
    assert await plant.contents() == {"a": "bye"}
    assert not any(drift for _, drift in writes(plant))


async def test_what_was_changed_while_no_compiler_ran_is_no_drift(plant: BoxSystem) -> None:
    """Nobody knows whether the intent or the object was changed."""
    await plant.boxes("a")
    await plant.offline.server.update(await plant.key("part", "a", "one"), {"content": "mine"})
    again = await BoxSystem(plant.offline.store).begin()
    assert await again.contents() == {"a": "hello"}
    assert writes(again) == [(part("a"), False)]


async def test_contention_stops_the_writes_for_that_object_alone(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    for _ in range(REVERTS + 3):
        await revert(plant)
    assert await plant.contents() == {"a": "mine", "b": "hello"}
    status = engine_status(plant.engine)
    (entry,) = status["quarantine"]
    assert (entry["state"], entry["kind"], entry["name"]) == ("contended", "part", "a:one")
    assert "content" in entry["message"]
    assert not status["healthy"]
    assert status["converged"], "what is reported as contended is not waited for"
    await revert(plant, "b")
    assert await plant.contents() == {"a": "mine", "b": "hello"}


async def test_a_retry_ends_the_rest_of_a_contention(plant: BoxSystem) -> None:
    await plant.boxes("a")
    for _ in range(REVERTS):
        await revert(plant)
    assert plant.engine.operator_actions.retry(await plant.key("part", "a", "one")) == 1
    await plant.offline.settle()
    assert await plant.contents() == {"a": "hello"}
    assert engine_status(plant.engine)["healthy"]


async def test_an_object_that_nobody_wants_any_more_goes_also_if_it_is_contended(plant: BoxSystem) -> None:
    await plant.boxes("a")
    for _ in range(REVERTS):
        await revert(plant)
    await plant.remove("a")
    assert await plant.contents() == {}
    assert engine_status(plant.engine)["quarantine"] == []


async def test_many_children_of_one_intent_are_no_contention(plant: BoxSystem) -> None:
    """crossplane #7108"""
    await plant.boxes(*(f"box-{number}" for number in range(60)))
    assert plant.engine._drift.repairs == 0
    assert len(await plant.contents()) == 60


async def test_what_is_wanted_anew_while_it_is_written_is_no_drift(plant: BoxSystem) -> None:
    gate = plant.write.gates["create a"] = Gate()
    async with plant.running():
        await plant.boxes("a", settle=False)
        await gate.entered.wait()
        await plant.change("a", text="bye", settle=False)
        await until(lambda: plant.engine._objects.is_asked_again(part("a")))
        gate.opened.set()
        await plant.settled()
    assert await plant.contents() == {"a": "bye"}
    assert plant.engine._drift.repairs == 0


async def test_a_contended_object_gets_what_is_wanted_of_it_anew(plant: BoxSystem) -> None:
    await plant.boxes("a")
    for _ in range(REVERTS):
        await revert(plant)
    await plant.change("a", text="bye")
    assert await plant.contents() == {"a": "bye"}
