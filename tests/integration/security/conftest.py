"""Processes of the tests of security end with the test that started them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.processes import Process


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    """What a test has started; all of it is killed at its end."""
    started: list[Process] = []
    yield started
    for process in started:
        process.kill()
