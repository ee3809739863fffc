"""Named places on the path of an event at which a test has the process die, and nothing else.

Why in the product: what a kill at a bad moment costs can only be tried where that moment is. ``INTENTC_CRASH=NAME:3``
kills this process (SIGKILL, as the machine would) when it comes to ``NAME`` for the third time; without the variable a
point costs one comparison. What must hold afterwards is told by ``tests/faults``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

VARIABLE = "INTENTC_CRASH"

POINTS = frozenset(
    [
        "list.page",
        "relist.begun",
        "relist.diffed",
        "batch.applied",
        "walk.done",
        "evaluate.done",
        "echo.seen",
        "allocate.sent",
        "allocate.answered",
        "free.sent",
        "free.answered",
        "create.sent",
        "create.answered",
        "update.sent",
        "update.answered",
        "ref.sent",
        "ref.answered",
        "delete.sent",
        "delete.answered",
        "lease.won",
        "lease.lost",
        "audit.begun",
    ]
)
"""``*.sent``: the request has left, its answer has not been read. ``relist.*``: every listing of the world but the
first. ``echo.seen``: of one of our own writes both the answer and the echo have come, in either order."""

Hook = Callable[[str], None]


def reach(point: str) -> None:
    """The process has come to ``point``, one of ``POINTS``."""
    if _hook is not None:
        _hook(point)


def armed() -> bool:
    """Whether anybody looks at points: what costs more than a comparison to tell of is left out otherwise."""
    return _hook is not None


def install(hook: Hook | None) -> None:
    """Have ``hook`` called at each point; None: nobody. For tests in this process."""
    global _hook
    _hook = hook


def killer(order: str) -> Hook:
    """The hook for ``NAME`` or ``NAME:count``. Raises ``ValueError`` for a name that is none, or no count."""
    name, _, count = order.partition(":")
    if name not in POINTS:
        raise ValueError(f"{VARIABLE}: there is no crash point {name!r}; there are {', '.join(sorted(POINTS))}")
    left = int(count or 1)

    def at(point: str) -> None:
        nonlocal left
        if point == name:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return at


_hook: Hook | None = killer(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None
