"""What is remembered comes in the order in which it happened, whatever clocks said, and without files that hang."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from intentc.inspection.history import history_of
from intentc.inspection.why import _evaluations, _fitting, why
from intentc.journal import Entry, Line, Write
from intentc.journal.records import encoded, record
from intentc.journal.ring import JournalFiles, this_process
from intentc.model import Key
from tests.support.box_system import BoxSystem, part
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

AHEAD = time.time() + 1_000_000
"""What a clock said that was wrong."""


@pytest.fixture
async def box_system(tmp_path: Path) -> AsyncIterator[BoxSystem]:
    """One with a box and its part, and a directory for files that this process has written nothing to yet."""
    box_system = await BoxSystem().begin()
    await box_system.boxes("a")
    box_system.engine.journal.directory = tmp_path
    box_system.engine.journal.writer = "lab/host-1"
    yield box_system
    box_system.close()


def keep(directory: Path, process: str, *lines: Line) -> JournalFiles:
    """What a process kept that has not ended."""
    files = JournalFiles(directory, files=9, file_bytes=100_000, process=this_process("lab", process, 1.0))
    files.append(b"".join(encoded(record(line, lambda key: key.uuid, lambda entry: False)) for line in lines))
    return files


def wrote(written: int, at: float, revision: int = 1) -> Write:
    return Write(revision, part("a"), "update", written, at=at)


async def history(box_system: BoxSystem) -> list[tuple[str, int | None]]:
    """Whose lines, with the revisions that they wrote."""
    past = await history_of(
        box_system.engine.world, box_system.engine.journal, part("a"), [await box_system.key("box", "a")]
    )
    return [(one.by, one.line.written if isinstance(one.line, Write) else None) for one in past.lines]


def here(box_system: BoxSystem) -> list[tuple[str, int | None]]:
    writes = [line.written for line in box_system.engine.journal if isinstance(line, Write)]
    return [("lab/host-1", None), ("lab/host-1", writes[-1])]


@pytest.mark.parametrize("process", ["host-0", "host-1"])
async def test_this_process_comes_after_former_ones_though_their_clock_was_ahead(
    box_system: BoxSystem, tmp_path: Path, process: str
) -> None:
    keep(tmp_path, process, wrote(1, AHEAD), wrote(2, AHEAD + 1)).close()
    assert await history(box_system) == [(f"lab/{process}", 1), (f"lab/{process}", 2), *here(box_system)]


async def test_lines_of_one_process_stay_as_it_wrote_them_though_its_clock_went_back(
    box_system: BoxSystem, tmp_path: Path
) -> None:
    keep(tmp_path, "host-0", wrote(1, 300.0), wrote(2, AHEAD), wrote(3, 200.0)).close()
    assert [written for _, written in await history(box_system)][:3] == [1, 2, 3]


async def test_lines_of_processes_that_ran_at_once_are_ordered_by_what_was_applied(
    box_system: BoxSystem, tmp_path: Path
) -> None:
    one = keep(tmp_path, "host-8", wrote(1, AHEAD, revision=1), wrote(3, AHEAD, revision=3))
    other = keep(tmp_path, "host-9", wrote(2, 10.0, revision=2), wrote(4, 11.0, revision=4))
    one.close()
    other.close()
    assert [written for _, written in await history(box_system)][:4] == [1, 2, 3, 4]


async def test_the_last_write_is_this_process_s_though_another_s_clock_was_ahead(
    box_system: BoxSystem, tmp_path: Path
) -> None:
    keep(tmp_path, "host-0", wrote(1, AHEAD)).close()
    answer = await why(box_system.engine, "part", "a:one")
    assert answer["written"]["revision"] == here(box_system)[-1][1]
    assert answer["history"][-1]["written"] == here(box_system)[-1][1]


async def test_the_evaluation_of_this_process_is_the_latest_though_another_s_clock_was_ahead(
    box_system: BoxSystem, tmp_path: Path
) -> None:
    former = Key("box", "gone")
    keep(tmp_path, "host-0", Entry(1, former, (), "done", 1, (part("a"),), AHEAD)).close()
    a = await box_system.key("box", "a")
    past = await history_of(box_system.engine.world, box_system.engine.journal, part("a"), [former, a])
    assert past.evaluations.keys() == {former, a}
    assert [one["intent"]["uuid"] for one in _evaluations(box_system.engine, [former, a], past)] == [
        a.uuid,
        "gone",
    ]


def test_a_history_that_is_too_long_keeps_its_newest_lines() -> None:
    answer = defaultdict(list, history=[f"{number:02}" * 10_000 for number in range(16)])
    assert [line[:2] for line in _fitting(answer)["history"]] == [f"{number:02}" for number in range(8, 16)]


@pytest.fixture
def hung(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Searches hang until the end of the test; the event is set once one does."""
    begun, end = threading.Event(), threading.Event()

    def hang(*_: object) -> Iterator[object]:
        begun.set()
        end.wait(9 * PATIENCE)
        return iter(())

    monkeypatch.setattr("intentc.inspection.history.search_files", hang)
    yield begun
    end.set()
    for thread in threading.enumerate():
        if thread.name == "journal search":
            thread.join(PATIENCE)


async def until(event: threading.Event) -> None:
    with anyio.fail_after(PATIENCE):
        while not event.is_set():  # noqa: ASYNC110 - it is another thread's
            await anyio.sleep(0.01)


async def test_a_task_that_waits_for_a_hanging_read_can_be_cancelled(
    box_system: BoxSystem, hung: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.inspection.history._WAIT", 9 * PATIENCE)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(history, box_system)
            await until(hung)
            group.cancel_scope.cancel()
    assert group.cancel_scope.cancel_called


async def test_files_that_hang_are_gone_without_and_that_is_said_once(
    box_system: BoxSystem, hung: threading.Event, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("intentc.inspection.history._WAIT", 0.05)
    for _ in range(12):
        assert await history(box_system) == here(box_system)
    assert hung.is_set()
    assert [one.getMessage() for one in caplog.records if "in time" in one.getMessage()] == [
        f"the journal's files in {box_system.engine.journal.directory} can't be read in time; answering without them"
    ]


async def test_only_so_many_threads_hang(
    box_system: BoxSystem, hung: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.inspection.history._WAIT", 0.01)
    for _ in range(12):
        await history(box_system)
    assert hung.is_set()
    assert 1 <= sum(thread.name == "journal search" for thread in threading.enumerate()) <= 8


async def test_an_error_of_a_search_reaches_the_caller(box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Iterator[object]:
        raise ZeroDivisionError

    monkeypatch.setattr("intentc.inspection.history.search_files", broken)
    with pytest.raises(ZeroDivisionError):
        await history(box_system)
