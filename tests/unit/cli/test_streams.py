"""What a command prints arrives whole, however slow its reader is and whatever interrupts the write."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from intentc.cli.process_edges import WholeWrites, write_wholly

_TICKS = 0.3
"""Seconds in which the budget's timer ticks several times."""
_GROUP = """\
- kind: security_group
  data:
    fq_name: [default-domain, default-project, group-{number}]
    parent_type: project
    security_group_entries:
      policy_rule:
      - direction: ">"
        protocol: tcp
        src_addresses: [{{security_group: local}}]
        dst_addresses: [{{subnet: {{ip_prefix: 10.0.0.0, ip_prefix_len: 8}}}}]
        dst_ports: [{{start_port: 80, end_port: 80}}]
        ethertype: IPv4
"""


@pytest.mark.parametrize(("unbuffered", "blocking"), [("1", True), ("", False)])
def test_a_slow_reader_gets_everything(tmp_path: Path, unbuffered: str, blocking: bool) -> None:
    """More than a pipe holds, so that the write is under way when the timer ticks."""
    resources = tmp_path / "groups.yml"
    resources.write_text("resources:\n" + "".join(_GROUP.format(number=n) for n in range(100)))
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    process = subprocess.Popen(
        [sys.executable, "-m", "intentc.cli", "compile", "-o", "json", str(resources)],
        stdout=writing,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        first = pipe.read(1)
        time.sleep(_TICKS)
        out = first + pipe.readall()
    assert process.wait() == 0
    assert len(out) > 3 * 2**16 / 2
    assert len(msgspec.json.decode(out)["resources"]) == 200


def test_a_reader_that_goes_away_is_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as raw, pytest.raises(BrokenPipeError):
        WholeWrites(raw).write(b"x")


def test_a_full_descriptor_that_does_not_block_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    read: list[bytes] = []

    def read_all() -> None:
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            read.append(pipe.readall())

    reader = threading.Thread(target=read_all)
    with os.fdopen(writing, "wb", buffering=0) as raw:
        reader.start()
        assert WholeWrites(raw).write(memoryview(b"x" * 2**20)) == 2**20
    reader.join()
    assert read == [b"x" * 2**20]


def test_streams_that_are_no_plain_files_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = io.StringIO()
    monkeypatch.setattr(sys, "stdout", memory)
    monkeypatch.setattr(sys, "stderr", None)
    write_wholly()
    assert sys.stdout is memory
    assert sys.stderr is None
