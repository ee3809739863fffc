"""The present problems, each once: as many as a full count of all reported ones, after any history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intentc.engine.state_tables import ProblemCounts
from intentc.model import Problem

PROBLEMS = st.builds(Problem, kind=st.just("box"), name=st.sampled_from("ab"), reason=st.sampled_from("xyz"),
                     message=st.just(""))  # fmt: skip
REPORTED = st.lists(PROBLEMS, max_size=3).map(tuple)


@given(st.lists(st.tuples(st.integers(0, 3), REPORTED), max_size=30))
def test_it_has_each_reported_problem_once(history: list[tuple[int, tuple[Problem, ...]]]) -> None:
    problem_counts = ProblemCounts()
    reported: dict[int, tuple[Problem, ...]] = dict.fromkeys(range(4), ())
    for reporter, problems in history:
        problem_counts.replace(reported[reporter], problems)
        reported[reporter] = problems
        every = {problem for each in reported.values() for problem in each}
        assert sorted(problem_counts) == sorted(every)
        assert len(problem_counts) == len(every)
        assert set(problem_counts.about("box", "a")) == {problem for problem in every if problem.name == "a"}


def test_a_problem_that_stays_keeps_its_place() -> None:
    first, second = Problem("box", "a", "x", ""), Problem("box", "b", "x", "")
    problem_counts = ProblemCounts()
    problem_counts.replace((), (first,))
    problem_counts.replace((), (second,))
    problem_counts.replace((first,), (first,))
    assert list(problem_counts) == [first, second]


def test_a_change_of_what_a_resource_has_is_noted_once() -> None:
    first, second = Problem("box", "a", "x", ""), Problem("box", "b", "x", "")
    problem_counts = ProblemCounts()
    problem_counts.replace((), (first,))
    assert set(problem_counts.take_changed()) == {("box", "a")}
    assert set(problem_counts.take_changed()) == set()
    problem_counts.replace((), (first, second))
    problem_counts.replace((first,), (first,))
    assert set(problem_counts.take_changed()) == {("box", "b")}
    problem_counts.replace((first, first, second), ())
    assert set(problem_counts.take_changed()) == {("box", "a"), ("box", "b")}
    assert set(problem_counts.subjects) == set()
