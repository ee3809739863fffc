"""The next process finds what a process was evaluating when it died, and nothing else."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import closing
from pathlib import Path

import pytest

from intentc.evaluation import CrashMarker, state_directory
from intentc.model import Key

BOX = Key("box", "1-2-3")
OTHER = Key("box", "4-5-6")


def die(crash_marker: CrashMarker) -> None:
    """Let go of the lock and of nothing else, as the end of a process does."""
    assert crash_marker._file is not None
    os.close(crash_marker._file)
    crash_marker._file = None
    crash_marker._memory.close()  # type: ignore[union-attr]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "intentc"


def suspects(directory: Path, installation: str = "here") -> tuple[Key, ...]:
    with closing(CrashMarker.open(directory, installation)) as crash_marker:
        return crash_marker.suspects


def test_the_key_under_evaluation_is_a_suspect_once(directory: Path) -> None:
    crash_marker = CrashMarker.open(directory, "here")
    crash_marker.begin(BOX)
    die(crash_marker)
    assert suspects(directory) == (BOX,)
    assert suspects(directory) == ()


def test_an_evaluation_that_ended_leaves_no_suspect(directory: Path) -> None:
    crash_marker = CrashMarker.open(directory, "here")
    crash_marker.begin(BOX)
    crash_marker.end()
    die(crash_marker)
    assert suspects(directory) == ()


def test_the_last_key_counts_however_long_the_one_before_was(directory: Path) -> None:
    crash_marker = CrashMarker.open(directory, "here")
    crash_marker.begin(Key("box", "x" * 500))
    crash_marker.end()
    crash_marker.begin(BOX)
    die(crash_marker)
    assert suspects(directory) == (BOX,)


def test_the_living_are_left_alone(directory: Path) -> None:
    with closing(CrashMarker.open(directory, "here")) as living:
        living.begin(BOX)
        assert suspects(directory) == ()
        dying = CrashMarker.open(directory, "here")
        dying.begin(OTHER)
        die(dying)
        assert suspects(directory) == (OTHER,)


def test_several_dead_processes_have_several_suspects(directory: Path) -> None:
    slots = [CrashMarker.open(directory, "here") for _ in range(3)]
    for crash_marker, key in zip(slots, (OTHER, BOX, BOX), strict=True):
        crash_marker.begin(key)
    for crash_marker in slots:
        die(crash_marker)
    assert suspects(directory) == (BOX, OTHER)


def test_installations_do_not_see_each_other(directory: Path) -> None:
    crash_marker = CrashMarker.open(directory, "here")
    crash_marker.begin(BOX)
    die(crash_marker)
    assert suspects(directory, "he") == ()
    assert suspects(directory, "here.too") == ()
    assert suspects(directory) == (BOX,)


def test_a_process_that_ends_in_peace_leaves_no_file(directory: Path) -> None:
    crash_marker = CrashMarker.open(directory, "here")
    crash_marker.begin(BOX)
    crash_marker.close()
    crash_marker.close()
    assert [path.name for path in directory.iterdir()] == ["lock"]


def test_nobody_else_may_look(directory: Path) -> None:
    with closing(CrashMarker.open(directory, "here")):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


@pytest.mark.parametrize("content", [b"", b"\1", b"\1\0\5hello", b"\1\0\2/x", b"\1\0\2x/", b"\1\xff\xffa/b\xff"])
def test_a_file_that_makes_no_sense_is_no_suspect_of_ours(directory: Path, content: bytes) -> None:
    directory.mkdir(parents=True)
    (directory / "here@broken.slot").write_bytes(content)
    assert all(key.kind == "a" for key in suspects(directory))
    assert not (directory / "here@broken.slot").exists()


def test_a_key_that_is_too_long_to_be_noted_is_not_noted(directory: Path) -> None:
    crash_marker = CrashMarker.open(directory, "here")
    crash_marker.begin(Key("box", "x" * 5000))
    die(crash_marker)
    assert suspects(directory) == ()


def test_without_a_directory_it_goes_on_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("in the way")
    with caplog.at_level(logging.WARNING):
        crash_marker = CrashMarker.open(tmp_path / "file" / "intentc", "here")
    crash_marker.begin(BOX)
    crash_marker.end()
    crash_marker.close()
    assert crash_marker.suspects == ()
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "the next process won't know what this one evaluates when it dies"
    ]


@pytest.mark.parametrize(
    ("environment", "directory"),
    [
        ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "XDG_STATE_HOME": "/state"}, "/var/lib/a"),
        ({"XDG_STATE_HOME": "/state"}, "/state/intentc"),
        ({}, "~/.local/state/intentc"),
    ],
)
def test_where_state_is_kept(environment: dict[str, str], directory: str) -> None:
    assert state_directory(environment) == Path(directory)
