"""What every test may use, and what every test leaves as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


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
