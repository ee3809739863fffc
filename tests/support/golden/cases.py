"""Where the golden pairs are, and how they are read and written.

``tests/golden/<compiler>/<topic>/<case>.in.yaml`` holds what a user applies, ``….out.yaml`` beside it what follows from
it, reduced by ``projection.py``. A new case is a new pair of files, no code.

``python -m tests.support.golden.cases [PART OF A NAME]...`` writes the outputs anew: Contrail's from a naive compile,
those of other compilers from the real one. Commit only what you can derive from docs/contrail.md and docs/ambassador.md
by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from intentc.loading.resources import load_resources
from intentc.loading.schemas import load_schema
from intentc.loading.yaml import load_yaml

_HERE = Path(__file__).parents[2] / "golden"

COMPILERS = ("contrail", "ambassador")


class Case(NamedTuple):
    """``name``: ``<compiler>/<topic>/<case>``."""

    name: str
    given: Path
    expected: Path

    @property
    def compiler(self) -> str:
        return self.name.split("/")[0]

    @property
    def topic(self) -> str:
        return self.name.split("/")[1]

    def resources(self) -> list[tuple[str, dict[str, Any]]]:
        return [(loaded.kind, loaded.data) for loaded in load_resources(self.given, load_schema(self.compiler))]

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = load_yaml(self.expected).value
        return found


def cases(compiler: str) -> Iterator[Case]:
    for given in sorted((_HERE / compiler).rglob("*.in.yaml")):
        stem = given.name.removesuffix(".in.yaml")
        name = str((given.parent / stem).relative_to(_HERE))
        yield Case(name, given, given.with_name(f"{stem}.out.yaml"))


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def written(document: dict[str, Any]) -> str:
    """A document as the output files have it."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True, default_flow_style=None)


def _output(case: Case) -> dict[str, Any]:
    from tests.support.golden.compiling import compiled
    from tests.support.golden.naive_compile import NaiveCompile

    if case.compiler == "contrail":
        return NaiveCompile(case.resources()).document()
    ended = compiled(case.compiler, case.given)
    if ended.code or ended.err:
        raise SystemExit(f"{case.name}: exit code {ended.code}\n{ended.err}")
    return ended.document


if __name__ == "__main__":
    from tests.support.golden.projection import projected

    for case in (case for compiler in COMPILERS for case in cases(compiler)):
        if not sys.argv[1:] or any(part in case.name for part in sys.argv[1:]):
            case.expected.write_text(written(projected(_output(case))))
