"""What every test may use, and what every test leaves as it was."""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.property.examples import REPORTS
from tests.property.profiles import load
from tests.support import cpu
from tests.support.programs import skipped_lines

SPENT = cpu.Spent()

load(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Servers in Go that tests start (etcd) are small: threads that look for work, and a collector that runs every few
# megabytes, are a quarter of their CPU.
os.environ.setdefault("GOMAXPROCS", "1")
os.environ.setdefault("GOGC", "400")

# A shell starts what runs in the background, or under nohup, with these signals ignored, and processes that tests start
# would inherit that: tests of Ctrl-C and SIGHUP would wait for what never comes.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Stands here since pytest reads options from the outermost conftest only."""
    parser.addoption(
        "--rewrite-golden", action="store_true", help="write the golden files whose content differs (tests/golden)"
    )


@pytest.fixture
def anyio_backend() -> str:
    """The engine runs on asyncio only (its timers and signals are asyncio's)."""
    return "asyncio"


@contextmanager
def _logging_left_as_it_was() -> Iterator[None]:
    """Levels are set only where they differ: setting one clears what all loggers have cached, a millisecond a test."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {
        name: logger.level for name, logger in root.manager.loggerDict.items() if isinstance(logger, logging.Logger)
    }
    yield
    root.handlers[:] = handlers
    if root.level != level:
        root.setLevel(level)
    for name, logger in root.manager.loggerDict.items():
        if isinstance(logger, logging.Logger) and logger.level != (former := levels.get(name, logging.NOTSET)):
            logger.setLevel(former)


@pytest.fixture(autouse=True)
def logging_left_as_it_was() -> Iterator[None]:
    """Commands set up the whole process's logging; a test that runs one must not change what later tests see."""
    with _logging_left_as_it_was():
        yield


@pytest.fixture(autouse=True, scope="module")
def logging_left_as_the_module_found_it() -> Iterator[None]:
    """So do systems that the tests of a module share, which start before the first of them."""
    with _logging_left_as_it_was():
        yield


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much the examples of properties related, how much was tried on real parts (the memory store must not be
    preferred, docs/engine.md §10), and where the time went."""
    passed = [set(report.keywords) for report in terminalreporter.getreports("passed") if report.when == "call"]
    etcd = [keywords for keywords in passed if "etcd" in keywords]
    http = [keywords for keywords in etcd if "http" in keywords]
    for report in REPORTS:
        terminalreporter.write_line(f"property: {report}")
    envoy = [keywords for keywords in passed if "envoy" in keywords]
    terminalreporter.write_line(
        f"real parts: {len(etcd)} tests on a real etcd, {len(http)} of them over HTTP; {len(envoy)} with a real Envoy"
    )
    terminalreporter.section("CPU by directory, processes that were started included")
    for line in cpu.lines(SPENT.by_directory):
        terminalreporter.write_line(line)
    if skipped := skipped_lines(terminalreporter.getreports("skipped")):
        terminalreporter.section("skipped")
        for line in skipped:
            terminalreporter.write_line(line)


def pytest_collection_finish() -> None:
    """Count what was used so far as start and collection. What exists by now lives to the end: the garbage collector
    need not look at it again and again, and what comes is collected as seldom as in a service."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    SPENT.until_now("(start and collection)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """After the last test of a module in a row, what it used is its directory's."""
    yield
    if nextitem is None or nextitem.path != item.path:
        SPENT.until_now(str(item.path.parent.relative_to(Path(item.config.rootpath))))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tests may run in several processes (pytest-xdist): hand over what was reported in this one."""
    if session.config.pluginmanager.has_plugin("dsession"):
        return  # the processes that it started hand over their own
    SPENT.until_now("(start and collection)")
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["reports"] = REPORTS
        session.config.workeroutput["spent"] = dict(SPENT.by_directory)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """One of several processes has ended."""
    handed = getattr(node, "workeroutput", {})
    REPORTS.extend(handed.get("reports", ()))
    for directory, seconds in handed.get("spent", {}).items():
        SPENT.by_directory[directory] += seconds
