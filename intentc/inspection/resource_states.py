"""One word for how a resource stands, the same in every answer.

``in order``; ``queued``: its turn comes; ``waiting``: something must come first; ``held``: its intent gives no answer,
what it made stays; ``refused``: the server won't have it; ``delayed``: a write failed and is tried again;
``contended``: another writer sets it back; ``paused``: by an operator, or given up; ``planned``: nothing may be written
now;
``withheld``: its deletion needs leave; ``absent``. What must come is told by ``waiting``.
"""

from __future__ import annotations

from intentc.engine.operator_actions import PAUSED
from intentc.engine.parts import Parts
from intentc.model import HeldInput, Key, Name
from intentc.planning.ownership import Ownership, ownership_of_object

IN_ORDER = "in order"
QUEUED = "queued"
WAITING = "waiting"
HELD = "held"
REFUSED = "refused"
DELAYED = "delayed"
CONTENDED = "contended"
PAUSED_STATE = "paused"
PLANNED = "planned"
WITHHELD = "withheld"
ABSENT = "absent"

STATES = (IN_ORDER, WAITING, HELD, REFUSED, DELAYED, CONTENDED, PAUSED_STATE, PLANNED, QUEUED, WITHHELD, ABSENT)

LOWER = "lower"
HIGHER = "higher"
BOTH = "both"
FACT = "fact"
NONE = "none"


def state_of(parts: Parts, name: Name, key: Key | None) -> str:
    """How a resource stands, as what is compiled and as what is made. ``key``: the object or fact of this name, None if
    there is none. A handful of look-ups, so that it can be asked of very many."""
    compiled = _of_intent(parts, key) if key is not None else IN_ORDER
    if compiled != IN_ORDER:
        return compiled
    return _of_object(parts, name, key)


def is_made(parts: Parts, name: Name, key: Key | None) -> bool:
    """Whether compilers want something of this object, or it carries our mark."""
    if name in parts.book:
        return True
    state = parts.logic.cache.shown(key) if key is not None else None
    return state is not None and state.mark is not None and state.mark.installation == parts.installation


def role_of(parts: Parts, name: Name, key: Key | None) -> str:
    """``higher``: an intent stands for it; ``lower``: compilers make it or write on it; ``both``; ``fact``; ``none``.
    One that isn't there: what it would be."""
    declared = parts.schema.kinds.get(name.kind)
    if declared is not None and not declared.stored:
        return FACT
    made = is_made(parts, name, key) or (key is None and declared is not None and declared.system)
    compiled = name.kind in parts.logic.intent_kinds
    if made:
        return BOTH if compiled else LOWER
    return HIGHER if compiled else NONE


def ownership_of(parts: Parts, name: Name) -> str | None:
    """Whose the object is: ``ours``, ``shared`` (ours, of whoever claims it), ``system``, ``user's``, ``another
    installation's``, ``copy``; None if it isn't there or can't be read."""
    try:
        actual = parts.assumed.actual(name)
    except HeldInput:
        return None
    if actual is None:
        return None
    match ownership_of_object(actual, parts.installation):
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


def _of_intent(parts: Parts, key: Key) -> str:
    stands = parts.states
    if key in parts.logic.held:
        return HELD
    if key.kind not in parts.logic.intent_kinds:
        return IN_ORDER
    if key in stands.dropped:
        return PAUSED_STATE
    if key in stands.held:
        return PAUSED_STATE if PAUSED in stands.stopped.get(key, ()) else HELD
    if key in stands.numbers_refused:
        return REFUSED
    if key in stands.waiting:
        return WAITING
    if parts.jobs.busy(key) or key not in stands.evaluated:
        return QUEUED
    return IN_ORDER


def _of_object(parts: Parts, name: Name, key: Key | None) -> str:
    stands = parts.states
    made = is_made(parts, name, key)
    for state, table in (
        (PAUSED_STATE, stands.left_alone),
        (REFUSED, stands.refused),
        (CONTENDED, stands.contended),
        (DELAYED, stands.delayed),
    ):
        if name in table:
            return state
    if parts.planner.guard.holds(name):
        return WITHHELD
    claims = parts.book.on(name)
    if claims and all(PAUSED in stands.stopped.get(origin, ()) for origin in claims):
        return PAUSED_STATE
    if name in stands.object_waits or (made and stands.told_of(name)):
        return WAITING
    if name in stands.planned:
        return PLANNED
    if any(stands.is_held(origin) or origin in parts.logic.held for origin in claims):
        return HELD
    if parts.objects.busy(name) or any(map(parts.jobs.busy, claims)):
        return QUEUED
    if key is None:
        return QUEUED if claims else ABSENT
    if made and not claims:
        # Ours, unclaimed, and not about to go: who might want it gives no answer, or the first pass is not over.
        return HELD
    return IN_ORDER
