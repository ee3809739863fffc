"""Events on objects with problems: one for each problem, and not too many at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from intentc.bridges.kubernetes.event_recorder import Regarding, Result
from intentc.bridges.kubernetes.problem_events import Note, Notes, ProblemEvents
from intentc.bridges.kubernetes.wire import Identity
from intentc.model import Key
from tests.simulation.simulated_clock import SimulatedLoop

pytestmark = pytest.mark.anyio
KEY = Key("farm", "u")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """Nothing waits for real."""
    return "asyncio", {"loop_factory": SimulatedLoop}


class _System:
    """Problems, a clock, and what was reported, in the place of Events. ``answers``: what becomes of the next Events;
    ``unknown``: uids of objects that were not listed yet; ``held``: namespaces that get none. An
    object's kind stands for its namespace."""

    def __init__(self) -> None:
        self.problems: Notes = {}
        self.reported: list[tuple[str, str]] = []
        self.asked = 0
        self.answers: list[Result] = []
        self.unknown: set[str] = set()
        self.held: set[str] = set()
        self.knows_all = True
        self.leads = True
        self.problem_events = ProblemEvents(
            self,  # type: ignore[arg-type]
            lambda: self.problems,
            self.regarding,
            lambda: self.leads,
            lambda: self.knows_all,
            1.0,
        )

    def regarding(self, key: Key) -> Regarding | None:
        return None if key.uuid in self.unknown else Regarding("v1", "Farm", Identity(key.kind, key.uuid), key.uuid)

    async def report(self, about: Regarding, reason: str, action: str, words: str) -> Result:
        assert (reason, action) == ("Dry", "Sow")
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else Result.CREATED
        if about.identity.namespace in self.held:
            answer = Result.HELD
        if answer is Result.CREATED:
            self.reported.append((about.uid, words))
        return answer

    async def look(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)
        await self.problem_events.loop.step()


def _notes(*words: str) -> tuple[Note, ...]:
    return tuple(Note("Dry", "Sow", one) for one in words)


def _many(first: int, last: int, namespace: str = "farm") -> dict[Key, tuple[Note, ...]]:
    return {Key(namespace, f"u{number}"): _notes("a") for number in range(first, last)}


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


async def test_a_standby_reports_nothing() -> None:
    system = _System()
    system.problems, system.leads = {KEY: _notes("a")}, False
    await system.look()
    assert system.reported == []
    system.leads = True
    await system.look()
    assert system.reported == [("u", "a")]


async def test_a_namespace_that_rejects_events_delays_no_other() -> None:
    system = _System()
    system.problems, system.held = {**_many(0, 60), Key("mill", "m"): _notes("a")}, {"farm"}
    await system.look()
    assert (system.reported, system.asked) == ([("m", "a")], 51)
    system.problems = _many(0, 60)
    waits = (
        (29.0, 51),
        (1.0, 52),
        (59.0, 52),
        (1.0, 53),
        (120.0, 54),
        (240.0, 55),
        (480.0, 56),
        (599.0, 56),
        (1.0, 57),
        (600.0, 58),
    )
    for seconds, asked in waits:
        await system.look(seconds)
        assert system.asked == asked
    system.held.clear()
    await system.look(600.0)
    assert {uid for uid, _ in system.reported} == {"m", *(f"u{number}" for number in range(60))}


@pytest.mark.parametrize("denied", [1, 10, 49])
async def test_denied_events_delay_no_other_of_their_namespace(denied: int) -> None:
    system = _System()
    system.problems = _many(0, denied + 1)
    system.answers = [Result.HELD] * denied
    await system.look()
    assert [uid for uid, _ in system.reported] == [f"u{denied}"]


async def test_a_failing_event_delays_no_other_of_its_namespace() -> None:
    system = _System()
    system.problems = _many(0, 3)
    system.answers = [Result.HELD]
    await system.look()
    assert [uid for uid, _ in system.reported] == ["u1", "u2"]
    await system.look(30.0)
    assert [uid for uid, _ in system.reported] == ["u1", "u2", "u0"]


async def test_after_a_cluster_that_took_none_another_event_comes_first() -> None:
    system = _System()
    system.problems = _many(0, 3)
    system.answers = [Result.FAILED]
    await system.look()
    await system.look(30.0)
    assert [uid for uid, _ in system.reported] == ["u1", "u2", "u0"]


async def test_a_failure_is_forgotten_with_its_problem() -> None:
    system = _System()
    system.problems, system.held = _many(0, 1), {"farm"}
    await system.look()
    system.problems = {}
    await system.look()
    system.problems, system.held = _many(0, 1), set()
    await system.look()
    assert system.reported == [("u0", "a")]


async def test_a_lasting_problem_is_reported_again_when_the_cluster_has_dropped_its_event() -> None:
    system = _System()
    system.problems = {KEY: _notes("a")}
    await system.look()
    await system.look(3000.0 - 1.0)
    assert system.asked == 1
    system.answers = [Result.PRESENT]
    for _ in range(11 * 60):
        await system.look()
    assert (system.asked, len(system.reported)) == (2, 1), "it is there still"
    await system.look(61.0)
    assert (system.asked, len(system.reported)) == (3, 2)


async def test_lasting_problems_are_repeated_a_few_at_a_time() -> None:
    system = _System()
    system.problems = _many(0, 90)
    await system.look()
    system.problems = {**_many(0, 90), KEY: _notes("new")}
    asked = system.asked
    await system.look(3000.0)
    assert system.reported[90] == ("u", "new")
    assert system.asked == asked + 11


async def test_a_namespace_with_thousands_of_problems_does_not_delay_another() -> None:
    system = _System()
    system.problems = {}
    await system.look()
    system.problems = _many(0, 5000)
    await system.look()
    system.problems = {**_many(0, 5000), **_many(0, 60, "mill"), **_many(5000, 5001, "barn")}
    await system.look(600.0)
    assert system.reported[100:102] in ([("u0", "a"), ("u5000", "a")], [("u5000", "a"), ("u0", "a")])
    assert len(system.reported) == 200
    assert {f"u{number}" for number in range(45)} <= {uid for uid, _ in system.reported[100:]}


async def test_each_of_very_many_namespaces_gets_its_turn() -> None:
    system = _System()
    system.problems = {key: note for at in range(250) for key, note in _many(at * 5, at * 5 + 5, f"n{at}").items()}
    for _ in range(3):
        await system.look(600.0)
    assert {int(uid[1:]) // 5 for uid, _ in system.reported} == set(range(250))


async def test_what_a_restart_finds_while_it_lists_is_old() -> None:
    system = _System()
    system.knows_all = False
    await system.look()
    system.problems = _many(0, 250)
    system.knows_all = True
    await system.look()
    system.problems = {**_many(0, 250), KEY: _notes("new")}
    await system.look(600.0)
    assert system.reported[100] == ("u", "new")


async def test_a_list_that_never_ends_makes_no_problem_old_after_ten_minutes() -> None:
    system = _System()
    system.knows_all = False
    system.problems = _many(0, 250)
    await system.look()
    await system.look(600.0)
    system.problems = {**_many(0, 250), KEY: _notes("new")}
    await system.look(600.0)
    assert system.reported[200] == ("u", "new")


async def test_it_counts_the_problems_and_those_with_an_event() -> None:
    system = _System()
    system.problems = _many(0, 3)
    system.answers = [Result.CREATED, Result.PRESENT, Result.REJECTED]
    await system.look()
    assert (system.problem_events.present, system.problem_events.reported) == (3, 2)
