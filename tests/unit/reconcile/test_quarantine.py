"""The list of held keys."""

from __future__ import annotations

from intentc.model import Key, Problem
from intentc.reconcile import Quarantine

GROUP = Key("group", "u1")
MALFORMED = Problem("group", "a", "Malformed", "value can't be read")
REJECTED = Problem("group", "a", "Rejected", "the server says no")


def test_a_held_key_is_listed_with_its_reason_and_time() -> None:
    quarantine = Quarantine[Key](now=lambda: 7.0)
    quarantine.hold(GROUP, MALFORMED)
    assert [(key, held.problem, held.since) for key, held in quarantine.items()] == [(GROUP, MALFORMED, 7.0)]
    assert GROUP in quarantine
    assert len(quarantine) == 1


def test_holding_again_for_the_same_reason_is_no_news() -> None:
    quarantine = Quarantine[Key]()
    assert quarantine.hold(GROUP, MALFORMED)
    assert not quarantine.hold(GROUP, MALFORMED)
    assert quarantine.hold(GROUP, REJECTED)


def test_another_reason_keeps_the_time_since_when_it_is_held() -> None:
    times = iter([1.0, 2.0])
    quarantine = Quarantine[Key](now=lambda: next(times))
    quarantine.hold(GROUP, MALFORMED)
    quarantine.hold(GROUP, REJECTED)
    assert quarantine.items()[0][1] == (REJECTED, 1.0)


def test_a_released_key_is_gone_and_releasing_it_again_does_nothing() -> None:
    quarantine = Quarantine[Key]()
    quarantine.hold(GROUP, MALFORMED)
    assert quarantine.release(GROUP)
    assert not quarantine.release(GROUP)
    assert quarantine.items() == ()


def test_the_problem_counts_are_notified_of_changes() -> None:
    notified: list[tuple[tuple[Problem, ...], tuple[Problem, ...]]] = []
    quarantine = Quarantine[Key](replace=lambda before, after: notified.append((tuple(before), tuple(after))))
    quarantine.hold(GROUP, MALFORMED)
    quarantine.hold(GROUP, MALFORMED)
    quarantine.hold(GROUP, REJECTED)
    quarantine.release(GROUP)
    quarantine.release(GROUP)
    assert notified == [((), (MALFORMED,)), ((MALFORMED,), (REJECTED,)), ((REJECTED,), ())]
