"""Events on objects with problems: one for each problem, and not too many at once."""

from __future__ import annotations

import pytest

from intentc.bridges.kubernetes.events import Regarding, Result
from intentc.bridges.kubernetes.problem_events import Note, Notes, ProblemEvents
from intentc.bridges.kubernetes.wire import Identity
from intentc.model import Key

pytestmark = pytest.mark.anyio
KEY = Key("farm", "u")


class _System:
    """Problems, a clock, and what was reported, in the place of Events. ``answers``: what becomes of the next Events;
    ``unknown``: uids of objects that were not listed yet."""

    def __init__(self) -> None:
        self.problems: Notes = {}
        self.reported: list[tuple[str, str]] = []
        self.asked = 0
        self.answers: list[Result] = []
        self.unknown: set[str] = set()
        self.leads = True
        self.now = 0.0
        self.problem_events = ProblemEvents(
            self,  # type: ignore[arg-type]
            lambda: self.problems,
            self.regarding,
            lambda: self.leads,
            clock=lambda: self.now,
        )

    def regarding(self, key: Key) -> Regarding | None:
        return None if key.uuid in self.unknown else Regarding("v1", "Farm", Identity("valley", key.uuid), key.uuid)

    async def report(self, about: Regarding, reason: str, action: str, words: str) -> Result:
        assert (reason, action) == ("Dry", "Sow")
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else Result.CREATED
        if answer is Result.CREATED:
            self.reported.append((about.uid, words))
        return answer

    async def look(self, seconds: float = 1.0) -> None:
        self.now += seconds
        await self.problem_events.report()


def _notes(*words: str) -> tuple[Note, ...]:
    return tuple(Note("Dry", "Sow", one) for one in words)


def _many(first: int, last: int) -> dict[Key, tuple[Note, ...]]:
    return {Key("farm", f"u{number}"): _notes("a") for number in range(first, last)}


async def test_an_object_is_reported_once_for_each_problem() -> None:
    system = _System()
    for words in (["a"], ["a"], ["a", "b"], ["b", "a"], ["b"], [], ["b"]):
        system.problems = {KEY: _notes(*words)} if words else {}
        await system.look()
    assert system.reported == [("u", "a"), ("u", "b"), ("u", "b")]


async def test_many_are_reported_in_portions() -> None:
    system = _System()
    system.problems = _many(0, 250)
    counts = []
    for seconds in (0.0, 1.0, 599.0, 600.0, 600.0):
        await system.look(seconds)
        counts.append(len(system.reported))
    assert counts == [100, 100, 200, 250, 250]
    assert len(set(system.reported)) == 250


async def test_new_problems_do_not_wait_for_those_from_before_this_process_led() -> None:
    system = _System()
    system.problems = _many(0, 250)
    await system.look()
    system.problems = {**_many(0, 250), KEY: _notes("new")}
    await system.look(600.0)
    assert system.reported[100] == ("u", "new")


async def test_events_that_a_former_process_wrote_cost_nothing_of_the_limit() -> None:
    system = _System()
    system.problems = _many(0, 250)
    system.answers = [Result.PRESENT] * 200
    await system.look()
    assert (system.asked, len(system.reported)) == (250, 50)


async def test_a_cluster_that_takes_none_is_asked_again_later() -> None:
    system = _System()
    system.problems = _many(0, 3)
    system.answers = [Result.FAILED]
    asked = []
    for seconds in (0.0, 29.0, 1.0):
        await system.look(seconds)
        asked.append(system.asked)
    assert asked == [1, 1, 4]
    assert len(system.reported) == 3


async def test_an_event_that_the_cluster_rejects_is_not_sent_again() -> None:
    system = _System()
    system.problems = {KEY: _notes("a")}
    system.answers = [Result.REJECTED]
    for _ in range(3):
        await system.look(600.0)
    assert system.asked == 1


async def test_an_object_that_was_not_listed_yet_is_reported_once_it_is() -> None:
    system = _System()
    system.problems, system.unknown = {KEY: _notes("a")}, {"u"}
    await system.look()
    assert system.asked == 0
    system.unknown.clear()
    await system.look()
    assert system.reported == [("u", "a")]


async def test_who_does_not_lead_reports_nothing() -> None:
    system = _System()
    system.problems, system.leads = {KEY: _notes("a")}, False
    await system.look()
    assert system.reported == []
    system.leads = True
    await system.look()
    assert system.reported == [("u", "a")]
