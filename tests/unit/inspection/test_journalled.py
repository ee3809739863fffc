"""What the journal answers: lines as JSON, what an object went through, and what a start leaves unknown."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc.diagnostics.questions import JournalQuery, NamedAs, Unanswerable
from intentc.inspection import journal_lines as journalled
from intentc.inspection.history import history_of
from intentc.inspection.journal_lines import evaluation_document, line_document, written_document
from intentc.journal import Entry
from intentc.journal.keeping import Keeping
from intentc.journal.ring import JournalFiles, this_process
from intentc.model import Key, Name
from tests.support.box_system import BoxSystem, part

pytestmark = pytest.mark.anyio


@pytest.fixture
async def box_system() -> AsyncIterator[BoxSystem]:
    """One that has made its first pass over nothing, with two boxes since: the second shows the first's text."""
    box_system = await BoxSystem().begin()
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b", box_refs=[{"to": ["b"]}])
    yield box_system
    box_system.close()


async def lines(box_system: BoxSystem, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await journalled.journal(box_system.engine, JournalQuery(**query)))["lines"]
    return found


async def test_an_evaluation_is_reported_with_names_path_and_source(box_system: BoxSystem) -> None:
    await box_system.change("b", text="other")
    a, b = await box_system.key("box", "a"), await box_system.key("box", "b")
    (line,) = await lines(box_system, sort="evaluation", kind="box", name="a", after=last(box_system) - 4)
    assert line["intent"] == {"kind": "box", "name": "a", "uuid": a.uuid}
    assert line["path"] == [{"kind": "box", "name": "b", "uuid": b.uuid}, line["intent"]]
    assert line["source"] == {**line["path"][0], "revision": box_system.engine.world.mod_revision(b)}
    assert [one["name"] for one in line["objects"]] == ["a:one"]
    assert (line["status"], line["claims"], line["objects_total"], line["object"]) == ("done", 1, 1, None)


async def test_a_write_is_reported_with_its_object(box_system: BoxSystem) -> None:
    (line,) = await lines(box_system, sort="write", name="a:one")
    assert (line["object"]["kind"], line["object"]["name"], line["operation"]) == ("part", "a:one", "create")
    assert line["object"]["uuid"] == (await box_system.key("part", "a", "one")).uuid
    assert line["written"] > line["revision"]
    assert (line["intent"], line["path"], line["source"], line["status"]) == (None, [], None, None)


async def test_a_write_names_the_fields_that_it_sets_and_no_value(box_system: BoxSystem) -> None:
    await box_system.change("a", text="secret words")
    *_, line = await lines(box_system, sort="write", name="a:one")
    assert (line["operation"], line["fields"], line["by"]) == ("update", ["content"], None)
    assert "secret words" not in str(line)


async def test_a_create_names_no_fields_since_all_of_it_is_new(box_system: BoxSystem) -> None:
    assert [line["fields"] for line in await lines(box_system, sort="write")] == [[], []]


async def test_a_line_of_another_process_says_whose_it_is(box_system: BoxSystem, tmp_path: Path) -> None:
    journal = box_system.engine.journal
    files = JournalFiles(tmp_path, files=2, file_bytes=100_000, process=this_process("lab", "host-2", 0.0))
    Keeping(journal, files, box_system.engine.world.name_of, lambda entry: False).end()
    journal.clear()
    journal.directory, journal.writer = tmp_path, "lab/host-1"
    await box_system.change("a", text="other")
    past = await history_of(
        box_system.engine.world, box_system.engine.journal, part("a"), [await box_system.key("box", "a")]
    )
    reported = [line_document(box_system.engine, each) for each in past.lines]
    assert [(line["sort"], line["by"]) for line in reported] == [
        ("evaluation", "lab/host-2"),
        ("write", "lab/host-2"),
        ("evaluation", None),
        ("write", None),
    ]


async def test_lines_of_an_unknown_kind_are_rejected_with_those_that_may_be_meant(box_system: BoxSystem) -> None:
    with pytest.raises(Unanswerable, match="unknown kind 'bux'; did you mean box") as caught:
        await journalled.journal(box_system.engine, JournalQuery(kind="bux"))
    assert (caught.value.candidates, caught.value.named_as) == (("box",), NamedAs.KINDS)


def last(box_system: BoxSystem) -> int:
    return box_system.engine.journal.last


async def test_lines_come_oldest_first_in_pages(box_system: BoxSystem) -> None:
    every = [line["sequence"] for line in await lines(box_system)]
    assert every == list(range(1, last(box_system) + 1))
    assert [line["sequence"] for line in await lines(box_system, limit=2)] == [1, 2]
    assert [line["sequence"] for line in await lines(box_system, after=2, limit=2)] == [3, 4]


