"""How long the properties search: ``ci`` (the default, the same examples every time) or ``HYPOTHESIS_PROFILE=long``.

A failing example prints the blob that replays it (``@reproduce_failure``).
"""

from __future__ import annotations

import os

import pytest

from tests.property.examples import REPORTS
from tests.property.profiles import load

load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how much the examples related."""
    for report in REPORTS:
        terminalreporter.write_line(f"property: {report}")
