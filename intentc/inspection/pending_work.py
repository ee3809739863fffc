"""Describes what the engine waits for (``work_left``) and what a person must do (``attention``).

Why two lists: the first empties without help, and shows progress; the second stays until somebody acts, so each line
names the command. A line is one sentence without its full stop, the most important first. Lines show names and never
contents.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Iterator, Sequence, Sized
from datetime import UTC, datetime
from itertools import islice

from intentc.engine.live import Live
from intentc.engine.permission import OBSERVING, UPGRADE
from intentc.engine.state_tables import StateTables
from intentc.inspection.quarantined import held_intents, paused_intents, unreadable_others
from intentc.inspection.status_tables import Rates
from intentc.logic import LiveWorld, Pending
from intentc.model import Name, Read

_NAMED = 5
"""Contended objects, and paused intents, that are named."""


def at(since: float) -> str:
    """Format a time of day (UTC) for people; ``since``: seconds since 1970."""
    return datetime.fromtimestamp(since, UTC).strftime("%H:%M:%S UTC")


def counted(number: int, one: str) -> str:
    """Format a count: ``1 write``, ``1,200 writes``."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def work_left(live: Live, rates: Rates) -> Iterator[str]:
    """Yield what is left to do before the engine has converged."""
    world, states, throttle, allocations = live.world, live.states, live.throttle, live.allocations
    if not throttle.reachable:
        yield unreachable_server(rates)
    elif throttle.seconds:
        yield f"the end of the pause that the API server asked for, in {throttle.seconds:.0f} s"
    jobs = live.jobs.pending()
    if not live.first_pass_complete:
        total = live.evaluator.runs + live.evaluator.idle_walks + jobs
        yield f"the first pass: {total - jobs:,} of {total:,} intents are evaluated"
    elif jobs:
        yield f"the evaluation of {counted(jobs, 'intent')}"
    if cooling_down := len(live.evaluator.cooling_down):
        yield f"the cooldown of {counted(cooling_down, 'expensive intent')}"
    if not allocations.loop.settled or allocations.requested:
        yield _requested_allocations(world, states, allocations.requested)
    if objects := live.objects.pending():
        yield f"the comparison of {counted(objects, 'object')} with their desired state"
    if in_flight := live.writes.loop.in_flight:
        yield f"the API server's answer to the writes of {counted(in_flight, 'object')}"
    behind = live.sender.last_revision
    if world.revision < behind:
        yield f"the watch, which is at revision {world.revision}; our last write has revision {behind}"
    if states.delayed:
        name = next(iter(states.delayed))
        entry, more = states.delayed.get(name), _more(states.delayed)
        because = f": {entry.problem.message}" if entry is not None else ""
        due = _due(live, (name,), " ")
        yield f"the next attempt to write {name.kind} {':'.join(name.fq_name)}{more}{due}{because}"
    if states.planned and OBSERVING not in live.permission.withheld_for:
        yield f"permission to write the plans of {counted(len(states.planned), 'object')}"


def unreachable_server(rates: Rates) -> str:
    """Describe an API server that can't be reached."""
    return f"the API server, which can't be reached{away_since(rates)}"


def away_since(rates: Rates) -> str:
    """`` since 20:49:49 UTC``: since when the API server can't be reached; empty if no sample shows it yet."""
    return f" since {at(rates.away_since)}" if rates.away_since else ""


def attention(live: Live, pending: int, examples: Sequence[Pending]) -> Iterator[str]:
    """Yield what a person must do, each with the command that does it or shows more. ``pending``: how many references
    have no target; ``examples``: the first of them."""
    states, reasons = live.states, live.permission.withheld_for
    if UPGRADE in reasons:
        yield reasons[UPGRADE]
    for kind, names in sorted(live.planner.guard.withheld.items()):
        yield f"{counted(len(names), 'delete')} of {kind} withheld as a mass deletion: `intentc allow-deletes {kind}`"
    held, example = held_intents(live)
    if example is not None:
        more = f" and {held - 1:,} more" if held > 1 else ""
        named = f"{example.kind} {live.world.name_of(example)}{more}"
        yield f"held, their outputs stay as they are: {named}: `intentc quarantine list`"
    paused = paused_intents(live.world, live.states)
    for key, problem in paused[:_NAMED]:
        yield f"{problem.message}: `intentc resume {key.kind} {shlex.quote(live.world.name_of(key))}`"
    if len(paused) > _NAMED:
        yield f"paused, too: {counted(len(paused) - _NAMED, 'intent')}: `intentc quarantine list`"
    others, example = unreadable_others(live.world)
    if example is not None:
        more = f" and {others - 1:,} more" if others > 1 else ""
        named = f"{example.kind} {live.world.name_of(example)}{more}"
        yield f"unreadable, left as it is: {named}: `intentc quarantine list`"
    if states.rejected:
        name = next(iter(states.rejected))
        more = _more(states.rejected)
        yield f"rejected by the API server: {name.kind} {':'.join(name.fq_name)}{more}: `intentc quarantine list`"
    if states.contended:
        shown = [f"{name.kind} {':'.join(name.fq_name)}" for name in islice(states.contended, _NAMED)]
        more = f" and {len(states.contended) - _NAMED:,} more" if len(states.contended) > _NAMED else ""
        due = _due(live, islice(states.contended, _NAMED), ", next try ")
        yield f"reverted by another writer: {', '.join(shown)}{more}{due}: `intentc quarantine list`"
    if states.dropped:
        yield f"dropped by an operator: {counted(len(states.dropped), 'intent')}: `intentc quarantine list`"
    for key, link in islice(examples, 1):
        holder = f"{key.kind} {live.world.name_of(key)}"
        more = f", and {counted(pending - 1, 'more reference')} like that" if pending > 1 else ""
        yield f"missing: {link.kind} {link.value}, to which {holder} refers{more}: `intentc why {holder}`"


def _due(live: Live, names: Iterable[Name], before: str) -> str:
    """When the first of these objects is written again, after the text ``before``; empty if no time is set for that."""
    seconds = [left for name in names if (left := live.objects.seconds_left(name)) is not None]
    return f"{before}at {at(time.time() + min(seconds))}" if seconds else ""


def _requested_allocations(world: LiveWorld, states: StateTables, requested: int) -> str:
    waiting = ((key, read) for key, read in states.waiting.items() if read[0] == "allocation")
    for key, read in islice(waiting, 1):
        more = f" and {requested - 1:,} more" if requested > 1 else ""
        return f"an allocation from {_pool(read)} for {key.kind} {world.name_of(key)}{more}"
    return "the reading of the allocations"


def _pool(read: Read) -> str:
    return read[1]


def _more(table: Sized) -> str:
    return f" and {len(table) - 1:,} more" if len(table) > 1 else ""
