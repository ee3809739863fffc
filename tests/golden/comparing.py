"""Compares an output with its golden file: a difference is shown as a unified diff, or written with the switch.

``pytest tests/golden --rewrite-golden`` writes every golden file whose content differs, and lists them at its end.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.golden.cases import Case, write, written


class Golden:
    """``rewrite``: whether the switch was given. ``on_rewritten`` is called with each file that was written."""

    def __init__(self, rewrite: bool, on_rewritten: Callable[[Path], None]) -> None:
        self._rewrite = rewrite
        self._on_rewritten = on_rewritten

    def check(self, case: Case, found: dict[str, Any], *, authority: bool = False) -> None:
        """Fail the test with the difference between the golden file and ``found``.

        ``authority``: with the switch, ``found`` is written instead. Each case has one such test, so that the others
        show what disagrees with it.
        """
        expected = case.document() if case.expected.exists() else {}
        if found == expected:
            return
        if self._rewrite and authority:
            write(case, found)
            self._on_rewritten(case.expected)
            return
        pytest.fail(f"{case.name} differs from its golden file:\n{difference(case, expected, found)}", pytrace=False)


def difference(case: Case, expected: dict[str, Any], found: dict[str, Any]) -> str:
    """The unified diff from what the file says to what was found."""
    before, after = (written(document).splitlines(keepends=True) for document in (expected, found))
    return "".join(difflib.unified_diff(before, after, case.expected.name, "compiled"))
