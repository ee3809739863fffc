"""What the kernel proves about another process, and what it does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from intentc.leading.leader_key import Leader, leader_value, read_leader, read_versions
from intentc.leading.process_identity import ProcessIdentity, can_be_judged, is_dead, read_identity, this_process

_PRINTS_ITSELF = """
import sys, time
from intentc.leading.leader_key import Leader, leader_value, read_leader, read_versions
from intentc.leading.process_identity import this_process
print(leader_value(Leader("child"), {}, 0.0, this_process()).decode(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def own() -> ProcessIdentity:
    own = this_process()
    assert own is not None
    return own


@pytest.fixture
def child() -> Iterator[tuple[subprocess.Popen[str], ProcessIdentity]]:
    """Another process of this machine, with what its leader's key would say."""
    process = subprocess.Popen([sys.executable, "-c", _PRINTS_ITSELF], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    identity = read_identity(process.stdout.readline().encode())
    assert identity is not None
    try:
        yield process, identity
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_only_a_process_that_has_ended_is_dead(
    child: tuple[subprocess.Popen[str], ProcessIdentity], own: ProcessIdentity
) -> None:
    process, identity = child
    assert identity.pid == process.pid
    assert can_be_judged(identity, own)
    assert not is_dead(identity, own)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    assert not is_dead(identity, own), "stopped"
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(identity, own), "a zombie whose parent has not asked for it"
    process.wait()
    assert is_dead(identity, own), "gone"


def test_a_process_id_that_was_given_again_belongs_to_another_process(
    child: tuple[subprocess.Popen[str], ProcessIdentity], own: ProcessIdentity
) -> None:
    assert is_dead(child[1]._replace(started=child[1].started - 1), own)


def test_nothing_is_proved_of_another_boot_or_namespace(own: ProcessIdentity) -> None:
    gone = own._replace(pid=2**30)
    assert is_dead(gone, own), "by its process id alone it is"
    for elsewhere in (gone._replace(boot="other"), gone._replace(pid_namespace=5), gone._replace(time_namespace=5)):
        assert not can_be_judged(elsewhere, own)
        assert not is_dead(elsewhere, own)


def test_nothing_is_proved_where_something_is_unknown(own: ProcessIdentity) -> None:
    gone = own._replace(pid=2**30)
    assert not is_dead(None, own)
    assert not is_dead(gone, None)
    assert not is_dead(gone._replace(boot=""), own._replace(boot=""))
    assert not is_dead(gone._replace(pid=2**70), own)
    assert not is_dead(own, own)


def test_a_process_that_proc_hides_is_not_dead(
    child: tuple[subprocess.Popen[str], ProcessIdentity], own: ProcessIdentity, tmp_path: Path
) -> None:
    assert not is_dead(child[1], own, tmp_path)


@pytest.mark.parametrize(
    ("state", "threads", "dead"), [("Z", 1, True), ("X", 0, True), ("Z", 2, False), ("T", 1, False), ("D", 1, False)]
)
def test_a_zombie_is_dead_once_its_threads_are(
    own: ProcessIdentity, tmp_path: Path, state: str, threads: int, dead: bool
) -> None:
    parent = own._replace(pid=os.getppid())
    fields = [state, *["0"] * 16, str(threads), "0", str(parent.started), "0"]
    (tmp_path / str(parent.pid)).mkdir()
    (tmp_path / str(parent.pid) / "stat").write_text(f"{parent.pid} (odd ) name) {' '.join(fields)}\n")
    assert is_dead(parent, own, tmp_path) is dead


def test_a_proc_of_another_namespace_or_none_gives_no_identity(tmp_path: Path) -> None:
    assert this_process(tmp_path) is None
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "stat").write_text(Path("/proc/1/stat").read_text())
    assert this_process(tmp_path) is None


def test_the_leaders_key_carries_the_identity(own: ProcessIdentity) -> None:
    assert read_identity(leader_value(Leader("p"), {}, 0.0, own)) == own
    assert read_identity(leader_value(Leader("p"), {}, 0.0)) is None
    for garbage in (b"\xff", b"[" * 100_000):
        assert read_identity(garbage) is None
        assert read_leader(garbage).process == "unknown"
        assert read_versions(garbage) is None
