"""The ring against a list that forgets nothing: numbers, bounds and followers hold for any lines in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intentc.journal import Entry, Journal, Line, Write
from intentc.model import Key, Name

GROUP = Key("group", "g")

evaluations = st.builds(
    lambda objects, path: Entry(1, GROUP, (GROUP,) * path, "done", objects, (Name("rules", ("r",)),) * objects),
    st.integers(0, 30),
    st.integers(0, 12),
)
writes = st.builds(lambda number: Write(1, Name("rules", (str(number),)), "create", number), st.integers(0, 9))
steps = st.lists(st.one_of(evaluations, writes, st.just("clear")), max_size=60)


def fill(journal: Journal, steps: list[Line | str]) -> list[tuple[int, Line]]:
    """All lines since the last time that all were forgotten, with the numbers that they should have."""
    given: list[tuple[int, Line]] = []
    number = 0
    for step in steps:
        if isinstance(step, str):
            journal.clear()
            given.clear()
            continue
        number += 1
        given.append((number, step))
        if isinstance(step, Entry):
            journal.add(step)
        else:
            journal.wrote(step)
    return given


@given(steps, st.integers(1, 20), st.integers(1_000, 30_000))
def test_what_is_kept_is_the_newest_within_both_bounds(steps: list[Line | str], size: int, size_bytes: int) -> None:
    journal = Journal(size, size_bytes)
    given = fill(journal, steps)
    kept = [(one.sequence, one.line) for one in journal.after(0, limit=1_000)]
    assert kept == given[len(given) - len(journal) :]
    assert len(kept) <= size
    assert journal.size_bytes <= size_bytes or len(kept) == 1
    alone = Journal(size=1_000, size_bytes=1_000_000)
    fill(alone, [line for _, line in kept])
    assert journal.size_bytes == alone.size_bytes
    if given:
        assert kept
        assert (journal.first, journal.last) == (kept[0][0], given[-1][0])


@given(steps, st.integers(0, 70), st.integers(1, 10))
def test_a_page_holds_what_follows_and_no_more_than_it_may(steps: list[Line | str], after: int, limit: int) -> None:
    journal = Journal(size=25)
    fill(journal, steps)
    every = [one.sequence for one in journal.after(0, limit=1_000)]
    page = [one.sequence for one in journal.after(after, limit)]
    assert page == [sequence for sequence in every if sequence > after][:limit]
