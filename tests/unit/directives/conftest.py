"""A store in memory, and its directives."""

from __future__ import annotations

import pytest

from intentc.directives import Book
from tests.support.faulty_store import FaultyStore
from tests.unit.directives.recorded_actions import INSTALLATION


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore()


@pytest.fixture
def book(store: FaultyStore) -> Book:
    return Book(store, INSTALLATION)
