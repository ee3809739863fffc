"""A real etcd of three members on this machine, for faults of the consensus below us: leaders killed, followers paused.

``intentc.dev.etcd_server`` starts single servers for people; a cluster is of use for tests alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2

from intentc.dev.child_process import free_ports
from intentc.dev.etcd_server import find_binary
from tests.support.waiting import PATIENCE

_MEMBERS = 3
_HEALTHY_WITHIN = PATIENCE


class Member:
    """One server; ``endpoint`` is ``127.0.0.1:port``, the same over restarts."""

    def __init__(self, folder: Path, name: str, client: int, peer: int) -> None:
        self.name = name
        self.endpoint = f"127.0.0.1:{client}"
        self.peer = f"http://127.0.0.1:{peer}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it has a process, be it stopped."""
        return self._process is not None

    def start(self, cluster: str, state: str) -> None:
        """``cluster`` and ``state``: ``--initial-cluster`` and ``--initial-cluster-state``, which count at the first
        start."""
        url = f"http://{self.endpoint}"
        arguments = [
            str(find_binary()),
            f"--name={self.name}",
            f"--data-dir={self._folder / self.name}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={self.peer}",
            f"--initial-advertise-peer-urls={self.peer}",
            f"--initial-cluster={cluster}",
            f"--initial-cluster-state={state}",
            "--max-txn-ops=1024",
            "--heartbeat-interval=50",
            "--election-timeout=500",
            "--logger=zap",
            "--log-level=warn",
        ]
        surroundings = {name: value for name, value in os.environ.items() if not name.startswith("ETCD_")}
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=surroundings, start_new_session=True
            )

    def kill(self) -> None:
        """As a crash would; safe to call twice, and while suspended."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def forget(self) -> None:
        """Its data are gone."""
        shutil.rmtree(self._folder / self.name)

    def suspend(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def status(self) -> dict[str, Any] | None:
        """``{"header": {"member_id"}, "leader", …}`` as the member sees it; None if it does not answer."""
        with suppress(httpx2.TransportError), httpx2.Client(trust_env=False, verify=False, timeout=1.0) as client:
            answer = client.post(f"http://{self.endpoint}/v3/maintenance/status", json={})
            return dict(answer.json()) if answer.status_code == 200 else None
        return None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


class Cluster:
    """Three members. All methods block."""

    def __init__(self, folder: Path) -> None:
        ports = iter(free_ports(2 * _MEMBERS))
        self.members = [Member(folder, f"member-{number}", next(ports), next(ports)) for number in range(_MEMBERS)]
        self._initial = ",".join(f"{member.name}={member.peer}" for member in self.members)

    @property
    def endpoints(self) -> list[str]:
        return [member.endpoint for member in self.members]

    def start(self, member: Member, state: str = "new") -> None:
        """Start one (again). ``state``: ``existing`` for one that joins the others without data."""
        member.start(self._initial, state)

    def leader(self) -> Member:
        """The member that leads now; waits for an election. Raises ``TimeoutError``."""
        until = time.monotonic() + _HEALTHY_WITHIN
        while time.monotonic() < until:
            for member in self.members:
                status = member.status()
                if status is not None and status.get("leader") == status["header"]["member_id"]:
                    return member
            time.sleep(0.05)
        raise TimeoutError(f"no leader within {_HEALTHY_WITHIN:g} s")

    def until_healthy(self) -> None:
        """Wait until all members follow one leader. Raises ``TimeoutError``."""
        until = time.monotonic() + _HEALTHY_WITHIN
        while time.monotonic() < until:
            found = [member.status() for member in self.members]
            leaders = {status.get("leader") for status in found if status is not None}
            if all(found) and len(leaders) == 1 and leaders != {None}:
                return
            time.sleep(0.05)
        raise TimeoutError(f"etcd is not healthy within {_HEALTHY_WITHIN:g} s: {found}")


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that has a leader; killed when the block is left."""
    with ExitStack() as stack:
        cluster = Cluster(folder)
        for member in cluster.members:
            stack.callback(member.kill)
            cluster.start(member)
        cluster.leader()
        yield cluster
    for member in cluster.members:
        shutil.rmtree(folder / member.name, ignore_errors=True)
