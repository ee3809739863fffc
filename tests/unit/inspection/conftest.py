"""What tests of explanations may use: a plant that has made its first pass over nothing."""

from __future__ import annotations

from tests.unit.engine.conftest import plant

__all__ = ["plant"]
