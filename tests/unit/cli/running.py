"""The type of the fixture ``intentc``, which runs commands in the test's own process."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.forking import Ended

Intentc = Callable[..., Ended]
"""``intentc(*arguments)`` runs one command line in this process."""
