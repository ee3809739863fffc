"""Shipped data is found in a checkout and in an installed wheel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from intentc.loading import paths

Write = Callable[..., Path]


def test_in_a_checkout_it_lies_beside_the_package() -> None:
    assert (paths.schemas_directory() / "contrail" / "types.yml").is_file()
    assert (paths.reactions_directory() / "contrail.yml").is_file()


def test_in_a_wheel_it_lies_inside_the_package(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write("intentc/data/schemas/toy/types.yml", "").parents[3]
    monkeypatch.setattr(paths, "_PACKAGE", package)

    assert paths.schemas_directory() == package / "data" / "schemas"
