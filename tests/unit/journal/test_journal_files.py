"""The ring of files: lines are found again, whatever happened to the process that kept them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from intentc.journal import Entry, Write
from intentc.journal.records import encoded, mark_of_object, mark_of_resource, record
from intentc.journal.ring import JournalFiles, UnusableDirectory, newest_first, search, this_process
from intentc.model import Key, Name

GROUP, OTHER = Key("group", "g1"), Key("group", "g2")
RULES, MORE = Name("rules", ("a", "b")), Name("rules", ("a", "bc"))


def ring(directory: Path, process: str = "host-1", files: int = 3, file_bytes: int = 10_000) -> JournalFiles:
    return JournalFiles(directory, files=files, file_bytes=file_bytes, process=this_process("lab", process, 1.0))


def text(line: Entry | Write) -> bytes:
    return encoded(record(line, lambda key: f"name-of-{key.uuid}", lambda entry: False))


def evaluated(revision: int, *objects: Name, origin: Key = GROUP) -> Entry:
    return Entry(revision, origin, (OTHER, origin), "done", len(objects), objects, 100.0 + revision, revision)


def revisions(directory: Path, *marks: bytes) -> list[int]:
    return [found.record.revision for found in search(directory, marks)]


def test_a_line_comes_back_as_it_was_with_the_names_of_its_time(tmp_path: Path) -> None:
    files = ring(tmp_path)
    entry, write = evaluated(7, RULES), Write(7, RULES, "update", 8, True, 108.0, "r1", ("rules",))
    files.append(text(entry) + text(write))
    found = list(search(tmp_path, [mark_of_object(RULES)]))
    assert [one.record.line() for one in found] == [write, entry]
    assert found[1].record.names() == {GROUP: "name-of-g1", OTHER: "name-of-g2"}
    assert {one.writer for one in found} == {"lab/host-1"}


def test_only_lines_about_what_is_asked_for_are_found(tmp_path: Path) -> None:
    files = ring(tmp_path)
    files.append(text(evaluated(1, RULES)) + text(evaluated(2, MORE)) + text(evaluated(3, origin=Key("group", "g3"))))
    assert revisions(tmp_path, mark_of_object(RULES)) == [1]
    assert revisions(tmp_path, mark_of_resource(GROUP)) == [2, 1]
    assert revisions(tmp_path, mark_of_resource(OTHER)) == [3, 2, 1]
    assert revisions(tmp_path, mark_of_object(Name("rules", ("b",)))) == []


def test_the_newest_lines_come_first_over_all_files(tmp_path: Path) -> None:
    files = ring(tmp_path, files=100)
    for revision in range(200):
        files.append(text(evaluated(revision, RULES, MORE)))
    assert len(list(newest_first(tmp_path))) > 3
    assert revisions(tmp_path, mark_of_object(RULES), mark_of_object(MORE)) == list(range(199, -1, -1))


def test_the_oldest_files_go(tmp_path: Path) -> None:
    files = ring(tmp_path, files=3)
    for revision in range(1_000):
        files.append(text(evaluated(revision, RULES)))
    paths = list(newest_first(tmp_path))
    assert len(paths) == 3
    assert all(path.stat().st_size <= 10_000 for path in paths)
    kept = revisions(tmp_path, mark_of_object(RULES))
    assert kept == list(range(999, 999 - len(kept), -1))


def test_many_lines_at_once_are_spread_over_files(tmp_path: Path) -> None:
    files = ring(tmp_path, files=100)
    files.append(b"".join(text(evaluated(revision, RULES)) for revision in range(300)))
    assert all(path.stat().st_size <= 10_000 for path in newest_first(tmp_path))
    assert revisions(tmp_path, mark_of_object(RULES)) == list(range(299, -1, -1))


def test_a_line_larger_than_a_file_gets_one_of_its_own(tmp_path: Path) -> None:
    files = ring(tmp_path)
    large = evaluated(2, *(Name("rules", (f"{number:050}",)) for number in range(400)), RULES)
    files.append(text(evaluated(1, RULES)) + text(large) + text(evaluated(3, RULES)))
    assert revisions(tmp_path, mark_of_object(RULES)) == [3, 2, 1]


def test_the_next_process_goes_on_with_the_newest_file(tmp_path: Path) -> None:
    for number in range(5):
        files = ring(tmp_path, process=f"host-{number}")
        files.append(text(evaluated(number, RULES)))
        files.close()
    assert len(list(newest_first(tmp_path))) == 1
    found = list(search(tmp_path, [mark_of_object(RULES)]))
    assert [one.writer for one in found] == [f"lab/host-{number}" for number in (4, 3, 2, 1, 0)]


def test_a_torn_last_line_is_passed_over_and_spoils_no_other(tmp_path: Path) -> None:
    files = ring(tmp_path)
    files.append(text(evaluated(1, RULES)))
    files.close()
    (path,) = newest_first(tmp_path)
    with path.open("ab") as torn:
        torn.write(text(evaluated(2, RULES))[:-20])
    assert revisions(tmp_path, mark_of_object(RULES)) == [1]
    again = ring(tmp_path)
    again.append(text(evaluated(3, RULES)))
    assert revisions(tmp_path, mark_of_object(RULES)) == [3, 1]


@pytest.mark.parametrize("rubbish", [b"\n\n", b'{"sort":"evaluation"}\n', b"\x00\xff rubbish\n", b'{"sort":"moon"}\n'])
def test_rubbish_in_a_file_is_passed_over(tmp_path: Path, rubbish: bytes) -> None:
    files = ring(tmp_path)
    files.append(text(evaluated(1, RULES)) + rubbish.replace(b"}", mark_of_object(RULES) + b"}"))
    files.append(text(evaluated(2, RULES)))
    assert revisions(tmp_path, mark_of_object(RULES)) == [2, 1]


def test_two_processes_write_journal_files_of_their_own(tmp_path: Path) -> None:
    quiet, busy = ring(tmp_path, "host-1"), ring(tmp_path, "host-2")
    quiet.append(text(evaluated(1, MORE)))
    for revision in range(500):
        busy.append(text(evaluated(revision, RULES)))
    found = list(search(tmp_path, [mark_of_object(MORE)]))
    assert [(one.record.revision, one.writer) for one in found] == [(1, "lab/host-1")]
    assert {one.writer for one in search(tmp_path, [mark_of_object(RULES)])} == {"lab/host-2"}


def test_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    directory = tmp_path / "state" / "journal"
    ring(directory).append(text(evaluated(1, RULES)))
    (path,) = newest_first(directory)
    assert (directory.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


def test_a_link_in_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    directory = tmp_path / "journal"
    directory.mkdir()
    (directory / "journal-00000001.jsonl").symlink_to(target)
    ring(directory).append(text(evaluated(1, RULES)))
    assert target.read_text() == "precious"
    assert revisions(directory, mark_of_object(RULES)) == [1]


def test_a_directory_that_cannot_be_written_is_an_error_that_names_the_key(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnusableDirectory, match=r"file/journal: .*; set intentc.journal.directory"):
        ring(tmp_path / "file" / "journal")


def test_a_failed_write_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ring(tmp_path)
    files.append(text(evaluated(1, RULES)))
    write = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) <= 100:
            raise OSError(28, "No space left on device")
        return write(file, bytes(data)[: len(data) // 2])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        files.append(text(evaluated(2, RULES)))
    monkeypatch.undo()
    files.append(text(evaluated(3, RULES)))
    (path,) = newest_first(tmp_path)
    assert len(path.read_bytes().splitlines()) == 3
    assert revisions(tmp_path, mark_of_object(RULES)) == [3, 1]


def test_a_full_disk_stops_no_start_and_is_tried_again_without_leaving_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    opened = _open_files()
    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        files = ring(tmp_path / "journal")
        assert files.lack is not None
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                files.append(text(evaluated(1, RULES)))
        assert list(newest_first(tmp_path / "journal")) == []
    assert _open_files() == opened
    files.append(text(evaluated(2, RULES)))
    assert revisions(tmp_path / "journal", mark_of_object(RULES)) == [2]


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_search_reads_no_more_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ring(tmp_path, files=100)
    for revision in range(300):
        files.append(text(evaluated(revision, RULES)))
    monkeypatch.setattr("intentc.journal.ring.MOST_BYTES", 25_000)
    found = revisions(tmp_path, mark_of_object(RULES))
    assert 0 < len(found) < 150
    assert found[0] == 299


def test_a_search_where_there_is_nothing_finds_nothing(tmp_path: Path) -> None:
    assert revisions(tmp_path / "nowhere", mark_of_object(RULES)) == []


def test_what_stands_across_two_windows_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.journal.ring._WINDOW", 64)
    files = ring(tmp_path)
    files.append(b"".join(text(evaluated(revision, RULES)) for revision in range(30)))
    assert revisions(tmp_path, mark_of_object(RULES)) == list(range(29, -1, -1))
