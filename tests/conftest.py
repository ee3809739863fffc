"""What every test may use, and what every test leaves as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

_REAL = pytest.StashKey[dict[str, frozenset[str]]]()
"""Marker → the tests that have it."""


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remember which tests use real parts, for the summary."""
    config.stash[_REAL] = {
        mark: frozenset(item.nodeid for item in items if item.get_closest_marker(mark)) for mark in ("etcd", "http")
    }


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How much was tried on real parts: the memory store must not be preferred (engine.md §10)."""
    passed = {report.nodeid for report in terminalreporter.getreports("passed")}
    real = config.stash.get(_REAL, {})
    etcd, http = passed & real.get("etcd", frozenset()), passed & real.get("http", frozenset())
    terminalreporter.write_line(f"real parts: {len(etcd)} tests on a real etcd, {len(etcd & http)} of them over HTTP")
