"""One browser and one system for all tests of a module: both take a second or two to start."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, expect

from tests.browser.browsed_system import WITHIN_MS, BrowsedSystem, Visit, browsed_system, chromium, visit
from tests.browser.large_world import FULL

GROUPS = 3_300 if FULL else 30
"""Security groups beside those that tests look at; each has two lists."""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for the module, since browser and system live in it."""
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    expect.set_options(timeout=WITHIN_MS)
    async with chromium() as started:
        yield started


@pytest.fixture(scope="module")
async def system(anyio_backend: str) -> AsyncIterator[BrowsedSystem]:
    """Everything runs, and some things are wrong with what people wrote."""
    async with browsed_system() as started:
        await started.serve()
        await started.compile()
        await started.populate()
        await started.fill(GROUPS)
        yield started


@pytest.fixture
async def seen(browser: Browser, system: BrowsedSystem) -> AsyncIterator[Visit]:
    """A fresh visit; what the browser complains of fails the test."""
    async with visit(browser, system.url) as started:
        yield started
