"""``docs/reactions.md`` is true: its commands print what stands there, and the walks worked by hand are those that are
walked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from intentc.cli.entry import run
from intentc.cli.input_files import targets_first
from intentc.loading.resource_files import load_resources
from intentc.logic import LiveWorld
from intentc.logic.dependencies import DependencyProcessor, load
from intentc.model import Key
from intentc.offline.offline import Offline
from intentc.plugins import find_compilers, load_all

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reactions.md").read_text()
FILE = re.compile(r"^`([\w.-]+)`\n\n```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```console\n\$ intentc ([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
WALK = re.compile(r"^\| (`\w+`) \| (`.*?`) \|", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page, in the working directory."""
    for name, text in FILE.findall(PAGE):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("INTENTC_CONFIG_FILE", raising=False)
    return tmp_path


def test_the_page_has_what_the_tests_look_for() -> None:
    assert [name for name, _ in FILE.findall(PAGE)] == [
        "service.yml",
        "first.yml",
        "first-configuration.yml",
        "port-tuple.yml",
        "configuration.yml",
    ]
    assert len(COMMAND.findall(PAGE)) == 5
    assert len(WALK.findall(PAGE)) == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("command", "printed"), COMMAND.findall(PAGE), ids=[found[0] for found in COMMAND.findall(PAGE)]
)
def test_a_command_prints_what_stands_there(command: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out == printed


def test_the_drawing_is_the_one_that_is_printed() -> None:
    (drawing,) = re.findall(r"^```mermaid\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert drawing in {printed for _, printed in COMMAND.findall(PAGE)}


def test_the_walks_worked_by_hand_are_those_that_are_walked(folder: Path) -> None:
    world: LiveWorld = anyio.run(_compiled, folder)
    processor = DependencyProcessor(load(folder / "port-tuple.yml"), world.neighbours)
    kinds = ("service_instance", "port_tuple", "virtual_machine_interface")
    named = {world.name_of(key).rpartition(":")[2]: key for kind in kinds for key in world.cache.all(kind)}
    assert set(named) == {"firewall", "pair", "left", "right"}
    for origin, listed in WALK.findall(PAGE):
        walked = processor.walk([named[origin.strip("`")]])
        assert {tuple(path) for path in _paths(listed, named)} == {path for path in walked.values() if len(path) > 1}


def _paths(listed: str, named: dict[str, Key]) -> Iterator[tuple[Key, ...]]:
    for path in listed.split(", "):
        yield tuple(named[name.strip("`")] for name in path.split(" → "))


async def _compiled(folder: Path) -> Any:
    loaded = load_all(find_compilers(["contrail"]))
    offline = Offline(loaded)
    inputs = targets_first(load_resources([str(folder / "service.yml")], loaded.schema), loaded.schema)
    await offline.seed()
    await offline.apply({"kind": one.kind, "operation": "CREATE", "data": one.data} for one in inputs)
    return offline.engine.world
