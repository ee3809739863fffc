"""The lines of docstrings, and the table of docs/architecture.md, that say what packages and modules touch.

``python -m tests.support.touching_lines`` writes all of them anew; look at the difference before you commit it.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import defaultdict
from functools import cached_property
from pathlib import Path

from .touching import Touching

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = ROOT / "docs" / "architecture.md"
NOTHING = "Touches: nothing outside memory."
_LINE = re.compile(r"^Touches:.*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_TABLE = re.compile(r"(?:^\| `intentc[\w/]*/` \| .* \|\n)+", re.MULTILINE)


def line(own: set[str], through: set[str]) -> str:
    others = f"through others: {', '.join(sorted(through, key=str.lower))}" if through else ""
    if not own:
        return f"Touches: nothing itself; {others}." if through else NOTHING
    return f"Touches: {'; '.join(filter(None, [', '.join(sorted(own, key=str.lower)), others]))}."


class Lines:
    """The lines of ``intentc``: ``true``, from its source, and what docstrings say (``said``)."""

    def __init__(self) -> None:
        self.touching = Touching(ROOT / "intentc")
        self.modules = sorted(self.touching.own)
        self.packages = {module for module in self.modules if (ROOT / Path(*module.split("."))).is_dir()}

    def file_of(self, module: str) -> Path:
        path = ROOT / Path(*module.split("."))
        return path / "__init__.py" if module in self.packages else path.with_suffix(".py")

    def package_of(self, module: str) -> str:
        return module if module in self.packages else module.rpartition(".")[0]

    @cached_property
    def true(self) -> dict[str, str]:
        """Module → its line; package → the line of its modules together."""
        own: defaultdict[str, set[str]] = defaultdict(set)
        all_: defaultdict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            for each in {module, self.package_of(module)}:
                own[each] |= self.touching.own[module]
                all_[each] |= self.touching.all[module]
        return {module: line(own[module], all_[module] - own[module]) for module in self.modules}

    def said(self, module: str) -> str:
        """What the module's docstring says, else its package's; empty if neither says anything."""
        for each in (module, self.package_of(module)):
            if found := _LINE.search(self.touching.docstring(each)):
                return " ".join(found[0].split())
        return ""

    def examples(self, module: str) -> str:
        """For each word, calls by which the module touches it."""
        words = sorted(self.touching.all[module])
        return "".join(f"\n    {word}: {self.touching.example(module, word)}" for word in words)

    @property
    def table(self) -> str:
        rows = ((each, self.true[each].removeprefix("Touches: ").removesuffix(".")) for each in sorted(self.packages))
        return "".join(f"| `{package.replace('.', '/')}/` | {touches} |\n" for package, touches in rows)

    @staticmethod
    def table_said() -> str:
        found = _TABLE.search(ARCHITECTURE.read_text())
        return found[0] if found else ""

    def write(self) -> None:
        for module in self.modules:
            self._write(module)
        ARCHITECTURE.write_text(_TABLE.sub(self.table, ARCHITECTURE.read_text()))

    def _write(self, module: str) -> None:
        path = self.file_of(module)
        lines = path.read_text().splitlines(keepends=True)
        end = ast.parse("".join(lines)).body[0].end_lineno
        docstring = "".join(lines[:end]).rstrip().removesuffix('"""')
        text = _LINE.sub("", docstring).rstrip()
        if module in self.packages or self.true[self.package_of(module)] != NOTHING:
            text = f"{text}\n\n{textwrap.fill(self.true[module], 120, break_on_hyphens=False)}"
        path.write_text("".join([text, '\n"""\n' if "\n" in text else '"""\n', *lines[end:]]))


if __name__ == "__main__":
    Lines().write()
