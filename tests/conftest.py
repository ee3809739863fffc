"""What every test may use, and what every test leaves as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.property.examples import REPORTS


@pytest.fixture
def anyio_backend() -> str:
    """The engine runs on asyncio only (its timers and signals are asyncio's)."""
    return "asyncio"


@pytest.fixture(autouse=True)
def logging_left_as_it_was() -> Iterator[None]:
    """Commands set up the whole process's logging; a test that runs one must not change what later tests see."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {
        name: logger.level for name, logger in root.manager.loggerDict.items() if isinstance(logger, logging.Logger)
    }
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, logger in root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger):
            logger.setLevel(levels.get(name, logging.NOTSET))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much the examples of properties related, and how much was tried on real parts: the memory store must not be
    preferred (engine.md §10)."""
    passed = [set(report.keywords) for report in terminalreporter.getreports("passed") if report.when == "call"]
    etcd = [keywords for keywords in passed if "etcd" in keywords]
    http = [keywords for keywords in etcd if "http" in keywords]
    for report in REPORTS:
        terminalreporter.write_line(f"property: {report}")
    envoy = [keywords for keywords in passed if "envoy" in keywords]
    terminalreporter.write_line(
        f"real parts: {len(etcd)} tests on a real etcd, {len(http)} of them over HTTP; {len(envoy)} with a real Envoy"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tests may run in several processes (pytest-xdist): hand over what was reported in this one."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["reports"] = REPORTS


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """One of several processes has ended."""
    REPORTS.extend(getattr(node, "workeroutput", {}).get("reports", ()))
