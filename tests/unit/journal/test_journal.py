"""The journal keeps the last lines, finds them again, and costs next to nothing."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import aclosing

import anyio
import pytest

from intentc.journal import Entry, Journal, TooManyFollowers, Write
from intentc.model import Key, Name
from tests.support.cpu import slowness

GROUP = Key("group", "g1")
OTHER = Key("group", "g2")
RULES = Name("rules", ("a", "b"))


def evaluated(origin: Key, *path: Key, objects: tuple[Name, ...] = (), revision: int = 1) -> Entry:
    return Entry(revision=revision, origin=origin, path=path, status="done", claims=len(objects), objects=objects)


def test_an_object_is_found_with_its_evaluations_and_writes() -> None:
    journal = Journal()
    first = evaluated(GROUP, objects=(RULES,))
    write = Write(1, RULES, "create", 7)
    journal.add(first)
    journal.add(evaluated(OTHER))
    journal.wrote(write)
    assert journal.about(RULES) == (first, write)


def test_an_intent_is_found_with_what_its_change_led_to() -> None:
    journal = Journal()
    own = evaluated(GROUP, GROUP, objects=(RULES,))
    led_to = evaluated(OTHER, GROUP, OTHER)
    write = Write(1, RULES, "create", 7)
    for line in (own, led_to):
        journal.add(line)
    journal.wrote(write)
    journal.wrote(Write(1, Name("rules", ("else",)), "create", 8))
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


def test_lines_with_many_objects_push_out_more_of_the_others() -> None:
    journal = Journal(size_bytes=100_000)
    for revision in range(50):
        journal.add(evaluated(GROUP, revision=revision))
    journal.add(evaluated(GROUP, objects=(RULES,) * 240))
    assert len(journal) < 20
    assert journal.size_bytes <= 100_000


def test_the_newest_line_is_kept_however_large_it_is() -> None:
    journal = Journal(size_bytes=1_000)
    for revision in (1, 2):
        journal.add(evaluated(GROUP, objects=(RULES,) * 100, revision=revision))
    assert [line.revision for line in journal] == [2]


def test_what_lines_take_is_not_counted_low() -> None:
    journal = Journal()
    tracemalloc.start()
    before = memory()
    for number in range(2_000):
        rules = Name("access_control_list", tuple(f"{part}-{number:09}-of-a-long-name" for part in "abcd"))
        group = Key("security_group", f"{number:036}")
        journal.add(evaluated(group, group, objects=(rules,)))
        journal.wrote(Write(number, Name(rules.kind, tuple(f"{part}!" for part in rules.fq_name)), "create", number))
    taken = memory() - before
    tracemalloc.stop()
    assert taken <= journal.size_bytes


def memory() -> int:
    current, _ = tracemalloc.get_traced_memory()
    return current


def test_lines_are_numbered_from_one_and_keep_their_numbers() -> None:
    journal = Journal(size=2)
    assert (journal.first, journal.last) == (1, 0)
    for revision in (7, 8, 9):
        journal.add(evaluated(GROUP, revision=revision))
    assert (journal.first, journal.last) == (2, 3)
    assert [(kept.sequence, kept.line.revision) for kept in journal.after(0)] == [(2, 8), (3, 9)]


def test_numbers_go_on_after_all_was_forgotten() -> None:
    journal = Journal()
    journal.add(evaluated(GROUP))
    journal.clear()
    assert (len(journal), journal.size_bytes, journal.first, journal.last) == (0, 0, 2, 1)
    journal.add(evaluated(GROUP))
    assert [kept.sequence for kept in journal.after(0)] == [2]


def test_lines_after_one_come_oldest_first_and_no_more_than_asked_for() -> None:
    journal = Journal()
    for revision in range(1, 11):
        journal.add(evaluated(GROUP, revision=revision))
    assert [kept.sequence for kept in journal.after(4, limit=3)] == [5, 6, 7]
    assert journal.after(10) == ()


def test_names_of_what_is_gone_are_kept_and_bounded() -> None:
    journal = Journal(size=2)
    for number in range(3):
        journal.remember_name(Key("group", f"g{number}"), f"group-{number}")
    assert journal.names == {Key("group", "g1"): "group-1", Key("group", "g2"): "group-2"}


@pytest.mark.anyio
async def test_a_follower_gets_what_was_there_and_what_comes() -> None:
    journal = Journal()
    journal.add(evaluated(GROUP, revision=1))
    async with aclosing(journal.follow(0)) as deliveries:
        assert [kept.line.revision for kept in (await anext(deliveries)).lines] == [1]
        async with anyio.create_task_group() as group:
            group.start_soon(add_soon, journal, 2)
            delivery = await anext(deliveries)
    assert [(kept.sequence, kept.line.revision) for kept in delivery.lines] == [(2, 2)]
    assert delivery.missed == 0


@pytest.mark.anyio
async def test_a_follower_that_is_too_slow_learns_how_much_it_missed() -> None:
    journal = Journal(size=3)
    async with aclosing(journal.follow(0)) as deliveries:
        journal.add(evaluated(GROUP, revision=1))
        await anext(deliveries)
        for revision in range(2, 10):
            journal.add(evaluated(GROUP, revision=revision))
        delivery = await anext(deliveries)
    assert (delivery.missed, [kept.sequence for kept in delivery.lines]) == (5, [7, 8, 9])


@pytest.mark.anyio
async def test_a_follower_of_another_process_gets_everything() -> None:
    journal = Journal()
    journal.add(evaluated(GROUP))
    async with aclosing(journal.follow(1_000)) as deliveries:
        assert len((await anext(deliveries)).lines) == 1


@pytest.mark.anyio
async def test_followers_are_bounded_and_one_that_goes_leaves_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.journal.journal._FOLLOWERS", 1)
    journal = Journal()
    journal.add(evaluated(GROUP))
    async with aclosing(journal.follow(0)) as first:
        await anext(first)
        with pytest.raises(TooManyFollowers, match="1 others follow"):
            await anext(journal.follow(0))
    async with aclosing(journal.follow(0)) as second:
        assert await anext(second)


@pytest.mark.anyio
async def test_many_wait_for_different_lines_and_each_is_woken_in_time() -> None:
    journal = Journal()
    woken: list[int] = []

    async def wait(sequence: int) -> None:
        await journal.reached(sequence)
        woken.append(sequence)

    async with anyio.create_task_group() as group:
        for sequence in (3, 1, 2):
            group.start_soon(wait, sequence)
        await anyio.wait_all_tasks_blocked()
        for count in (1, 2, 3):
            journal.add(evaluated(GROUP))
            await anyio.wait_all_tasks_blocked()
            assert woken == list(range(1, count + 1))


async def add_soon(journal: Journal, revision: int) -> None:
    await anyio.lowlevel.checkpoint()
    journal.add(evaluated(GROUP, revision=revision))


def test_lines_may_be_added_while_others_are_read() -> None:
    journal = Journal()
    journal.add(evaluated(GROUP))
    for _ in journal:
        journal.add(evaluated(OTHER))
    assert len(journal) == 2


def test_a_line_costs_at_most_two_microseconds() -> None:
    journal = Journal()
    path, objects = (GROUP, OTHER), (RULES,)

    def cost(lines: int = 20_000) -> float:
        begin = time.process_time()
        for revision in range(lines):
            journal.add(Entry(revision=revision, origin=OTHER, path=path, status="done", claims=1, objects=objects))
        return (time.process_time() - begin) / lines / slowness()

    assert any(cost() <= 2e-6 for _ in range(25))
