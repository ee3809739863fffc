"""Says what must happen before an object or an intent is as desired, and lists what could not be made.

Commands that end when nothing is left to do set their exit code by ``unmade``: what waits then waits for something that
the input lacks. The problems of the others are in the state tables.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Set

from intentc.engine.live import Live
from intentc.engine.operator_actions import SUSPECT
from intentc.engine.permission import Permission
from intentc.engine.state_tables import PAUSED, StateTables
from intentc.evaluation import BUDGET_EXCEEDED, ON_HOLD
from intentc.inspection.identities import Document, name_now, of_key, of_name
from intentc.inspection.resource_states import state_of
from intentc.logic import LiveWorld
from intentc.model import Key, Name, Problem, Read
from intentc.model.reads import allocation_read, fact_read, index_read, name_read, object_read, presence_read

_OBJECT = object_read(Key("", ""))[0]
_NAME = name_read("", ())[0]
_INDEX = index_read("", "", "")[0]
_FACTS = frozenset({fact_read("", "")[0], presence_read("", "")[0]})
_ALLOCATION = allocation_read("", "")[0]


def entry(what: str, resource: Document | None = None, command: str | None = None) -> Document:
    return {"what": what, "resource": resource, "command": command}


def why_command(resource: Document) -> str:
    """Return the command that explains a resource."""
    return f"intentc why {resource['kind']} {shlex.quote(resource['name'])}"


def for_intent(live: Live, key: Key) -> Iterator[Document]:
    """Yield what must happen before an intent can be compiled."""
    states = live.states
    name = of_key(live.world, key)
    if (problem := live.world.held.get(key)) is not None:
        yield entry(f"its stored value to be fixed: {problem.message}", name, None)
        return
    if key in states.dropped:
        yield entry("its resource to change, or an operator: it was dropped", name, _retry(name))
        return
    if (held := states.held.get(key)) is not None:
        yield _held(live.world, live.states, key, held.problem, name)
    if (rejected := states.rejected_requests.get(key)) is not None:
        yield entry(f"{rejected.problem.message}; it is requested again with back-off", name, None)
    if (read := states.waiting.get(key)) is not None:
        yield _awaited(live, read)
    elif key.kind in live.world.intent_kinds and key not in states.held and live.jobs.busy(key):
        yield entry("its turn to be evaluated", None, "intentc status")


def for_object(live: Live, name: Name) -> Iterator[Document]:
    """Yield what must happen before an object has its desired state."""
    states, claims = live.states, live.planner.book.on(name)
    own = of_name(live.world, name)
    for table, what, command in (
        (states.left_alone, "an operator to resume it", f"intentc resume {_signature(own)}"),
        (states.rejected, "a fix of what the API server rejects", _retry(own)),
        (states.contended, "the other writer to stop", _retry(own)),
        (states.delayed, "the next attempt", None),
    ):
        if (held := table.get(name)) is not None:
            yield entry(f"{what}: {held.problem.message}", None, command)
    if live.planner.guard.holds(name):
        count = len(live.planner.guard.withheld.get(name.kind, ()))
        yield entry(f"approval to delete {count} objects of this kind", None, f"intentc allow-deletes {name.kind}")
    for problem in states.problems_of_plan(name):
        if problem.reason != "DeletesHeld":
            yield entry(problem.message, None, None)
    for other in sorted(states.object_waits.get(name, ())):
        yield _other(live.world, name, other, unwanted=not claims)
    if name in states.planned:
        yield from for_permission(live.permission)
    paused = [origin for origin in claims if PAUSED in states.stopped.get(origin, ())]
    for origin in sorted(claims):
        if states.is_held(origin) or origin in live.world.held:
            intent = of_key(live.world, origin)
            state = "paused" if origin in paused else state_of(live, name_now(live.world, origin), origin)
            yield entry(f"its intent {_words(intent)}, which is {state}", intent, why_command(intent))
        elif live.jobs.busy(origin):
            yield entry(f"the evaluation of {_words(of_key(live.world, origin))}", None, "intentc status")
    if live.objects.busy(name) and name not in states.rejected and name not in states.delayed:
        if not live.throttle.reachable:
            yield entry("the API server, which can't be reached", None, "intentc status")
        elif name not in states.contended:
            yield entry("its turn to be planned and written", None, "intentc status")


def for_unclaimed(live: Live, name: Name) -> Iterator[Document]:
    """Yield what delays the deletion of an unclaimed object of ours, in addition to ``for_object``."""
    if not live.first_pass_complete:
        yield entry("the first pass: nothing is deleted before its end", None, "intentc status")
    elif live.planner.book.unknown:
        yield entry(
            "the held intents to be fixed: one of them may claim it",
            None,
            "intentc quarantine list",
        )


def for_permission(permission: Permission) -> Iterator[Document]:
    """Yield why nothing may be written now."""
    for reason, message in permission.withheld_for.items():
        yield entry(f"permission to write ({reason}): {message}", None, "intentc status")
    if not permission.withheld_for and not permission.granted:
        yield entry("the leadership or the watch of etcd, one of which is uncertain now", None, "intentc status")


def _held(world: LiveWorld, states: StateTables, key: Key, problem: Problem, name: Document) -> Document:
    if problem.reason == PAUSED:
        return entry(f"an operator to resume it: {problem.message}", name, f"intentc resume {_signature(name)}")
    if problem.reason == SUSPECT:
        return entry(problem.message, name, _retry(name))
    if (unreadable := states.held_by.get(key)) is not None:
        other = of_key(world, unreadable)
        return entry(f"{_words(other)} to be fixed: it can't be read", other, why_command(other))
    if problem.reason == BUDGET_EXCEEDED:
        return entry(f"a change of what it reads: it was cut off; {problem.message}", name, _retry(name))
    if problem.reason == ON_HOLD:
        return entry(f"its input to be fixed: {problem.message}", name, None)
    return entry(f"its evaluation to succeed: {problem.message}", name, _retry(name))


def _awaited(live: Live, read: Read) -> Document:
    """Describe the read that an intent waits for."""
    match read:
        case (sort, kind, name) if sort == _NAME:
            missing = {"kind": kind, "name": name, "uuid": ""}
            return entry(f"{_words(missing)} to be created", missing, why_command(missing))
        case (sort, kind, uuid) if sort == _OBJECT:
            other = of_key(live.world, Key(kind, uuid))
            return entry(f"{_words(other)} to be created", other, why_command(other))
        case (sort, kind, name) if sort in _FACTS:
            return entry(f"an intent to contribute to {kind} {name}", None, None)
        case (sort, kind, index, value) if sort == _INDEX:
            return entry(f"a {kind} with {index} {value}" if value else f"a {kind}", None, f"intentc get {kind}")
        case (sort, pool, _) if sort == _ALLOCATION:
            return _number(live, pool)
    return entry(" ".join(read), None, None)


def _number(live: Live, pool: str) -> Document:
    if (hindrance := next(for_permission(live.permission), None)) is not None:
        return entry(f"an allocation from {pool}, and before that {hindrance['what']}", None, "intentc status")
    if not live.throttle.reachable:
        return entry(f"an allocation from {pool}, by an API server that can't be reached", None, "intentc status")
    return entry(f"an allocation from {pool}, which is requested", None, "intentc status")


def _other(world: LiveWorld, name: Name, other: Name, *, unwanted: bool) -> Document:
    """Describe the object, another one or the object itself, that must change first."""
    own, document = other == name, of_name(world, other)
    if own:
        key = world.named(*name)
        if key is None:
            return entry("the object's creation by a user: only references on it are claimed", None, None)
        if key in world.held:
            return entry(f"its stored value to be fixed: {world.held[key].message}", None, None)
        if finalizers := _finalizers(world, key):
            return entry(f"{finalizers} to be removed: it is being deleted", None, None)
        return entry("its own deletion: it is replaced, for another owner or below another parent", None, None)
    if unwanted and _is_phased(world, other):
        return entry(f"{_words(document)} to be gone: that has a higher phase", document, why_command(document))
    if unwanted:
        return entry(f"{_words(document)} to drop its reference to it", document, why_command(document))
    if document["uuid"]:
        if _is_phased(world, other):
            return entry(f"{_words(document)} to be gone: it was made for it", document, why_command(document))
        return entry(f"{_words(document)}, which is being deleted or can't be used", document, why_command(document))
    return entry(f"{_words(document)} to be created", document, why_command(document))


def _finalizers(world: LiveWorld, key: Key) -> str:
    """The finalizers for which a deleted object waits; empty if it isn't deleted."""
    resource = world.cache.shown(key)
    if resource is None or not resource.is_being_deleted:
        return ""
    return f"its finalizers ({', '.join(resource.values().metadata.finalizers)})"


def _is_phased(world: LiveWorld, name: Name) -> bool:
    """Whether objects of this kind are deleted by phase (docs/engine.md §14.4)."""
    kind = world.schema.kinds.get(name.kind)
    return kind is not None and bool(kind.phased)


def distinct(entries: Iterable[Document]) -> list[Document]:
    """Merge ``entries`` with the same text, keeping the first resource and the first command."""
    found: dict[str, Document] = {}
    for each in entries:
        known = found.setdefault(each["what"], each)
        found[each["what"]] = {key: known[key] or each[key] for key in known}
    return list(found.values())


def summed_up(entries: Iterable[Document]) -> str:
    """Join the first two texts to the end of a sentence."""
    texts = list(dict.fromkeys(each["what"] for each in entries))
    more = f", and {len(texts) - 2} more" if len(texts) > 2 else ""
    return "; ".join(texts[:2]) + more


def _retry(name: Document) -> str:
    return f"intentc quarantine retry {_signature(name)}"


def _signature(name: Document) -> str:
    return f"{name['kind']} {shlex.quote(name['name'])}"


def _words(name: Document) -> str:
    return f"{name['kind']} {name['name']}"


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
