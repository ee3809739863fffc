"""A store in memory, and its directives."""

from __future__ import annotations

import pytest

from intentc.directives import Book
from intentc.watch.memory import MemoryStore
from tests.unit.directives.recorded_actions import INSTALLATION


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def book(store: MemoryStore) -> Book:
    return Book(store, INSTALLATION)
