"""Runs histories of a compiler whose process dies at its writes, and of users whose requests may be rejected.

What happens in a history, and what must hold, is left to the tests: of apps (``test_ends_in_order.py``) and of running
Contours (``test_running_contours.py``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from hypothesis import given
from hypothesis import strategies as st

from intentc.apiserver.errors import ApiError
from tests.property.examples import Examples
from tests.property.profiles import share
from tests.simulation.simulated_clock import simulate
from tests.support.app_system import Killed

Step = tuple[Any, ...]
Live = Callable[[list[Step]], Coroutine[Any, Any, set[str]]]
"""Lives through a history and returns the features that it showed."""


class System(Protocol):
    """A compiler's process over a store and a cluster."""

    def start(self) -> None: ...

    async def work(self, steps: int | None = None) -> None: ...


def live_through(live: Live, histories: st.SearchStrategy[list[Step]], part: float, *demanded: str) -> None:
    """Live through random histories, ``part`` of the usual number. ``demanded``: features that many must show."""
    examples = Examples("deleted while it runs", "removed by force", "died at a write", *demanded)

    @share(part)
    @given(histories)
    def one(history: list[Step]) -> None:
        examples.note(simulate(live, history))

    one()
    examples.check()


async def work_or_die(system: System, steps: int, seen: set[str]) -> None:
    """Work for some steps of the cluster; a process that dies is followed by another one."""
    try:
        await system.work(steps)
    except Killed:
        seen.add("died at a write")
        system.start()
        await system.work(steps)


async def is_taken(request: Awaitable[None]) -> bool:
    """Whether the server takes a request: it rejects what is absent, and changes of what is being deleted."""
    try:
        await request
    except ApiError as error:
        assert error.status in (404, 409), error.message
        return False
    return True
