"""The journal is written to files apart from the loop; neither a full nor a slow disk stops anything."""

from __future__ import annotations

import logging
from pathlib import Path

import anyio
import pytest
from pytest_mock import MockerFixture

from intentc.journal import Entry, Journal
from intentc.journal.journal import Kept
from intentc.journal.keeping import Keeping
from intentc.journal.records import Evaluation, mark_of_resource
from intentc.journal.ring import JournalFiles, search, this_process
from intentc.model import Key
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

GROUP = Key("group", "g1")


class KeptJournal:
    def __init__(self, directory: Path, size: int = 10_000) -> None:
        self.directory = directory
        self.journal = Journal(size)
        files = JournalFiles(directory, files=2, file_bytes=1_000_000, process=this_process("lab", "host-1", 1.0))
        self.keeping = Keeping(self.journal, files, lambda key: f"the {key.kind}", lambda revision: revision == 1)

    def add(self, *revisions: int) -> None:
        for revision in revisions:
            self.journal.add(Entry(revision, GROUP, (GROUP,), "done", 0, (), source_revision=revision))

    def kept(self) -> list[int]:
        return [found.record.revision for found in search(self.directory, [mark_of_resource(GROUP)])][::-1]


@pytest.fixture
def journalled(tmp_path: Path) -> KeptJournal:
    return KeptJournal(tmp_path)


async def until_written(journalled: KeptJournal, count: int) -> None:
    with anyio.fail_after(PATIENCE):
        while journalled.keeping.written < count:  # noqa: ASYNC110 - it has no event to wait for
            await anyio.sleep(0.01)


async def test_lines_are_in_the_files_soon(journalled: KeptJournal) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        journalled.add(1, 2)
        await until_written(journalled, 2)
        journalled.add(3)
        await until_written(journalled, 3)
        assert journalled.kept() == [1, 2, 3]
        group.cancel_scope.cancel()
    assert journalled.keeping.figures()["lost"] == 0


async def test_names_and_what_only_the_start_led_to_are_kept_with_a_line(journalled: KeptJournal) -> None:
    journalled.add(1, 2)
    journalled.keeping.end()
    records = [found.record for found in search(journalled.directory, [mark_of_resource(GROUP)])]
    assert all(isinstance(record, Evaluation) and record.intent.name == "the group" for record in records)
    assert [record.at_start for record in records if isinstance(record, Evaluation)] == [False, True]


async def test_what_is_left_at_the_end_is_kept(journalled: KeptJournal) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        journalled.add(*range(1, 1_201))
        group.cancel_scope.cancel()
    journalled.keeping.end()
    assert journalled.kept() == list(range(1, 1_201))


async def test_a_ring_that_runs_over_loses_lines_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journalled = KeptJournal(tmp_path, size=10)
    journalled.add(*range(1, 31))
    journalled.keeping.end()
    assert journalled.kept() == list(range(21, 31))
    assert (journalled.keeping.written, journalled.keeping.lost) == (10, 20)
    assert "20 lines of the journal were dropped" in caplog.text


async def test_lines_are_taken_from_a_small_ring_before_it_runs_over(tmp_path: Path) -> None:
    journalled = KeptJournal(tmp_path, size=40)
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        await anyio.wait_all_tasks_blocked()
        for revision in range(1, 1_001):
            journalled.add(revision)
            if revision % 10 == 0:
                await until_written(journalled, revision)
        group.cancel_scope.cancel()
    journalled.keeping.end()
    assert (journalled.keeping.written, journalled.keeping.lost) == (1_000, 0)


async def test_a_full_disk_stops_nothing_and_is_said_once(
    journalled: KeptJournal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("intentc.journal.keeping._PERIOD", 0.01)
    append, tries = JournalFiles.append, 0

    def full(self: JournalFiles, lines: bytes) -> None:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise OSError(28, "No space left on device")
        append(self, lines)

    monkeypatch.setattr(JournalFiles, "append", full)
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        journalled.add(1, 2)
        await until_written(journalled, 2)
        group.cancel_scope.cancel()
    assert journalled.kept() == [1, 2]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "No space left on device; it is tried again" in said[0]
    assert "again" in said[1]
    assert journalled.keeping.figures() | {"directory": ""} == {
        "directory": "",
        "written": 2,
        "lost": 0,
        "failures": 3,
        "last_error": None,
    }


async def test_a_full_disk_at_the_start_is_counted_logged_and_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("intentc.journal.keeping._PERIOD", 0.01)
    with monkeypatch.context() as disk:
        disk.setattr("intentc.journal.ring._written", _full)
        journalled = KeptJournal(tmp_path)
    assert (journalled.keeping.failures, journalled.keeping.failure) == (1, "No space left on device")
    assert "No space left on device; it is tried again" in caplog.text
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        journalled.add(1)
        await until_written(journalled, 1)
        group.cancel_scope.cancel()
    assert journalled.kept() == [1]
    assert journalled.keeping.failure is None


def _full(file: int, lines: bytes) -> int:
    raise OSError(28, "No space left on device")


async def test_lines_that_became_void_are_not_found_any_more_whatever_revisions_come_again(
    journalled: KeptJournal,
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        journalled.add(1, 2, 3, 4)
        await until_written(journalled, 4)
        journalled.journal.clear(revision=2)
        journalled.add(3)
        await until_written(journalled, 5)
        group.cancel_scope.cancel()
    journalled.keeping.end()
    assert journalled.kept() == [1, 2, 3]
    assert journalled.journal.last == 5


async def test_lines_of_a_void_past_are_neither_kept_nor_counted_as_lost(journalled: KeptJournal) -> None:
    journalled.add(1, 2)
    journalled.journal.clear()
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        with anyio.fail_after(PATIENCE):
            while journalled.keeping._sequence < 2:  # noqa: ASYNC110 - as above
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    journalled.keeping.end()
    assert (journalled.kept(), journalled.keeping.lost) == ([], 0)


@pytest.mark.parametrize("at_the_end", [False, True])
async def test_lines_that_a_restore_voids_do_not_count_as_lost(journalled: KeptJournal, at_the_end: bool) -> None:
    journalled.add(1, 2)
    journalled.journal.clear(revision=1)
    journalled.add(2, 3)
    if not at_the_end:
        async with anyio.create_task_group() as group:
            group.start_soon(journalled.keeping.run)
            await until_written(journalled, 2)
            group.cancel_scope.cancel()
    journalled.keeping.end()
    assert (journalled.kept(), journalled.keeping.lost, journalled.keeping.written) == ([2, 3], 0, 2)


async def test_a_restore_while_lines_are_gathered_makes_no_later_line_void(
    journalled: KeptJournal, mocker: MockerFixture
) -> None:
    mocker.patch("intentc.journal.keeping._SLICE", 2)
    after = journalled.journal.after

    def with_a_restore(sequence: int, limit: int) -> tuple[Kept, ...]:
        found = after(sequence, limit)
        if journalled.journal.void is None:
            journalled.journal.clear(revision=1)
            journalled.add(2, 3)
        return found

    mocker.patch.object(journalled.journal, "after", side_effect=with_a_restore)
    journalled.add(1, 2)
    async with anyio.create_task_group() as group:
        group.start_soon(journalled.keeping.run)
        await until_written(journalled, 4)
        group.cancel_scope.cancel()
    journalled.keeping.end()
    assert journalled.kept() == [1, 2, 3]
