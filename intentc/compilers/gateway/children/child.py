"""One object of an instance: its manifest, and how it is created, changed and deleted.

A value only: no state, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Child(NamedTuple):
    """``manifest``: Kubernetes JSON with exactly the fields that we own. The others are arguments of
    ``Intent.manifest`` (docs/engine.md §13.1)."""

    manifest: Mapping[str, Any]
    phase: int
    immutable: tuple[str, ...] = ()
    once: bool = False
