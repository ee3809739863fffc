"""Converts typed values to Envoy's JSON (v3, Envoy 1.40): pure functions, one module per element or part of one.

The intents above make claims of what these return, by ``envoy_elements.py``.
"""

from __future__ import annotations

from typing import Any


def present(**fields: Any) -> dict[str, Any]:
    """The fields that are set: without those that are None, false, 0 or empty."""
    return {name: value for name, value in fields.items() if value}


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}