@pytest.mark.parametrize(("query", "more"), [({"limit": 4}, False), ({"limit": 3}, True), ({"before": 2}, False)])
async def test_whether_there_are_more_is_reported(box_system: BoxSystem, query: dict[str, Any], more: bool) -> None:
    assert last(box_system) == 4
    assert (await journalled.journal(box_system.engine, JournalQuery(**query)))["more"] is more


async def test_the_last_lines_before_one_can_be_asked_for(box_system: BoxSystem) -> None:
    assert [line["sequence"] for line in await lines(box_system, before=last(box_system) + 1, limit=2)] == [
        last(box_system) - 1,
        last(box_system),
    ]
    assert [line["sequence"] for line in await lines(box_system, before=3, limit=10)] == [1, 2]


@pytest.mark.parametrize("name", ["a:one", "one", ""])
async def test_lines_of_one_object_are_found_by_its_name_or_the_end_of_it(box_system: BoxSystem, name: str) -> None:
    found = await lines(box_system, kind="part", name=name)
    assert {line["sort"] for line in found} == {"evaluation", "write"}
    assert len(found) == (2 if name == "a:one" else 4)


async def test_a_line_is_found_by_the_uuid_of_what_it_shows_of(box_system: BoxSystem) -> None:
    b = await box_system.key("box", "b")
    found = await lines(box_system, name=b.uuid)
    assert [line["intent"]["name"] for line in found] == ["b"]


async def test_what_is_gone_is_reported_by_its_name(box_system: BoxSystem) -> None:
    await box_system.remove("a")
    ended = (await lines(box_system, kind="box", name="a", sort="evaluation"))[-1]
    assert (ended["intent"]["name"], ended["status"]) == ("a", "deleted")


async def test_an_answer_stays_small_however_much_lines_report(box_system: BoxSystem) -> None:
    objects = tuple(Name("part", (f"{'long' * 50}-{number}", "one")) for number in range(1_000))
    for _ in range(300):
        box_system.engine.journal.add(Entry(1, Key("box", "x"), (), "done", 1_000, objects))
    answer = await journalled.journal(box_system.engine, JournalQuery(limit=1_000))
    assert len(msgspec.json.encode(answer)) < 200_000
    assert answer["more"] is True
    assert answer["lines"][-1]["objects_total"] == 1_000
    further = await journalled.journal(
        box_system.engine, JournalQuery(after=answer["lines"][-1]["sequence"], limit=1_000)
    )
    assert further["lines"][0]["sequence"] == answer["lines"][-1]["sequence"] + 1


async def test_a_follower_gets_lines_as_json(box_system: BoxSystem) -> None:
    async with aclosing(journalled.follow(box_system.engine, last(box_system) - 1)) as found:  # type: ignore[type-var]
        line = await anext(found)
    assert line == (await lines(box_system, after=last(box_system) - 1))[0]


