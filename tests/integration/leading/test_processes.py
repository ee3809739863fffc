"""Take-over between real processes over a real etcd: killed, stopped and continued, terminated (F21)."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import anyio
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.etcd import EtcdStore
from intentc.watch.keys import leader_key
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.etcd

TTL = 2
LONG_TTL = 9 * round(PATIENCE)
"""Nobody here waits for the end of such a lease."""
PROGRAM = Path(__file__).with_name("candidate_process.py")
ROOT = PROGRAM.parents[3]


class Process:
    """One candidate; its lines with the time at which each came."""

    def __init__(self, endpoint: str, installation: str, name: str, ttl: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), endpoint, installation, name, str(ttl)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        )
        self._lines: Queue[tuple[float, str]] = Queue()
        self._reader = Thread(target=self._read)
        self._reader.start()

    def expect(self, beginning: str) -> tuple[float, str]:
        """The next line, which begins so, and when it came (monotonic)."""
        try:
            came, line = self._lines.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"no line in {PATIENCE:g} s; expected {beginning!r}") from None
        assert line.startswith(beginning), line
        return came, line

    def silent(self) -> bool:
        return self._lines.empty()

    def send(self, number: signal.Signals) -> float:
        """Send a signal; when."""
        self.process.send_signal(number)
        return time.monotonic()

    def end(self) -> None:
        """Let it resign, whatever state it is in; one that does not end is killed."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put((time.monotonic(), line.strip()))


class Group:
    """Processes of one installation."""

    def __init__(self, endpoint: str, ttl: int) -> None:
        self._endpoint = endpoint
        self._ttl = ttl
        self._installation = f"test-{uuid.uuid4()}"
        self.processes: list[Process] = []

    def start(self) -> Process:
        """One more, which stands when this returns."""
        process = Process(self._endpoint, self._installation, f"process-{len(self.processes)}", self._ttl)
        self.processes.append(process)
        process.expect("standing")
        return process

    def end(self) -> None:
        """End all. Nobody's leadership stays in the etcd that all tests share: it would keep services of later tests
        from claiming their path until its lease ends (``intentc/leading/path_claim.py``)."""
        for process in self.processes:
            process.end()
        assert not anyio.run(self._is_led)

    async def _is_led(self) -> bool:
        store = EtcdStore([self._endpoint])
        try:
            return bool((await store.range(leader_key(self._installation))).items)
        finally:
            await store.close()


@pytest.fixture
def group(etcd: Etcd, request: pytest.FixtureRequest) -> Iterator[Group]:
    group = Group(etcd.endpoint, getattr(request, "param", TTL))
    yield group
    group.end()


def test_a_killed_leader_is_replaced(group: Group) -> None:
    """Within its ttl and two seconds: that is proved in virtual time (``tests/unit/leading``) and measured by F21."""
    leader = group.start()
    leader.expect("won")
    standby = group.start()
    killed = leader.send(signal.SIGKILL)
    won, _ = standby.expect("won")
    print(f"take-over after SIGKILL, ttl {TTL} s: {won - killed:.2f} s")


@pytest.mark.parametrize("group", [LONG_TTL], indirect=True)
def test_a_leader_that_is_terminated_is_replaced_at_once(group: Group) -> None:
    leader = group.start()
    leader.expect("won")
    standby = group.start()
    terminated = leader.send(signal.SIGTERM)
    leader.expect("lost resigned")
    won, _ = standby.expect("won")
    print(f"take-over after SIGTERM: {won - terminated:.3f} s")
    assert leader.process.wait(PATIENCE) == 0


def test_a_suspended_leader_is_replaced_and_resumes_without_a_fence(group: Group) -> None:
    leader = group.start()
    _, first = leader.expect("won")
    standby = group.start()
    stopped = leader.send(signal.SIGSTOP)
    won, second = standby.expect("won")
    print(f"take-over after SIGSTOP: {won - stopped:.2f} s")
    assert int(first.rpartition("/")[2]) < int(second.rpartition("/")[2])
    leader.send(signal.SIGCONT)
    leader.expect("continued None")
    leader.expect("lost")
    assert standby.silent()
    # And it stands again: it follows when the other one ends.
    standby.send(signal.SIGTERM)
    standby.expect("lost resigned")
    leader.expect("won")
