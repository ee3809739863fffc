"""The index of reads: the readers of a read, the reads of an intent."""

from __future__ import annotations

from intentc.logic.dependencies import ReadIndex
from intentc.model import Key
from intentc.model.reads import object_read

ONE, OTHER = Key("net", "one"), Key("net", "other")
BLUE, GREEN = object_read(Key("policy", "blue")), object_read(Key("policy", "green"))


def test_replace_forgets_the_reads_of_the_run_before() -> None:
    index = ReadIndex()
    index.replace(ONE, frozenset({BLUE}))
    index.replace(ONE, frozenset({GREEN}))
    assert index.readers(BLUE) == frozenset()
    assert index.readers(GREEN) == {ONE}
    assert index.reads_of(ONE) == {GREEN}


def test_add_keeps_them() -> None:
    index = ReadIndex()
    index.replace(ONE, frozenset({BLUE}))
    index.add(ONE, frozenset({GREEN}))
    assert index.reads_of(ONE) == {BLUE, GREEN}
    assert index.readers(BLUE) == index.readers(GREEN) == {ONE}


def test_one_read_may_have_many_readers() -> None:
    index = ReadIndex()
    index.replace(ONE, frozenset({BLUE}))
    index.replace(OTHER, frozenset({BLUE}))
    assert index.readers(BLUE) == {ONE, OTHER}


def test_drop_forgets_an_intent() -> None:
    index = ReadIndex()
    index.replace(ONE, frozenset({BLUE, GREEN}))
    index.replace(OTHER, frozenset({BLUE}))
    index.drop(ONE)
    assert ONE not in index
    assert index.readers(BLUE) == {OTHER}
    assert len(index) == 1


def test_an_intent_that_read_nothing_was_evaluated_all_the_same() -> None:
    index = ReadIndex()
    index.replace(ONE, frozenset())
    assert ONE in index
    assert OTHER not in index
