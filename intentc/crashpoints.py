"""Named points on an event's path at which a test kills the process.

Why in the product: the cost of a kill at a bad moment can only be tested at that moment. Only a test installs a hook,
in its own process or in one that it forks (``tests/support/forking.py``): no option, environment variable or
configuration does. Without a hook a point costs one comparison. ``tests/faults`` checks what must hold afterwards.

State: the installed hook, which only a test sets. What the hook does is the test's.
"""

from __future__ import annotations

from collections.abc import Callable

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

BRIDGE_POINTS = frozenset(
    [
        "cluster.page",
        "create.sent",
        "copy.answered",
        "delete.sent",
        "mark.written",
        "status.sent",
        "event.sent",
        "lease.won",
    ]
)
"""Those of the Kubernetes bridge. ``cluster.page``: a page of a list is taken in; ``copy.answered``: the answer to the
write of a copy was read, its echo was not seen; ``mark.written``: etcd has the mark of a kind; ``status.sent``: the
cluster has answered the write of a status, the answer is not taken in; ``event.sent``: the cluster has an Event, which
is not noted as reported."""

PUBLISHER_POINTS = frozenset(
    [
        "gateway.read",
        "gateway.recorded",
        "document.begun",
        "document.sent",
        "document.done",
        "document.kept",
        "rejection.answered",
        "rejection.recorded",
        "addresses.recorded",
        "create.sent",
        "update.sent",
        "lease.won",
    ]
)
"""Those of the publisher of Application Gateways. ``document.begun``: etcd says that a write begins, Azure was not
asked; ``document.sent``: Azure has accepted the document, and works on it; ``document.done``: Azure has ended, nothing
is recorded; ``rejection.answered``: Azure has rejected the document, nobody is left out yet."""

Hook = Callable[[str], None]


def reach(point: str) -> None:
    """Report that the process has reached ``point``, one of ``POINTS``, ``BRIDGE_POINTS`` or
    ``PUBLISHER_POINTS``."""
    if _hook is not None:
        _hook(point)


def armed() -> bool:
    """Whether a hook is installed; without one, skip what costs more than a comparison."""
    return _hook is not None


def install(hook: Hook | None) -> None:
    """Call ``hook`` at each point from now on; None: no hook. For tests alone."""
    global _hook
    _hook = hook


_hook: Hook | None = None
