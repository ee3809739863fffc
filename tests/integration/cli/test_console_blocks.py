"""Every ``console`` block of README and docs runs as it stands, or says why not and where the same is proved.

All blocks share one running ``intentc dev``, started by the first line that does so; a later line that starts the same
finds it running. What a block prints is an example and is not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from tests.support import forking
from tests.support.processes import environment_with

ROOT = Path(__file__).parents[3]
_BLOCK = re.compile(
    r"(?:<!-- not run in CI(?: as a block)?: (?P<reason>[^>]+?) -->\n)?```console\n(?P<text>.*?)^```$", re.M | re.S
)
_EXPORT = re.compile(r"^  export (\w+)=(\S+)$", re.M)
_WITHIN_SECONDS = 120.0
_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Block(NamedTuple):
    """One ``console`` block. ``place``: its file and line; ``reason``: why it is not run, empty if it is."""

    place: str
    text: str
    reason: str

    @property
    def commands(self) -> list[list[str]]:
        """The words of each line that begins with ``$``, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]


def blocks() -> Iterator[Block]:
    for page in _PAGES:
        text = page.read_text()
        for found in _BLOCK.finditer(text):
            line = text.count("\n", 0, found.start("text"))
            yield Block(f"{page.relative_to(ROOT)}:{line}", found["text"], (found["reason"] or "").strip())


RUN = [block for block in blocks() if not block.reason]


def test_each_block_is_run_or_names_what_proves_it() -> None:
    found = list(blocks())
    assert len(found) == sum(page.read_text().count("```console\n") for page in _PAGES)
    assert len(RUN) >= 5
    for block in found:
        named = re.findall(r"tests/[\w/.]+", block.reason)
        assert not block.reason or named or "it is what CI runs" in block.reason, block.place
        assert all((ROOT / name).exists() for name in named), block.place
    for block in RUN:
        assert all(command[0] == "intentc" for command in block.commands), f"{block.place}: mark it, or call intentc"


class Shell:
    """Runs lines in a folder that looks like a checkout; ``intentc dev`` stays in the background."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = environment_with({})
        self._dev: list[str] = []
        self.log = folder / "dev.log"
        self._process: forking.Running | None = None

    async def run(self, command: list[str], place: str) -> None:
        arguments = command[1:]
        if arguments[0] == "dev":
            await self._start(arguments, place)
        elif "--watch" in arguments:
            await self._watch(arguments, place)
        else:
            ended = await forking.run(arguments, self._environment, folder=self._folder)
            assert ended.code == 0, f"{place}: {shlex.join(command)}\n{ended.out}{ended.err}"

    async def _start(self, arguments: list[str], place: str) -> None:
        if self._process is not None:
            assert arguments == self._dev, f"{place}: another system than the one that runs: {shlex.join(self._dev)}"
            return
        self._dev = arguments
        with self.log.open("wb") as log:
            self._process = forking.start(arguments, self._environment, log, log, folder=self._folder)
        while "Ctrl-C ends everything" not in (shown := self.log.read_text()):
            assert self._process.poll() is None, shown
            await anyio.sleep(0.02)
        found = _EXPORT.search(shown)
        assert found, shown
        self._environment = {**self._environment, found[1]: shlex.split(found[2])[0]}

    async def _watch(self, arguments: list[str], place: str) -> None:
        """It shows until somebody ends it by Ctrl-C."""
        with tempfile.TemporaryFile() as shown:
            process = forking.start(arguments, self._environment, shown, shown, folder=self._folder)
            while not os.fstat(shown.fileno()).st_size:
                assert process.poll() is None, place
                await anyio.sleep(0.02)
            process.send_signal(signal.SIGINT)
            assert await forking.ended(process) == 130, place

    async def end(self) -> None:
        """Ctrl-C ends everything."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            while self._process.poll() is None:  # noqa: ASYNC110 - another process has no event
                await anyio.sleep(0.02)


@asynccontextmanager
async def shell(folder: Path) -> AsyncIterator[Shell]:
    for name in ("sample", "reactions", "config"):
        (folder / name).symlink_to(ROOT / name)
    running = Shell(folder)
    try:
        yield running
    finally:
        with anyio.CancelScope(shield=True), anyio.fail_after(_WITHIN_SECONDS):
            await running.end()


@pytest.mark.anyio
@pytest.mark.etcd
@pytest.mark.http
async def test_every_block_runs_as_it_stands(tmp_path: Path) -> None:
    starting = [block for block in RUN if any(command[1] == "dev" for command in block.commands)]
    async with shell(tmp_path) as running:
        for block in (*starting, *(block for block in RUN if block not in starting)):
            for command in block.commands:
                with anyio.fail_after(_WITHIN_SECONDS):
                    await running.run(command, block.place)
