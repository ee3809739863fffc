"""The comparison with golden files, and what the switch ``--rewrite-golden`` has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.comparing import Golden

_REWRITTEN = "golden file rewritten"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares with golden files; with the switch, writes them."""

    def on_rewritten(path: Path) -> None:
        request.node.user_properties.append((_REWRITTEN, str(path.relative_to(request.config.rootpath))))

    return Golden(request.config.getoption("rewrite_golden"), on_rewritten)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.getoption("rewrite_golden"):
        passed = terminalreporter.getreports("passed")
        files = sorted({str(value) for one in passed for name, value in one.user_properties if name == _REWRITTEN})
        terminalreporter.section(f"{len(files)} golden files rewritten")
        for file in files:
            terminalreporter.write_line(file)
