"""Where the golden pairs are, and how they are read and written.

``tests/golden/<compiler>/<topic>/<case>.in.yaml`` holds what a user applies, ``….out.yaml`` next to it what follows
from it, reduced by ``projection.py``. A new case is a new pair of files, no code; one that needs settings has a
configuration next to them, ``….config.yaml``. ``comparing.py`` compares them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from intentc.loading.resource_files import load_resources
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

    @property
    def as_stored(self) -> bool:
        """Whether today's server would reject its input: it may be in etcd, and no command compiles it."""
        return self.topic.endswith("_as_stored")

    @property
    def configuration(self) -> Path | None:
        """The configuration file under which it is compiled."""
        path = self.given.with_name(self.given.name.replace(".in.yaml", ".config.yaml"))
        return path if path.exists() else None

    def settings(self) -> dict[str, Any]:
        """The settings that its intents read."""
        if self.configuration is None:
            return {}
        found: dict[str, Any] = load_yaml(self.configuration).value["intentc"]["settings"]
        return found

    def resources(self) -> list[tuple[str, dict[str, Any]]]:
        return [(loaded.kind, loaded.data) for loaded in load_resources(self.given, load_schema(self.compiler))]

    def document(self) -> dict[str, Any]:
        """What is expected; not to be changed."""
        return _document(self.expected)


@functools.cache
def _document(path: Path) -> dict[str, Any]:
    """Read once: several tests compare with each file."""
    found: dict[str, Any] = load_yaml(path).value
    return found


def write(case: Case, document: dict[str, Any]) -> None:
    """Make ``document`` what is expected of ``case``."""
    case.expected.write_text(written(document))
    _document.cache_clear()


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
