"""Computes the state, the role and the ownership of a resource: one word each, the same in every answer.

The states: ``as desired``; ``queued``: its job waits; ``waiting``: something else must exist first; ``held``: its
intent can't be compiled, its outputs stay; ``rejected``: the API server rejects it; ``delayed``: a write failed and is
tried again; ``contended``: another writer reverts it; ``paused``: by an operator, or dropped; ``planned``: nothing may
be written now; ``withheld``: its deletion needs approval; ``absent``. ``awaited`` says what must happen first.
"""

from __future__ import annotations

from intentc.diagnostics.questions import ObjectState
from intentc.engine.live import Live
from intentc.engine.state_tables import PAUSED
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Name
from intentc.planning import Planner
from intentc.planning.ownership import Ownership, ownership_of_object

OUTPUT = "output"
INPUT = "input"
BOTH = "both"
FACT = "fact"
NONE = "none"


def state_of(live: Live, name: Name, key: Key | None) -> str:
    """Return the state of a resource, as an input and as an output. ``key``: the object or fact of this name, None if
    there is none. It costs a few look-ups, so it can be computed for very many resources."""
    compiled = _of_intent(live, key) if key is not None else ObjectState.AS_DESIRED
    if compiled != ObjectState.AS_DESIRED:
        return compiled
    return _of_object(live, name, key)


def is_made(world: LiveWorld, planner: Planner, name: Name, key: Key | None) -> bool:
    """Return whether an intent claims a part of this object, or it carries our mark."""
    if planner.book.is_written(name):
        return True
    state = world.cache.shown(key) if key is not None else None
    return state is not None and state.mark is not None and state.mark.installation == world.installation


def role_of(world: LiveWorld, planner: Planner, name: Name, key: Key | None) -> str:
    """Return ``higher``: it has an intent; ``lower``: compilers make it or write on it; ``both``; ``fact``; ``none``.
    An absent resource has the role that it would have."""
    declared = world.schema.kinds.get(name.kind)
    if declared is not None and not declared.stored:
        return FACT
    made = is_made(world, planner, name, key) or (key is None and declared is not None and declared.system)
    compiled = name.kind in world.intent_kinds
    if made:
        return BOTH if compiled else OUTPUT
    return INPUT if compiled else NONE


def ownership_of(world: LiveWorld, planner: Planner, name: Name) -> str | None:
    """Return the ownership: ``ours``, ``shared`` (ours, of every claimant), ``system``, ``user's``, ``another
    installation's``, ``copy``; None if the object doesn't exist or can't be read."""
    try:
        actual = planner.assumed.actual(name)
    except HeldInput:
        return None
    if actual is None:
        return None
    match ownership_of_object(actual, world.installation):
        case Ownership.OURS:
            return "shared" if actual.mark is not None and actual.mark.origin == "shared" else "ours"
        case Ownership.SYSTEM:
            return "system"
        case Ownership.USERS:
            return "user's"
        case Ownership.OTHERS:
            return "another installation's"
        case Ownership.COPY:
            return "copy"


def _of_intent(live: Live, key: Key) -> str:
    world, states = live.world, live.states
    if key in world.held:
        return ObjectState.HELD
    if key.kind not in world.intent_kinds:
        return ObjectState.AS_DESIRED
    if key in states.dropped:
        return ObjectState.PAUSED
    if key in states.held:
        return ObjectState.PAUSED if PAUSED in states.stopped.get(key, ()) else ObjectState.HELD
    if key in states.rejected_requests:
        return ObjectState.REJECTED
    if key in states.waiting:
        return ObjectState.WAITING
    if live.jobs.busy(key) or key not in states.evaluated:
        return ObjectState.QUEUED
    return ObjectState.AS_DESIRED


def _of_object(live: Live, name: Name, key: Key | None) -> str:
    states = live.states
    made = is_made(live.world, live.planner, name, key)
    for state, table in (
        (ObjectState.PAUSED, states.left_alone),
        (ObjectState.REJECTED, states.rejected),
        (ObjectState.CONTENDED, states.contended),
        (ObjectState.DELAYED, states.delayed),
    ):
        if name in table:
            return state
    if live.planner.guard.holds(name):
        return ObjectState.WITHHELD
    claims = live.planner.book.on(name)
    if claims and all(PAUSED in states.stopped.get(origin, ()) for origin in claims):
        return ObjectState.PAUSED
    if name in states.object_waits or (made and states.problems_of_plan(name)):
        return ObjectState.WAITING
    if name in states.planned:
        return ObjectState.PLANNED
    if any(states.is_held(origin) or origin in live.world.held for origin in claims):
        return ObjectState.HELD
    if live.objects.busy(name) or any(map(live.jobs.busy, claims)):
        return ObjectState.QUEUED
    if key is None:
        return ObjectState.QUEUED if claims else ObjectState.ABSENT
    if made and not claims:
        # Ours, unclaimed, and not to be deleted: an intent that may claim it is held, or the first pass is not over.
        return ObjectState.HELD
    return ObjectState.AS_DESIRED
