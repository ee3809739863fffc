"""Whether writes may be begun now, and under which fence: the one gate before everything that changes something.

Why one: a compiler that observes, stands by, has just lost its leadership, or sees a store that was put back must not
write *anything*, numbers included, and goes on with all else. What leading is, and when a restored store may be
trusted again, is decided by those who withhold and give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..writing import Fenced

OBSERVING = "observing"
STANDING_BY = "standing by"
RESTORED = "restored"
UPGRADE = "upgrade"
ENDING = "ending"
"""The reasons for which permission is withheld: asked to only observe; another leads, or may; the store was put back
to an older state and has not been audited yet; another version than the last leader's would write very much;
the process ends."""

Fence = Callable[[], str | None]


class Warrant(NamedTuple):
    """``fence``: what the server shall check with the write; None: nothing."""

    fence: str | None


class Permission:
    """Granted while no reason stands against it, the store is seen (``see_by``) and, if somebody leads (``lead_by``),
    the leadership is surely held."""

    def __init__(self, *, observe: bool = False) -> None:
        self._reasons: dict[str, str] = {}
        self._fence: Fence | None = None
        self._on_fenced: Callable[[str], None] | None = None
        self._sees: Callable[[], bool] = lambda: True
        self.on_given: Callable[[], None] = lambda: None
        """Called when the last reason has gone: what was only planned until now can be carried out."""
        if observe:
            self.withhold(OBSERVING, "nothing is written: --observe")

    def see_by(self, sees: Callable[[], bool]) -> None:
        """Writes need an open watch from now on: who doesn't see the store may be planning from one that was put back
        meanwhile."""
        self._sees = sees

    def lead_by(self, fence: Fence, on_fenced: Callable[[str], None]) -> None:
        """Writes need a leadership from now on. ``fence``: that of the leadership, None if it isn't surely held at this
        very moment. ``on_fenced``: the server has refused this fence."""
        self._fence, self._on_fenced = fence, on_fenced

    def withhold(self, reason: str, message: str) -> None:
        """No write may be begun any more, until ``give``. ``message``: for people."""
        self._reasons[reason] = message

    def give(self, reason: str) -> None:
        """This reason stands no longer."""
        if self._reasons.pop(reason, None) is not None and not self._reasons:
            self.on_given()

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why not: reason → message. Empty says nothing about the fence."""
        return self._reasons

    @property
    def granted(self) -> bool:
        """Whether a write may be begun at this very moment."""
        return self.warrant() is not None

    def warrant(self) -> Warrant | None:
        """What a write is begun with; None if none may be. Asked once for each write: between two questions the process
        may stand still for a minute."""
        if self._reasons or not self._sees():
            return None
        if self._fence is None:
            return Warrant(None)
        fence = self._fence()
        return Warrant(fence) if fence is not None else None

    def fenced(self, error: Fenced, fence: str | None) -> bool:
        """The server has refused a write since another compiler leads. True if that was expected of it: writing stops,
        and a leadership is asked for anew. False if we never claimed to lead, which nothing here can mend."""
        if self._on_fenced is None or fence is None:
            return False
        warrant = self.warrant()
        if warrant is not None and fence == warrant.fence:
            self.withhold(STANDING_BY, f"the API server refused our fence: {error.message}")
        self._on_fenced(fence)
        return True
