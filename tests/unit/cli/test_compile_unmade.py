"""``compile`` and ``plan`` say what could not be made, by exit code 5 and by a problem of each object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from intentc import plugins
from intentc.cli.command_error import Exit
from tests.unit.cli.running import Intentc

FILES = {
    "barns/__init__.py": """
from pathlib import Path
from intentc import Compiler, Intent

class BarnIntent(Intent):
    kind = "barn"

    def evaluate(self, ctx):
        if self.pool:
            yield self.child("stall", "one", number=ctx.allocate(self.pool, "stall"))
        elif self.needs:
            yield self.child("stall", "one", size=ctx.wait_for("barn", (self.needs,)).size)
        else:
            yield self.child("stall", "one", size=self.size)

HERE = Path(__file__).parent
compiler = Compiler("barns", [BarnIntent], schema_directories=[HERE / "schemas"], reactions=HERE / "reactions.yml")
""",
    "barns/reactions.yml": "intent-compiler: {barn: {self: [], barn: []}}\n",
    "barns/schemas/barns/barn.yml": """
kind: barn
group: barns
properties: {size: string, pool: string, needs: string}
""",
    "barns/schemas/barns/stall.yml": """
kind: stall
group: barns
system: true
parents: [{kind: barn, derived: true}]
properties:
  size: {type: string, enum: [small, large], writer: compiler}
  number: {type: integer, writer: compiler}
""",
}
GOOD = "- {kind: barn, data: {fq_name: [good], size: small}}\n"


@pytest.fixture
def barns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for inputs, next to an installed compiler of barns."""
    for name, text in FILES.items():
        path = tmp_path / "installed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    monkeypatch.setattr(plugins, "_offered", lambda: {"barns": EntryPoint("barns", "barns:compiler", plugins.GROUP)})
    yield tmp_path
    sys.modules.pop("barns", None)


@pytest.mark.parametrize(
    ("bad", "about", "reason"),
    [
        ("size: tiny", "stall bad:one", "must be large or small, is 'tiny'"),
        ("pool: hay", "barn bad", "there is no pool 'hay'"),
        ("needs: next", "barn bad", "barn next to be created"),
    ],
)
def test_an_output_that_can_not_be_made_ends_with_code_5_and_its_reason(
    intentc: Intentc, barns: Path, bad: str, about: str, reason: str
) -> None:
    (barns / "in.yml").write_text(f"resources:\n{GOOD}- {{kind: barn, data: {{fq_name: [bad], {bad}}}}}\n")
    ended = intentc("compile", "--compiler", "barns", barns / "in.yml")
    assert ended.code == Exit.HELD
    assert "good:one" in ended.out and "bad:one" not in ended.out
    (line,) = [line for line in ended.err.splitlines() if f"{about}: " in line]
    assert reason in line
    assert "again" not in ended.err and "retr" not in ended.err

    as_json = intentc("compile", "--compiler", "barns", barns / "in.yml", "-o", "json")
    assert as_json.code == Exit.HELD
    (problem,) = json.loads(as_json.out)["problems"]
    assert f"{problem['kind']} {problem['name']}" == about
    assert reason in problem["message"] and "again" not in problem["message"]


def test_outputs_that_can_all_be_made_end_with_code_0(intentc: Intentc, barns: Path) -> None:
    (barns / "in.yml").write_text(f"resources:\n{GOOD}")
    ended = intentc("compile", "--compiler", "barns", barns / "in.yml")
    assert (ended.code, ended.err) == (Exit.DONE, "")
