"""Runs the kubectls of this machine against an API server, for tests of its Kubernetes-compatible API.

Use it where a real client must decide whether an answer is right. Tests that need one are skipped without any.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread

from .waiting import PATIENCE


def programs() -> list[str]:
    """The kubectl on PATH, and those of ``INTENTC_TEST_KUBECTLS`` (paths with colons between)."""
    found = [shutil.which("kubectl") or "", *os.environ.get("INTENTC_TEST_KUBECTLS", "").split(":")]
    return [program for program in found if program]


class Ended(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


class Kubectl:
    """``program`` with the server at ``url``; ``home``: a folder for its cache."""

    def __init__(self, program: str, url: str, home: Path, token: str = "") -> None:
        self._command = [program, "--server", url, *(["--token", token] if token else [])]
        empty = home / "kubeconfig"
        empty.touch()  # kubectl 1.20 warns of a file that is not there
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(empty)}

    async def __call__(self, *arguments: str, stdin: str = "", environment: dict[str, str] | None = None) -> Ended:
        """Run one command to its end."""
        run = partial(
            subprocess.run,
            [*self._command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env={**self._environment, **(environment or {})},
            timeout=PATIENCE,
            check=False,
        )
        done = await anyio.to_thread.run_sync(run)
        return Ended(done.returncode, done.stdout, done.stderr)

    async def out(self, *arguments: str, stdin: str = "", environment: dict[str, str] | None = None) -> str:
        """The output of a command that must succeed."""
        done = await self(*arguments, stdin=stdin, environment=environment)
        assert done.code == 0, done
        return done.out

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command that goes on; the caller ends it."""
        return subprocess.Popen([*self._command, *arguments], stdout=subprocess.PIPE, text=True, env=self._environment)


def lines(text: str) -> Sequence[str]:
    """The lines of an output without blank ones."""
    return [line for line in text.splitlines() if line.strip()]
