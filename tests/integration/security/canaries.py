"""Configurations of programs whose every secret has the word ``canary`` in it, and a search of all that they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import msgspec

from intentc.dev.etcd_server import Etcd
from tests.support import forking
from tests.support.processes import Process, environment_with
from tests.support.waiting import PATIENCE

PATH = "canaries"
ROUTER = "kind=physical_router&name=default-global-system-config:r"
UNREADABLE = "kind=security_group&name=u0"
PAGES = (
    "/",
    "/healthz",
    "/readyz",
    "/status?pretty",
    "/quarantine",
    "/pending",
    "/views/problems",
    "/metrics",
    "/objects?limit=500",
    f"/why?{ROUTER}",
    f"/why?{UNREADABLE}",
    f"/object?{ROUTER}",
    f"/object?{UNREADABLE}",
    f"/neighbourhood?{ROUTER}",
    "/reactions",
    "/journal?limit=500",
    "/pages/objects",
    f"/pages/object?{ROUTER}",
    f"/pages/object?{UNREADABLE}",
    "/pages/reactions",
    "/pages/quarantine",
    "/pages/journal",
    "/nothing-here",
)
CANARY = "canary"


class Place:
    """A folder with the secrets' files, and the configurations that name them. Every secret has ``canary`` in it."""

    def __init__(self, folder: Path, etcd: Etcd, form: str) -> None:
        self.folder = folder
        self.etcd = etcd
        self.form = form
        self.sinks: dict[str, str] = {}
        """What was seen of the programs, by where."""

    def secret(self, name: str, text: str = "") -> str:
        """The path of a file with a secret: a new one, if there is one already."""
        file = self.folder / name
        file.write_text(text or f"{CANARY}-{name}\n")
        file.chmod(0o600)
        return str(file)

    def configuration(self, name: str, **sections: Any) -> Path:
        path = self.folder / f"{name}.yml"
        own = {"installation": PATH, "diagnostics": {"address": "127.0.0.1:0"}, "log": {"format": self.form},
               "watch": {"heartbeat": "300ms"}, "journal": {"directory": str(self.folder / "journal")},
               **sections.pop("intentc", {})}  # fmt: skip
        etcd = {"endpoints": [self.etcd.endpoint], "path": PATH, "dial_timeout": "2s", **sections.pop("etcd", {})}
        path.write_bytes(msgspec.json.encode({"etcd": etcd, "log_level": "debug", "intentc": own, **sections}))
        return path

    async def command(self, configuration: Path, *words: str, **environment: str) -> int:
        """Run one to its end; what it prints is a sink. The exit code."""
        with anyio.fail_after(PATIENCE):
            command = ["--config-file", str(configuration), *words]
            done = await forking.run(command, environment_with(environment))
        self.sinks[" ".join(words)] = done.out + done.err
        return done.code

    async def look(self, compiler: Process) -> None:
        """All pages of a compiler are sinks."""
        for page in PAGES:
            self.sinks[page] = self.sinks.get(page, "") + (await compiler.get(page)).text

    def journal(self) -> str:
        """What the compiler's journal left in files."""
        return "".join(path.read_text() for path in (self.folder / "journal").iterdir())

    def assert_no_canary(self) -> None:
        found = {sink: line for sink, text in self.sinks.items() for line in text.splitlines() if CANARY in line}
        assert not found, found
        assert all(self.sinks.values()), "a sink that says nothing proves nothing"
