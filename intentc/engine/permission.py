"""Decides whether this process may write now, and under which fence; each write and each allocation asks here.

Why one place: a process that observes, stands by, has just lost its leadership, or sees a restored store must write
*nothing*, allocations included, and go on with everything else. The callers of ``withhold`` and ``lift`` know what
leading means, and when a restored store can be trusted again. ``api_throttle`` decides whether the server can be asked,
``object_planner`` whether an operator has paused an object.

State: the reasons against writes, the fence and who is notified of its rejection, and the watch that must be ready.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from ..reconcile.failures import Fenced

OBSERVING = "observing"
STANDING_BY = "standing by"
RESTORED = "restored"
UPGRADE = "upgrade"
ENDING = "ending"
"""The reasons for withholding permission: this process only observes; another process leads, or may lead; the store was
restored to an older state and has not been audited yet; this version would write much more than the last leader's; the
process ends."""

Fence = Callable[[], str | None]


class Watch(Protocol):
    """What delivers the store's events."""

    @property
    def ready(self) -> bool:
        """Whether it is open, and has delivered everything."""
        ...


class Warrant(NamedTuple):
    """``fence``: the fence that the server must check with the write; None: no check."""

    fence: str | None


_UNFENCED = Warrant(None)


class Permission:
    """Granted while no reason withholds it, the watch is ready, and the leadership is certain. The last two apply only
    if required (``require_watch``, ``require_leadership``)."""

    def __init__(self, *, observe: bool = False) -> None:
        self._withheld_for: dict[str, str] = {}
        self._fence: Fence | None = None
        self._on_fenced: Callable[[str], None] | None = None
        self._watch: Watch | None = None
        if observe:
            self.withhold(OBSERVING, "nothing is written: --observe")

    def require_watch(self, watch: Watch) -> None:
        """Require an open watch for writes: without one, plans may be based on a store that was restored meanwhile."""
        self._watch = watch

    def require_leadership(self, fence: Fence, on_fenced: Callable[[str], None]) -> None:
        """Require a leadership for writes. ``fence``: the fence of the leadership, None while it is not certain.
        ``on_fenced``: called when the server rejects this fence."""
        self._fence, self._on_fenced = fence, on_fenced

    def withhold(self, reason: str, message: str) -> None:
        """Allow no new write until ``lift``. ``message``: for people."""
        self._withheld_for[reason] = message

    def lift(self, reason: str) -> bool:
        """Remove a reason; ``Engine.lift`` calls it. True if it was the last one: plans can be carried out."""
        return self._withheld_for.pop(reason, None) is not None and not self._withheld_for

    @property
    def withheld_for(self) -> Mapping[str, str]:
        """Why permission is withheld: reason → message. An empty mapping says nothing about the fence."""
        return self._withheld_for

    @property
    def granted(self) -> bool:
        """Whether a write may begin right now."""
        return self.warrant() is not None

    def warrant(self) -> Warrant | None:
        """The warrant for one write; None if writes are not permitted. Ask for each write: the process may be stopped
        for a minute between two of them."""
        if self._withheld_for or (self._watch is not None and not self._watch.ready):
            return None
        if self._fence is None:
            return _UNFENCED
        fence = self._fence()
        return Warrant(fence) if fence is not None else None

    def fenced(self, error: Fenced, fence: str | None) -> bool:
        """The server rejected a write because another process leads. True if this process leads or led: writes stop,
        and the election runs again. False if it never claimed to lead; nothing here can repair that."""
        if self._on_fenced is None or fence is None:
            return False
        warrant = self.warrant()
        if warrant is not None and fence == warrant.fence:
            self.withhold(STANDING_BY, f"the API server rejected our fence: {error.message}")
        self._on_fenced(fence)
        return True
