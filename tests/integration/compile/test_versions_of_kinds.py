"""An author changes a kind whose resources are stored: what follows from them stays the same, or is held.

The path of docs/authoring.md ("Change a kind that is in use") on a real etcd, a real API server and compiler, with the
commands as processes: add a version, migrate, drop the old one. Each step restarts server and compiler with the next
schema.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded, load_all
from intentc.watch.etcd import EtcdStore
from tests.support.engine_status import engine_status
from tests.support.live_system import LiveSystem, counted_world

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

ROOT = Path(__file__).resolve().parents[3]
COUNT = 11
PLOT = """
kind: plot
group: farming
system: true
properties: {{acres: {{type: integer, writer: compiler}}}}
"""
FARM = """
kind: farm
group: farming
shape: {shape}
properties: {{{field}: {{type: integer, default: 1}}}}
versions: {versions}
"""
CODE = """
from pathlib import Path
from intentc import Compiler, Intent

HERE = Path(__file__).parent

class FarmIntent(Intent):
    kind = "farm"

    def evaluate(self, ctx):
        if self.{field} > 1:
            yield self.owned("plot", ("plot-of-" + self.fq_name[-1],), acres=self.{field})

compiler = Compiler("farms", [FarmIntent], schema_directories=[HERE / "schemas"], reactions=HERE / "reactions.yml")
"""


class Shape(NamedTuple):
    """How farms are written, and the versions of each step: before, with both, and without the old one."""

    name: str
    before: str
    both: str
    after: str
    old: str


CONTRAIL = Shape("contrail", "{}", "{'2': {}, '1': {size: area}}", "{'2': {}}", "1")
KUBERNETES = Shape("kubernetes", "{f/v1: {}}", "{f/v2: {}, f/v1: {size: area}}", "{f/v2: {}}", "f/v1")


class Farming:
    """A world whose compiler's package changes. ``folder``: for its versions."""

    def __init__(self, world: LiveSystem, folder: Path, etcd: str, shape: Shape) -> None:
        self.world = world
        self.shape = shape
        self._folder = folder
        self._etcd = etcd
        self._packages = 0

    def install(self, field: str, versions: str) -> None:
        """Have the next server, compiler and command use a package whose farms have ``field``."""
        self._packages += 1
        self.package = self._folder / f"package-{self._packages}"
        values = {"field": field, "versions": versions, "shape": self.shape.name}
        for name, text in {
            "farms/__init__.py": CODE.format(**values),
            "farms/reactions.yml": "intent-compiler: {farm: {self: []}}\n",
            "farms/schemas/farms/farm.yml": FARM.format(**values),
            "farms/schemas/farms/plot.yml": PLOT.format(**values),
            "farms-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: farms\nVersion: 1\n",
            "farms-1.dist-info/entry_points.txt": "[intentc.compilers]\nfarms = farms:compiler\n",
        }.items():
            (self.package / name).parent.mkdir(parents=True, exist_ok=True)
            (self.package / name).write_text(text)
        self.world.loaded = self._loaded()

    def _loaded(self) -> Loaded:
        spec = importlib.util.spec_from_file_location(f"farms_{self._packages}", self.package / "farms" / "__init__.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return load_all([module.compiler])

    async def sow(self) -> None:
        """Create the farms."""
        for number in range(COUNT):
            name, size = f"farm-{number}", number + 2
            manifest = {"apiVersion": "f/v1", "kind": "Farm", "metadata": {"name": name}, "spec": {"size": size}}
            flat = {"fq_name": [name], "size": size}
            await self.world.sync(("CREATE", "farm", manifest if self.shape is KUBERNETES else flat))

    async def compiled(self) -> dict[str, Any]:
        """Let a server and a compiler do what is to do, and return the compiler's status."""
        async with self.world.serving():
            return engine_status((await self.world.compile_once()).engine)

    async def stored(self, kind: str) -> dict[str, Any]:
        """Key → the value and its revision."""
        return {
            key: value
            for key, value in (await self.world.values()).items()
            if key.startswith(f"/{self.world.path}/{kind}/")
        }

    async def farms(self) -> list[dict[str, Any]]:
        return [json.loads(value) for value, _ in (await self.stored("farm")).values()]

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command as a process that has the package."""
        configuration = self._folder / "contrail.json"
        settings = {
            "etcd": {"endpoints": [self._etcd], "path": self.world.path},
            "client": {"endpoint": self.world.url},
            "intentc": {"installation": self.world.path, "compilers": ["farms"]},
        }
        configuration.write_text(json.dumps(settings))
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(self.package)))}
        command = [sys.executable, "-P", "-m", "intentc.cli", "--config-file", str(configuration), *arguments]
        return await anyio.to_thread.run_sync(
            lambda: subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        )


@pytest.fixture(params=[CONTRAIL, KUBERNETES], ids=lambda shape: shape.name)
async def farming(
    request: pytest.FixtureRequest, etcd: Etcd, etcd_store: EtcdStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Farming]:
    """Farms of ``size``, compiled, and no server or compiler at work."""
    world = LiveSystem(etcd_store, load_all([]))
    async with counted_world(etcd_store, world.loaded, monkeypatch, world):
        farming = Farming(world, tmp_path, etcd.endpoint, request.param)
        farming.install("size", farming.shape.before)
        async with world.serving():
            await farming.sow()
            await world.compile_once()
        assert len(await farming.stored("plot")) == COUNT
        yield farming


async def test_a_version_is_added_migrated_and_dropped_and_no_output_is_written(farming: Farming) -> None:
    before = await farming.stored("plot")

    farming.install("area", farming.shape.both)
    status = await farming.compiled()
    assert status["healthy"] and not status["problems"]
    assert await farming.stored("plot") == before, "the old version is converted when it is read"
    checked = await farming.run("check", "--live", "--notes")
    assert checked.returncode == 0 and f"{COUNT} resources of version {farming.shape.old}" in checked.stdout

    async with farming.world.serving(), farming.world.compiling() as service:
        migrated = await farming.run("migrate", "farm")
        assert migrated.returncode == 0, migrated.stderr
        assert f"{COUNT} resources migrated" in migrated.stderr
        farming.world.revision = max(revision for _, revision in (await farming.stored("farm")).values())
        await farming.world.settle(service)
        again = await farming.run("migrate", "--all")
        assert "0 resources migrated" in again.stderr
    assert sorted(farm["area"] for farm in await farming.farms()) == list(range(2, COUNT + 2))
    assert not any("size" in farm for farm in await farming.farms())
    assert await farming.stored("plot") == before, "migration changes no input"

    farming.install("area", farming.shape.after)
    checked = await farming.run("check", "--live")
    assert checked.returncode == 0, checked.stdout
    status = await farming.compiled()
    assert status["healthy"] and not status["problems"]
    assert await farming.stored("plot") == before


async def test_check_reports_a_version_that_is_dropped_too_early(
    farming: Farming,
) -> None:
    before = await farming.stored("plot")
    farming.install("area", farming.shape.both)
    await farming.compiled()
    farming.install("area", "{'3': {}}" if farming.shape is CONTRAIL else "{f/v3: {}}")
    checked = await farming.run("check", "--live")
    assert checked.returncode == 3
    status = await farming.compiled()
    assert not status["healthy"]
    assert status["counts"]["problems"] == COUNT
    assert await farming.stored("plot") == before


async def test_a_field_that_is_renamed_without_a_version_is_a_problem_and_deletes_nothing(farming: Farming) -> None:
    before = await farming.stored("plot")
    farming.install("area", farming.shape.before)
    checked = await farming.run("check", "--live")
    assert checked.returncode == 3 and "size" in checked.stdout
    status = await farming.compiled()
    assert not status["healthy"]
    assert {problem["reason"] for problem in status["problems"]} == {"UnknownField"}
    assert sorted(problem["name"].rpartition(":")[2] for problem in status["problems"]) == sorted(
        f"farm-{number}" for number in range(COUNT)
    )
    for problem in status["problems"]:
        assert problem["message"].startswith("size: an earlier schema of farm declared this")
        assert problem["source"].startswith("farm/")
    assert await farming.stored("plot") == before
    async with farming.world.serving():
        audited = await farming.run("audit", "-o", "json")
    assert audited.returncode == 5, audited.stderr
    assert json.loads(audited.stdout)["differences"] == []

    farming.install("area", farming.shape.both)
    status = await farming.compiled()
    assert status["healthy"] and not status["problems"], "the advice of the problem helps"
    assert await farming.stored("plot") == before
