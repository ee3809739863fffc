"""An evaluation that can't be cut off ends the process, with its stacks and a suspect. With real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from intentc.evaluation import CrashMarker
from tests.support.waiting import PATIENCE
from tests.unit.evaluation import held
from tests.unit.evaluation.toy import INSTALLATION, toy_world

Process = subprocess.Popen[str]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Process]]:
    started: list[Process] = []

    def begin(mode: str) -> Process:
        command = [sys.executable, "-m", held.__name__, mode, str(tmp_path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_an_intent_that_holds_the_interpreter_is_suspect_in_the_next_process(
    start: Callable[[str], Process], tmp_path: Path
) -> None:
    process = start("holds")
    _, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGPROF
    assert "held.py" in printed
    assert "in holds" in printed
    crash_marker = CrashMarker.open(tmp_path, INSTALLATION)
    assert crash_marker.suspects == (toy_world().put("box", "a"),)
    crash_marker.close()


def test_work_that_ends_in_time_may_take_any_time_in_all(start: Callable[[str], Process], tmp_path: Path) -> None:
    process = start("works")
    assert process.communicate(timeout=PATIENCE) == ("done\n", "")
    assert process.returncode == 0
    assert list(tmp_path.glob("*.slot")) == []


def test_a_process_that_was_stopped_goes_on_and_so_does_its_evaluation(start: Callable[[str], Process]) -> None:
    """Longer than the watchdog's time, and than an evaluation may take."""
    process = start("sleeps")
    assert process.stdout is not None
    assert process.stdout.readline() == "asleep\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(2 * held.LIMITS.wall_seconds)
    process.send_signal(signal.SIGCONT)
    assert process.communicate(timeout=PATIENCE) == ("done\n", "")


def test_a_process_that_is_killed_leaves_its_suspect(start: Callable[[str], Process], tmp_path: Path) -> None:
    process = start("sleeps")
    assert process.stdout is not None
    process.stdout.readline()
    process.kill()
    process.wait()
    crash_marker = CrashMarker.open(tmp_path, INSTALLATION)
    assert crash_marker.suspects == (toy_world().put("box", "a"),)
    crash_marker.close()
