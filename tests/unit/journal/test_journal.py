"""The journal keeps the last lines, finds them again, and costs next to nothing."""

from __future__ import annotations

import time

from intentc.journal import Entry, Journal, Write
from intentc.model import Key, Name

GROUP = Key("group", "g1")
OTHER = Key("group", "g2")
RULES = Name("rules", ("a", "b"))


def evaluated(origin: Key, *path: Key, objects: tuple[Name, ...] = (), revision: int = 1) -> Entry:
    return Entry(revision=revision, origin=origin, path=path, status="done", claims=len(objects), objects=objects)


def test_an_object_is_found_with_its_evaluations_and_writes() -> None:
    journal = Journal()
    first = evaluated(GROUP, objects=(RULES,))
    write = Write(1, RULES, "Create", 7)
    journal.add(first)
    journal.add(evaluated(OTHER))
    journal.wrote(write)
    assert journal.about(RULES) == (first, write)


def test_an_intent_is_found_with_what_its_change_led_to() -> None:
    journal = Journal()
    own = evaluated(GROUP, GROUP, objects=(RULES,))
    led_to = evaluated(OTHER, GROUP, OTHER)
    write = Write(1, RULES, "Create", 7)
    for line in (own, led_to):
        journal.add(line)
    journal.wrote(write)
    journal.wrote(Write(1, Name("rules", ("else",)), "Create", 8))
    assert journal.of(GROUP) == (own, led_to, write)
    assert journal.of(OTHER) == (led_to,)


def test_the_source_is_the_resource_that_changed() -> None:
    assert evaluated(OTHER, GROUP, OTHER).source == GROUP
    assert evaluated(OTHER).source == OTHER


def test_the_oldest_lines_go_first() -> None:
    journal = Journal(size=3)
    for revision in range(10):
        journal.add(evaluated(GROUP, revision=revision))
    assert [line.revision for line in journal] == [7, 8, 9]


def test_lines_may_be_added_while_others_are_read() -> None:
    journal = Journal()
    journal.add(evaluated(GROUP))
    for line in journal:
        journal.add(line)
    assert len(journal) == 2


def test_a_line_costs_at_most_two_microseconds() -> None:
    journal = Journal()
    path, objects = (GROUP, OTHER), (RULES,)

    def cost(lines: int = 20_000) -> float:
        begin = time.process_time()
        for revision in range(lines):
            journal.add(Entry(revision=revision, origin=OTHER, path=path, status="done", claims=1, objects=objects))
        return (time.process_time() - begin) / lines

    assert min(cost() for _ in range(5)) <= 2e-6
