"""API servers as processes that may open few files."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from intentc.dev.etcd_server import Etcd
from tests.support.commands import PROGRAM, ROOT
from tests.support.processes import environment_with

FILES = 1_024


@contextmanager
def api_server_process(etcd: Etcd, folder: Path, path: str, **intentc: Any) -> Iterator[subprocess.Popen[bytes]]:
    """``intentc apiserver`` with few files; ``out`` and ``log`` in ``folder`` are what it prints and logs."""
    configuration = {
        "no_auth": True,
        "server": {"address": "127.0.0.1:0"},
        "intentc": intentc,
        "etcd": {"endpoints": [etcd.endpoint], "path": path},
    }
    (folder / "contrail.yml").write_bytes(msgspec.json.encode(configuration))
    program = [*PROGRAM, "--config-file", str(folder / "contrail.yml"), "apiserver"]
    with (folder / "log").open("wb") as errors, (folder / "out").open("wb") as printed:
        process = subprocess.Popen(
            ["sh", "-c", f'ulimit -n {FILES} && exec "$@"', "sh", *program],
            cwd=ROOT, env=environment_with({}), stdin=subprocess.DEVNULL, stdout=printed, stderr=errors,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
