"""SIGHUP to ``intentc run`` as a process, while it starts and while files can't be read; no etcd is needed for that."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.support.commands import PROGRAM, ROOT
from tests.support.processes import environment_with

WITHIN = 60.0
_HANGS = """
import sys, threading
from pathlib import Path
from intentc.loading import yaml

read, stalled = yaml.read_text, Path(sys.argv.pop())

def hanging(path, *arguments, **further):
    if stalled.exists():
        print("reading hangs", file=sys.stderr, flush=True)
        threading.Event().wait()
    return read(path, *arguments, **further)

yaml.read_text = hanging
from intentc.cli import main
main()
"""


class Process:
    """One that was started with a configuration whose etcd and API server are away."""

    def __init__(self, folder: Path, program: list[str], *further: str) -> None:
        configuration = folder / "contrail.yml"
        sections = {
            "etcd": {"endpoints": ["127.0.0.1:1"], "dial_timeout": "1s"},
            "client": {"endpoint": "http://127.0.0.1:1"},
            "log_level": "info",
            "intentc": {"diagnostics": {"address": "127.0.0.1:0"}},
        }
        configuration.write_bytes(msgspec.json.encode(sections))
        self._file = folder / "log"
        with self._file.open("wb") as stream:
            self.process = subprocess.Popen(
                [*program, "--config-file", str(configuration), "run", *further],
                cwd=ROOT,
                env=environment_with({"STATE_DIRECTORY": str(folder)}),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )

    @property
    def log(self) -> str:
        return self._file.read_text()

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + WITHIN
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, self.log
            time.sleep(0.01)

    def says(self, text: str) -> bool:
        return text in self.log

    def handles_hang_ups(self) -> bool:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        return bool(caught & 1 << signal.SIGHUP - 1)

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    started: list[Process] = []

    def begin(program: list[str], *further: str) -> Process:
        started.append(Process(tmp_path, program, *further))
        return started[-1]

    yield begin
    for process in started:
        process.process.kill()
        process.process.wait()


def test_a_sighup_during_the_start_causes_a_reload(start: Callable[..., Process]) -> None:
    service = start(PROGRAM)
    service.until(service.handles_hang_ups)
    assert not service.says("diagnostics at")
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: service.says("diagnostics at"))
    service.until(lambda: service.says('"reloaded"'))
    assert service.terminate() == 0


REJECTED: list[tuple[dict[str, dict[str, object]], str]] = [
    ({"intentc": {"compilers": ["contrial"]}}, "there is no compiler 'contrial'; did you mean contrail?"),
    ({"etcd": {"tls": {"enabled": True, "trusted_ca_path": "/nowhere/ca.pem"}}}, "/nowhere/ca.pem"),
    ({"client": {"tls": {"enabled": True, "trusted_ca_path": "/nowhere/ca.pem"}}}, "/nowhere/ca.pem"),
    ({"intentc": {"diagnostics": {"tls": {"cert": "/nowhere/c.pem", "key": "/nowhere/k.pem"}}}}, "/nowhere/c.pem"),
    ({"intentc": {"schemas": ["/nowhere/schemas"]}}, "/nowhere/schemas"),
    ({"compilation": {"enabled": False}}, "compilation.enabled is false"),
]
"""Sections of a configuration, and what is said of them."""


def test_a_reload_rejects_what_a_start_rejects(start: Callable[..., Process], tmp_path: Path) -> None:
    """One process meets all of them: a rejection leaves it as it was."""
    service = start(PROGRAM)
    service.until(lambda: service.says("diagnostics at"))
    file = tmp_path / "contrail.yml"
    former = file.read_bytes()
    for sections, words in REJECTED:
        file.write_bytes(_changed(former, sections))
        assert words in _rejection(service)
    assert service.terminate() == 0


def _changed(former: bytes, sections: dict[str, dict[str, object]]) -> bytes:
    document = msgspec.json.decode(former)
    for name, section in sections.items():
        if name == "client":
            section = {"endpoint": "https://127.0.0.1:1", **section}
        document[name] = {**document.get(name, {}), **section}
    return msgspec.json.encode(document)


def _rejection(service: Process) -> str:
    """Ask for a reload; what the process says until it has rejected it."""
    before = len(service.log)
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: "reload rejected, the former configuration stays in force" in service.log[before:])
    return service.log[before:]


def test_sigterm_ends_it_though_a_reload_hangs_in_a_file(start: Callable[..., Process], tmp_path: Path) -> None:
    stalled = tmp_path / "stalled"
    service = start([sys.executable, "-c", _HANGS], str(stalled))
    service.until(lambda: service.says("diagnostics at"))
    stalled.touch()
    service.process.send_signal(signal.SIGHUP)
    service.until(lambda: service.says("reading hangs"))
    assert service.terminate() == 0
    assert service.says("ending without waiting for what hangs")
