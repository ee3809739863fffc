"""Other writers' changes of ours are repaired and reported as drift; contention backs off (F19, F20)."""

from __future__ import annotations

import pytest

from intentc.engine.drift import Drift
from intentc.journal import Write
from intentc.model import Name
from intentc.reconcile.backoff import CONTENDED, CONTENTION_REVERTS, CONTENTION_SECONDS
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


def test_an_object_that_is_reverted_repeatedly_is_contended(drift: Drift) -> None:
    reverted(drift, CONTENTION_REVERTS - 1)
    assert drift.contention(NAME) is None
    reverted(drift, 1)
    contention = drift.contention(NAME)
    assert contention is not None
    assert contention.fields == ("content",)
    assert contention.rest == pytest.approx(CONTENDED.first)


def test_the_same_number_of_repairs_over_a_long_time_is_no_contention(drift: Drift, clock: Clock) -> None:
    for _ in range(3 * CONTENTION_REVERTS):
        reverted(drift, 1)
        clock.now += CONTENTION_SECONDS / 2
    assert drift.contention(NAME) is None


def test_a_revert_after_the_pause_doubles_the_next_pause(drift: Drift, clock: Clock) -> None:
    reverted(drift, CONTENTION_REVERTS)
    clock.now += CONTENDED.first
    assert drift.contention(NAME) is None
    reverted(drift, 1)
    contention = drift.contention(NAME)
    assert contention is not None
    assert contention.rest == pytest.approx(2 * CONTENDED.first)


def test_a_part_that_stays_unchanged_longer_than_its_pause_starts_over(drift: Drift, clock: Clock) -> None:
    reverted(drift, CONTENTION_REVERTS)
    clock.now += 2 * CONTENDED.first + 1
    reverted(drift, 1)
    assert drift.contention(NAME) is None


def test_a_pause_that_ends_early_since_the_desired_state_changed_does_not_double(drift: Drift, clock: Clock) -> None:
    reverted(drift, CONTENTION_REVERTS)
    for _ in range(10):
        clock.now += 1
        drift.meant([NAME])
        assert drift.contention(NAME) is None
        reverted(drift, 1)
        contention = drift.contention(NAME)
        assert contention is not None
        assert contention.rest == pytest.approx(CONTENDED.first)
    clock.now += CONTENDED.first
    reverted(drift, 1)
    contention = drift.contention(NAME)
    assert contention is not None
    assert contention.rest == pytest.approx(2 * CONTENDED.first), "that pause ran to its end"


def test_what_was_long_ago_is_forgotten(drift: Drift, clock: Clock) -> None:
    reverted(drift, CONTENTION_REVERTS)
    clock.now += CONTENTION_SECONDS + 2 * CONTENDED.first
    drift.tidy()
    assert not drift._records


def writes(box_system: BoxSystem) -> list[tuple[Name, bool]]:
    return [(line.name, line.drift) for line in box_system.engine.journal if isinstance(line, Write)]


async def revert(box_system: BoxSystem, box: str = "a") -> None:
    """Another writer sets the content of a box's part, and the compiler has its say."""
    await box_system.offline.server.update(await box_system.key("part", box, "one"), {"content": "mine"})
    await box_system.offline.settle()


async def test_a_changed_object_is_repaired_and_journalled_as_drift(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await revert(box_system)
    assert await box_system.contents() == {"a": "hello"}
    assert writes(box_system) == [(part("a"), False), (part("a"), True)]
    assert engine_status(box_system.engine)["counters"]["drift_repairs"] == 1


async def test_a_deleted_object_is_made_again_and_journalled_as_drift(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.offline.server.delete(await box_system.key("part", "a", "one"))
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "hello"}
    assert writes(box_system)[-1] == (part("a"), True)


async def test_a_change_of_the_intent_is_no_drift(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.change("a", text="bye")
    assert await box_system.contents() == {"a": "bye"}
    assert not any(drift for _, drift in writes(box_system))


async def test_what_was_changed_while_no_compiler_ran_is_no_drift(box_system: BoxSystem) -> None:
    """Nobody knows whether the intent or the object was changed."""
    await box_system.boxes("a")
    await box_system.offline.server.update(await box_system.key("part", "a", "one"), {"content": "mine"})
    again = await BoxSystem(box_system.offline.store).begin()
    assert await again.contents() == {"a": "hello"}
    assert writes(again) == [(part("a"), False)]


async def test_contention_stops_the_writes_for_that_object_alone(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    for _ in range(CONTENTION_REVERTS + 3):
        await revert(box_system)
    assert await box_system.contents() == {"a": "mine", "b": "hello"}
    status = engine_status(box_system.engine)
    (entry,) = status["quarantine"]
    assert (entry["state"], entry["kind"], entry["name"]) == ("contended", "part", "a:one")
    assert "content" in entry["message"]
    assert not status["healthy"]
    assert status["converged"], "what is reported as contended is not waited for"
    await revert(box_system, "b")
    assert await box_system.contents() == {"a": "mine", "b": "hello"}


async def test_a_retry_ends_the_pause_of_a_contention(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    for _ in range(CONTENTION_REVERTS):
        await revert(box_system)
    assert box_system.engine.operator_actions.retry(await box_system.key("part", "a", "one")) == 1
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "hello"}
    assert engine_status(box_system.engine)["healthy"]


async def test_an_unclaimed_object_is_deleted_even_if_it_is_contended(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    for _ in range(CONTENTION_REVERTS):
        await revert(box_system)
    await box_system.remove("a")
    assert await box_system.contents() == {}
    assert engine_status(box_system.engine)["quarantine"] == []


async def test_many_children_of_one_intent_are_no_contention(box_system: BoxSystem) -> None:
    """crossplane #7108"""
    await box_system.boxes(*(f"box-{number}" for number in range(60)))
    assert box_system.engine.drift.repairs == 0
    assert len(await box_system.contents()) == 60


async def test_a_claim_that_changes_during_its_write_causes_no_drift(box_system: BoxSystem) -> None:
    gate = box_system.write.gates["create a"] = Gate()
    async with box_system.running():
        await box_system.boxes("a", settle=False)
        await gate.entered.wait()
        await box_system.change("a", text="bye", settle=False)
        await until(lambda: box_system.engine.objects.asked_again(part("a")))
        gate.opened.set()
        await box_system.settled()
    assert await box_system.contents() == {"a": "bye"}
    assert box_system.engine.drift.repairs == 0


async def test_a_contended_object_gets_what_is_wanted_of_it_anew(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    for _ in range(CONTENTION_REVERTS):
        await revert(box_system)
    await box_system.change("a", text="bye")
    assert await box_system.contents() == {"a": "bye"}
