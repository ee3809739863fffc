"""Fixtures of the tests of the contrail compiler."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from intentc.testing import load as load_resource


@pytest.fixture
def load() -> Any:
    """``intentc.testing.load`` from ``resources/`` beside this file."""
    return partial(load_resource, folder=Path(__file__).parent / "resources")
