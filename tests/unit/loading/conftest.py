"""What the tests of loading share: the shipped kinds, and files written on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from intentc.loading import load_schema
from intentc.model.schema import Schema

Write = Callable[..., Path]


@pytest.fixture
def contrail() -> Schema:
    return load_schema("contrail")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write(name, text)`` → the path of a new file with that text."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return put
