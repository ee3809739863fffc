"""Lists the intents and objects whose outputs could not be made, and what waiting intents wait for.

Commands that end when nothing is left to do set their exit code by it: what waits then waits for something that the
input lacks. The problems of the others are in the state tables. It reads the engine and changes nothing.
"""

from __future__ import annotations

from collections.abc import Set

from ..engine.live import Live
from ..model import Key, Name, Problem
from .why.waiting import for_intent, summed_up


def unmade(live: Live) -> Set[Key | Name]:
    """The intents and objects that are held, rejected, contended, deferred or waiting."""
    world, states = live.world, live.states
    intents = {*world.held, *states.held, *states.rejected_requests, *states.waiting}
    return {*intents, *states.rejected, *states.delayed, *states.contended}


def waits(live: Live) -> tuple[Problem, ...]:
    """What intents wait for, as problems; rejected requests for allocations are problems already."""
    states = live.states
    return tuple(
        Problem(key.kind, live.world.name_of(key), "Waiting", f"it waits for {summed_up(for_intent(live, key))}")
        for key in sorted(states.waiting)
        if key not in states.rejected_requests
    )
