"""What the engine waits for, in words: what time or a server must bring (``work_left``), and what a person must do
(``attention``).

Why two: the first empties itself, and says how far it is; the second stays until somebody acts, and so names the
command that does. Each line is one sentence without its full stop, the most important first. Names are shown, contents
never.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from datetime import UTC, datetime
from itertools import islice

from intentc.engine.allocations import Allocations
from intentc.engine.evaluator import Evaluator
from intentc.engine.orphan_collector import OrphanCollector
from intentc.engine.parts import Parts
from intentc.engine.permission import OBSERVING, UPGRADE
from intentc.engine.quarantined import held_intents, unreadable_others
from intentc.engine.reconciler import Reconciler
from intentc.logic.cache import Pending
from intentc.model import Read

from .rates import Rates

_CONTENDED = 5
"""Objects in contention that are named."""


def at(since: float) -> str:
    """A time of the day (UTC) for people; ``since``: seconds since 1970."""
    return datetime.fromtimestamp(since, UTC).strftime("%H:%M:%S UTC")


def counted(number: int, one: str, many: str = "") -> str:
    """``1 write``, ``1,200 writes``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def work_left(
    parts: Parts,
    orphan_collector: OrphanCollector,
    evaluator: Evaluator,
    reconciler: Reconciler,
    numbers: Allocations,
    rates: Rates,
) -> Iterator[str]:
    """What is left to do before the engine has converged."""
    throttle, states = parts.throttle, parts.states
    if not throttle.reachable:
        yield "the API server, which can't be reached" + (f" since {at(rates.away_since)}" if rates.away_since else "")
    elif not throttle.open:
        yield f"the end of the pause that the API server asked for, in {throttle.closed_for:.0f} s"
    jobs = parts.jobs.pending()
    if not orphan_collector.complete:
        total = evaluator.runs + evaluator.idle_walks + jobs
        yield f"the first pass: {total - jobs:,} of {total:,} intents are evaluated"
    elif jobs:
        yield f"the evaluation of {counted(jobs, 'intent')}"
    if evaluator.cooling_down:
        yield f"another evaluation of {counted(len(evaluator.cooling_down), 'intent')} that took long the last time"
    if not numbers.settled or numbers.requested:
        yield _requested_numbers(parts, numbers)
    if objects := parts.objects.pending():
        yield f"a look at {counted(objects, 'object')}: what is there against what should be"
    if reconciler.in_flight:
        yield f"the API server's answers about {counted(reconciler.in_flight, 'object')}"
    behind = reconciler.sender.last_revision
    if parts.logic.revision < behind:
        yield f"the watch to come from revision {parts.logic.revision} to {behind}, where our last write was answered"
    if states.delayed:
        name = next(iter(states.delayed))
        told, more = states.delayed.get(name), _more(states.delayed)
        because = f": {told.problem.message}" if told is not None else ""
        yield f"another try to write {name.kind} {':'.join(name.fq_name)}{more}{because}"
    if states.planned and OBSERVING not in parts.permission.reasons:
        yield f"leave to write what is planned for {counted(len(states.planned), 'object')}"


def attention(parts: Parts, pending: int, examples: Sequence[Pending]) -> Iterator[str]:
    """What somebody must do, each with the command that does it or tells more. ``pending``: how many references have no
    target; ``examples``: the first that have none."""
    states, reasons = parts.states, parts.permission.reasons
    if UPGRADE in reasons:
        yield reasons[UPGRADE]
    for kind, names in sorted(parts.planner.guard.withheld.items()):
        yield f"{counted(len(names), 'delete')} of {kind} withheld, since they are many: `intentc allow-deletes {kind}`"
    held, example = held_intents(parts)
    if example is not None:
        more = f" and {held - 1:,} more" if held > 1 else ""
        named = f"{example.kind} {parts.logic.name_of(example)}{more}"
        yield f"held, and what they made stays as it is: {named}: `intentc quarantine list`"
    others, example = unreadable_others(parts)
    if example is not None:
        more = f" and {others - 1:,} more" if others > 1 else ""
        named = f"{example.kind} {parts.logic.name_of(example)}{more}"
        yield f"can't be read, and stays as it is: {named}: `intentc quarantine list`"
    if states.refused:
        name = next(iter(states.refused))
        more = _more(states.refused)
        yield f"refused by the API server: {name.kind} {':'.join(name.fq_name)}{more}: `intentc quarantine list`"
    if states.contended:
        shown = [f"{name.kind} {':'.join(name.fq_name)}" for name in islice(states.contended, _CONTENDED)]
        more = f" and {len(states.contended) - _CONTENDED:,} more" if len(states.contended) > _CONTENDED else ""
        yield f"set back by another writer: {', '.join(shown)}{more}: `intentc quarantine list`"
    if states.dropped:
        yield f"given up by order: {counted(len(states.dropped), 'intent')}: `intentc quarantine list`"
    for key, link in islice(examples, 1):
        holder = f"{key.kind} {parts.logic.name_of(key)}"
        more = f", and {counted(pending - 1, 'more reference')} like that" if pending > 1 else ""
        yield f"not there: {link.kind} {link.value}, to which {holder} refers{more}: `intentc why {holder}`"


def _requested_numbers(parts: Parts, numbers: Allocations) -> str:
    waiting = ((key, read) for key, read in parts.states.waiting.items() if read[0] == "allocation")
    for key, read in islice(waiting, 1):
        more = f" and {numbers.requested - 1:,} more" if numbers.requested > 1 else ""
        return f"a number out of {_pool(read)} for {key.kind} {parts.logic.name_of(key)}{more}"
    return "the ledger of numbers"


def _pool(read: Read) -> str:
    return read[1]


def _more(table: Sized) -> str:
    return f" and {len(table) - 1:,} more" if len(table) > 1 else ""