async def test_one_follower_too_many_is_reported_what_to_do(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.journal.journal._FOLLOWERS", 0)
    with pytest.raises(Unanswerable) as caught:
        await anext(journalled.follow(box_system.engine, 0))
    assert caught.value.status == 503
    assert "/journal" in caught.value.next_step


async def test_the_past_of_an_object_is_its_intents_last_evaluation_and_its_last_write(box_system: BoxSystem) -> None:
    await box_system.change("b", text="other")
    a, b = await box_system.key("box", "a"), await box_system.key("box", "b")
    past = await history_of(box_system.engine.world, box_system.engine.journal, part("a"), [a])
    document = evaluation_document(box_system.engine, a, past.evaluations[a])
    assert [one["uuid"] for one in document["path"]] == [b.uuid, a.uuid]
    assert document["recorded_in"] == "journal"
    written = written_document(past.written)
    assert written is not None
    assert (written["operation"], written["by"]) == ("update", "default/")
    sorts = [line_document(box_system.engine, reported)["sort"] for reported in past.lines]
    assert sorts == ["evaluation", "write", "evaluation", "write"]


async def test_the_history_of_a_resource_is_its_evaluations_and_those_that_it_led_to(box_system: BoxSystem) -> None:
    await box_system.change("b", text="other")
    b = await box_system.key("box", "b")
    past = await history_of(box_system.engine.world, box_system.engine.journal, None, [b])
    reported = [line_document(box_system.engine, one)["intent"]["name"] for one in past.lines]
    assert reported == ["b", "b", "a"]


async def test_after_a_restart_without_files_only_the_path_is_unknown(
    box_system: BoxSystem,
) -> None:
    again = BoxSystem(box_system.offline.store)
    await again.offline.settle()
    a = await again.key("box", "a")
    past = await history_of(again.engine.world, again.engine.journal, part("a"), [a])
    document = evaluation_document(again.engine, a, past.evaluations[a])
    assert (document["path"], document["recorded_in"], document["status"]) == (None, "before this start", "done")
    assert (past.written, past.complete) == (None, True)
    await again.change("b", text="other")
    past = await history_of(again.engine.world, again.engine.journal, part("a"), [a])
    assert evaluation_document(again.engine, a, past.evaluations[a])["recorded_in"] == "journal"
    assert past.written is not None


async def test_what_the_first_listing_led_to_and_was_written_then_is_known(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = []
    store = box_system.offline.store
    (item,) = (await store.range("/contrail/part/", "/contrail/part0")).items[:1]
    name = box_system.engine.world.schema.kind("part").decode_values(item.value).fq_name
    again = BoxSystem(store)
    await store.transaction((), [delete(item.key)])
    await again.offline.settle()
    owner = await again.key("box", name[0])
    past = await history_of(again.engine.world, again.engine.journal, part(name[0]), [owner])
    document = evaluation_document(again.engine, owner, past.evaluations[owner])
    assert ([one["name"] for one in document["path"]], document["recorded_in"]) == ([name[0]], "journal")


def delete(key: str) -> Any:
    from intentc.watch.protocol import Delete

    return Delete(key)


async def test_after_a_restart_files_show_when_and_by_which_path(box_system: BoxSystem, tmp_path: Path) -> None:
    await box_system.change("b", text="other")
    box_system.keep_journal(tmp_path, "host-1")
    again = BoxSystem(box_system.offline.store)
    again.engine.journal.directory = tmp_path
    await again.offline.settle()
    a, b = await again.key("box", "a"), await again.key("box", "b")
    past = await history_of(again.engine.world, again.engine.journal, part("a"), [a])
    document = evaluation_document(again.engine, a, past.evaluations[a])
    assert ([one["uuid"] for one in document["path"]], document["recorded_in"]) == ([b.uuid, a.uuid], "files")
    written = written_document(past.written)
    assert written is not None
    assert (written["operation"], written["by"]) == ("update", "lab/host-1")
    reported = [(one.recorded_in, line_document(again.engine, one)["sort"]) for one in past.lines]
    assert reported == [("files", sort) for sort in ("evaluation", "write") * 2] + [("journal", "evaluation")]


async def test_a_restart_in_which_nothing_changed_hides_no_earlier_path(box_system: BoxSystem, tmp_path: Path) -> None:
    await box_system.change("b", text="other")
    box_system.keep_journal(tmp_path, "host-1")
    between = BoxSystem(box_system.offline.store)
    await between.offline.settle()
    between.keep_journal(tmp_path, "host-2")
    again = BoxSystem(box_system.offline.store)
    again.engine.journal.directory = tmp_path
    await again.offline.settle()
    a = await again.key("box", "a")
    past = await history_of(again.engine.world, again.engine.journal, part("a"), [a])
    reported = past.evaluations[a]
    assert (reported.recorded_in, reported.by) == ("files", "lab/host-1")


async def test_lines_of_a_future_that_never_was_are_passed_over(box_system: BoxSystem, tmp_path: Path) -> None:
    box_system.engine.journal.add(
        Entry(10_000, await box_system.key("box", "a"), (), "done", 1, (part("a"),), source_revision=5)
    )
    box_system.keep_journal(tmp_path, "host-1")
    again = BoxSystem(box_system.offline.store)
    again.engine.journal.directory = tmp_path
    await again.offline.settle()
    past = await history_of(again.engine.world, again.engine.journal, part("a"), [])
    assert all(reported.line.revision < 10_000 for reported in past.lines)
    assert any(reported.recorded_in == "files" for reported in past.lines)


async def test_lines_that_memory_and_files_hold_are_reported_once(box_system: BoxSystem, tmp_path: Path) -> None:
    box_system.keep_journal(tmp_path, "host-1")
    box_system.engine.journal.directory = tmp_path
    past = await history_of(
        box_system.engine.world, box_system.engine.journal, part("a"), [await box_system.key("box", "a")]
    )
    assert [reported.recorded_in for reported in past.lines] == ["journal", "journal"]


async def test_that_lines_were_dropped_is_reported(box_system: BoxSystem) -> None:
    for number in range(box_system.engine.journal.size):
        box_system.engine.journal.add(Entry(1, Key("box", f"x{number}"), (), "done", 0, ()))
    past = await history_of(
        box_system.engine.world, box_system.engine.journal, part("a"), [await box_system.key("box", "a")]
    )
    assert (past.complete, past.evaluations, past.lines) == (False, {}, ())
