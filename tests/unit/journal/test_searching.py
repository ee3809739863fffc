"""A search lives with whatever lies in its directory, and with files that change under it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from intentc.journal import Entry
from intentc.journal.records import Voided, encoded, mark_of_object, record
from intentc.journal.ring import JournalFiles, newest_first, search, this_process
from intentc.model import Key, Name

GROUP = Key("group", "g1")
RULES, OTHER = Name("rules", ("a", "b")), Name("rules", ("other",))


def ring(directory: Path, process: str = "host-1", files: int = 3, file_bytes: int = 10_000) -> JournalFiles:
    return JournalFiles(directory, files=files, file_bytes=file_bytes, process=this_process("lab", process, 1.0))


def lines(*revisions: int, name: Name = RULES, at: float = 1.0, objects: int = 1) -> bytes:
    return b"".join(
        encoded(record(Entry(one, GROUP, (), "done", 1, (name,) * objects, at), lambda key: key.uuid, lambda _: False))
        for one in revisions
    )


def found_in(directory: Path) -> list[int]:
    return [found.record.revision for found in search(directory, [mark_of_object(RULES)])]


@pytest.fixture(params=["all", "half a line", "lines"])
def cut(request: pytest.FixtureRequest) -> Callable[[Path], int]:
    """Cuts a file of ten equal lines off; how many whole lines are left."""

    def cut_off(path: Path) -> int:
        text = path.read_bytes()
        line = len(lines(1))
        left = {"all": 0, "half a line": text.index(b"\n") + 1 + 3 * line + line // 2, "lines": len(text) - 3 * line}
        os.truncate(path, left[request.param])
        return max(0, path.read_bytes().count(b"\n") - 1)

    return cut_off


@pytest.mark.parametrize("window", [100, 500])
def test_truncating_a_file_during_a_search_ends_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: Callable[[Path], int], window: int
) -> None:
    monkeypatch.setattr("intentc.journal.ring._WINDOW", window)
    ring(tmp_path).append(lines(*range(10)))
    (path,) = newest_first(tmp_path)
    searching = search(tmp_path, [mark_of_object(RULES)])
    assert next(searching).record.revision == 9
    left = cut(path)
    rest = [found.record.revision for found in searching]
    assert rest == sorted(rest, reverse=True)
    assert set(rest) >= set(range(left)) - {9}
    assert found_in(tmp_path) == list(range(left))[::-1]


@pytest.mark.parametrize("window", [1, 2, 3, 7, 64, 100, 1_000, 100_000])
def test_lines_are_whole_wherever_a_window_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int) -> None:
    for number in range(3):
        files = ring(tmp_path, f"host-{number}", file_bytes=100_000)
        files.append(lines(3 * number) + lines(7, name=OTHER) + lines(3 * number + 1, objects=9) + b"\n")
        files.append(lines(3 * number + 2))
        files.close()
    monkeypatch.setattr("intentc.journal.ring._WINDOW", window)
    found = [(one.record.revision, one.writer) for one in search(tmp_path, [mark_of_object(RULES), b'"done"'])]
    assert found == [
        (revision, f"lab/host-{number}")
        for number in (2, 1, 0)
        for revision in (3 * number + 2, 3 * number + 1, 7, 3 * number)
    ]


def test_a_line_beyond_all_measure_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.journal.ring._WINDOW", 100)
    monkeypatch.setattr("intentc.journal.ring._LONGEST_LINE", 2_000)
    ring(tmp_path, file_bytes=100_000).append(lines(1) + lines(2, objects=500) + lines(3))
    assert found_in(tmp_path) == [3, 1]


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def link(path: Path) -> None:
    path.symlink_to("/dev/zero")


MADE = pytest.mark.parametrize("make", [Path.mkdir, pipe, unix_socket, link])


@MADE
def test_what_is_no_file_is_passed_over_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, make: Callable[[Path], None]
) -> None:
    caplog.set_level(logging.INFO)
    ring(tmp_path).append(lines(1, 2))
    make(tmp_path / "journal-00000098.jsonl")
    assert found_in(tmp_path) == [2, 1]
    assert found_in(tmp_path) == [2, 1]
    (said,) = [one.getMessage() for one in caplog.records]
    assert said.startswith(f"the journal's files are searched without {tmp_path}/journal-00000098.jsonl: ")


@MADE
def test_a_ring_ignores_what_is_no_file_and_keeps_its_size(tmp_path: Path, make: Callable[[Path], None]) -> None:
    for number in (91, 92, 93, 94):
        make(tmp_path / f"journal-{number:08}.jsonl")
    for revision in range(300):
        files = ring(tmp_path)
        files.append(lines(revision))
        files.close()
    regular = [path for path in newest_first(tmp_path) if path.is_file() and not path.is_symlink()]
    assert len(regular) == 3
    assert len(list(newest_first(tmp_path))) == 7
    assert found_in(tmp_path)[:50] == list(range(299, 249, -1))


def test_a_file_that_cannot_be_read_hides_no_other_and_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    older, newer = ring(tmp_path, "host-1"), ring(tmp_path, "host-2")
    older.append(lines(1))
    newer.append(lines(2))
    broken = next(newest_first(tmp_path)).stat().st_ino
    pread = os.pread

    def failing(file: int, size: int, place: int) -> bytes:
        if os.fstat(file).st_ino == broken:
            raise OSError(5, "Input/output error")
        return pread(file, size, place)

    monkeypatch.setattr(os, "pread", failing)
    assert found_in(tmp_path) == [1]
    assert found_in(tmp_path) == [1]
    (said,) = [one.getMessage() for one in caplog.records]
    assert said.endswith("journal-00000002.jsonl: Input/output error")


def test_a_directory_that_is_none_yields_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    assert found_in(tmp_path / "file") == []
    assert "Not a directory" in caplog.text


def test_what_became_void_is_void_though_its_clock_was_ahead(tmp_path: Path) -> None:
    ring(tmp_path).append(lines(1, 2, 3, at=5_000.0) + encoded(Voided(100.0, 1)) + lines(2, at=101.0))
    assert found_in(tmp_path) == [2, 1]


def test_a_search_leaves_no_file_open(tmp_path: Path) -> None:
    ring(tmp_path).append(lines(*range(10)))
    Path(tmp_path / "journal-00000098.jsonl").mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    next(search(tmp_path, [mark_of_object(RULES)]))
    list(search(tmp_path, [mark_of_object(RULES)]))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_newest_file_is_read_whatever_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for older ones: a file may be larger than it."""
    older, newer = ring(tmp_path, "host-1"), ring(tmp_path, "host-2")
    older.append(lines(1))
    newer.append(lines(2, 3))
    monkeypatch.setattr("intentc.journal.ring.MOST_BYTES", 100)
    assert found_in(tmp_path) == [3, 2]
