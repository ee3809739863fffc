"""Named points on an event's path at which a test kills the process.

Why in the product: the cost of a kill at a bad moment can only be tested at that moment. Only a test installs a hook,
in its own process or in one that it forks (``tests/support/forking.py``): no option, environment variable or
configuration does. Without a hook a point costs one comparison. ``tests/faults`` lists the points, and checks what must
hold afterwards.

State: the installed hook, which only a test sets.
"""

from __future__ import annotations

from collections.abc import Callable

Hook = Callable[[str], None]


def reach(point: str) -> None:
    """Report that the process has reached ``point``."""
    if _hook is not None:
        _hook(point)


def install(hook: Hook | None) -> None:
    """Call ``hook`` at each point from now on; None: no hook. For tests alone."""
    global _hook
    _hook = hook


_hook: Hook | None = None
