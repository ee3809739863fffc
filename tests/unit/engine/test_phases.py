"""The phases of an engine follow from one table, which the documentation prints."""

from __future__ import annotations

from pathlib import Path

from intentc.engine.phases import TRANSITIONS, Happened, Phase, Phases, table

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "engine.md"


def test_the_documentation_prints_the_table() -> None:
    assert table() in DOCUMENT.read_text()


def test_every_phase_is_left_and_all_but_the_first_are_reached() -> None:
    assert {before for before, _ in TRANSITIONS} == set(Phase)
    assert set(TRANSITIONS.values()) == set(Phase) - {Phase.LISTING}
    assert {what for _, what in TRANSITIONS} == set(Happened)


def test_one_pass_follows_a_complete_evaluation_and_each_listing_requires_another() -> None:
    phases = Phases()
    assert (phases.pass_is_due, phases.may_plan) == (True, False)
    reported = (
        Happened.ALL_EVALUATED,
        Happened.LISTED,
        Happened.JOBS_DONE,
        Happened.ALL_EVALUATED,
        Happened.ALL_EVALUATED,
    )
    assert [phases.happened(what) for what in reported] == [False, False, False, True, False]
    phases.happened(Happened.LISTED)
    assert (phases.pass_is_due, phases.may_plan) == (True, True)
    phases.happened(Happened.INPUTS)
    assert phases.phase is Phase.EVALUATING_ALL
    assert phases.happened(Happened.ALL_EVALUATED)
    assert phases.passes == 2


def test_writes_get_a_turn_after_a_burst_but_not_before_a_pass() -> None:
    phases = Phases()
    for what in (Happened.LISTED, Happened.ALL_EVALUATED, Happened.INPUTS):
        phases.happened(what)
    assert [phases.job_ended() for _ in range(1000)] == [False] * 999 + [True]
    phases.happened(Happened.BURST_OVER)
    assert phases.phase is Phase.PLANNING
    for what in (Happened.LISTED, Happened.INPUTS, Happened.BURST_OVER):
        phases.happened(what)
    assert not phases.may_plan
