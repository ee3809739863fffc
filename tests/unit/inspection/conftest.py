"""What tests of explanations may use: a box system that has made its first pass over nothing."""

from __future__ import annotations

from tests.unit.engine.conftest import box_system

__all__ = ["box_system"]
