"""Named points on an event's path at which a test kills the process.

Why in the product: the cost of a kill at a bad moment can only be tested at that moment. ``INTENTC_CRASH=NAME:3`` kills
this process (SIGKILL, as a machine failure would) when it reaches ``NAME`` for the third time; without the variable a
point costs one comparison. ``tests/faults`` checks what must hold afterwards.
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
"""``*.sent``: the request was sent, its answer not yet read. ``relist.*``: every listing of the world but the first.
``echo.seen``: both the answer and the echo of one of our own writes have arrived, in either order."""

Hook = Callable[[str], None]


def reach(point: str) -> None:
    """Report that the process has reached ``point``, one of ``POINTS``."""
    if _hook is not None:
        _hook(point)


def armed() -> bool:
    """Whether a hook is installed; without one, skip what costs more than a comparison."""
    return _hook is not None


def install(hook: Hook | None) -> None:
    """Call ``hook`` at each point from now on; None: no hook. For tests in this process."""
    global _hook
    _hook = hook


def killer(order: str) -> Hook:
    """The hook for ``NAME`` or ``NAME:count``. Raises ``ValueError`` for an unknown name or an invalid count."""
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
