"""Shows the sources of an output in the answer to "why": owners, parts with their reasons, and what was read.

If more than 200 intents claim the object, only 200 are evaluated for their reasons, in slices. The evaluations leave
outputs as they are, and are remembered and guarded as ``why`` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import NamedTuple

from intentc.engine.live import Live
from intentc.engine.operator_actions import SUSPECT
from intentc.engine.state_tables import StateTables
from intentc.evaluation import BUDGET_EXCEEDED
from intentc.inspection.compared import Contents
from intentc.inspection.identities import Document, of_key, of_source, with_revision
from intentc.inspection.traversal import FACTS, reached, sliced, with_contributors
from intentc.logic import LiveWorld
from intentc.logic.live_world import answering
from intentc.model import (
    SHARED,
    Claim,
    HeldInput,
    Key,
    Name,
    Reason,
    RelationClaim,
    ResourceClaim,
    Source,
    claimed,
)
from intentc.model.claims import claimed_parts
from intentc.planning import Planner

_MOST_ALTERNATIVES = 100
"""Most reasons that replace one with facts as sources: one for each combination of contributors."""

_MOST_COMPARED = 100
"""Most reasons of one part that are compared with each other."""

_AT_ONCE = 200
"""Reasons that are added before the loop gets its turn."""

_HEAD = re.compile(r"[^.\[]+")
_NUMBER = re.compile(r"(\d+)")


class Because(NamedTuple):
    """One reason for a part, given by ``intent`` or by default. All ``sources`` are needed; they are stored
    resources."""

    intent: Key
    sources: tuple[Source, ...]


def parts_of(live: Live, name: Name) -> dict[str, tuple[Because, ...]]:
    """Return part → reasons for the object ``name``, from every intent that claims it, in reading order; ``""``, the
    object itself, is first. Empty without a claim."""
    merging = Merging(live, name)
    for origin in origins_of(live, name):
        merging.add(origin)
    return merging.result()


def reads_of(live: Live, name: Name) -> frozenset[Key]:
    """Return every stored resource that the evaluations behind an object read, also through facts."""
    intents = with_contributors(live.world, origins_of(live, name))
    return frozenset(key for intent in intents for key in _read_by(live.world, intent))


def _read_by(world: LiveWorld, intent: Key) -> Iterator[Key]:
    """Yield the stored resources that one intent has read itself."""
    for read in world.reads.reads_of(intent):
        if read[0] not in FACTS:
            yield from answering(world, read)


def origins_of(live: Live, name: Name) -> tuple[Key, ...]:
    """Return the intents that claim an object, sorted; for an unclaimed one the intent of its mark, if that is not
    evaluated yet."""
    claiming = live.planner.book.on(name)
    if claiming:
        return tuple(sorted(claiming))
    try:
        actual = live.planner.assumed.actual(name)
    except HeldInput:
        return ()
    mark = actual.mark if actual is not None else None
    if mark is None or mark.installation != live.world.installation or mark.origin == SHARED:
        return ()
    keys = (Key(kind, mark.origin) for kind in live.world.intent_kinds)
    return tuple(sorted(key for key in keys if live.world.exists(key) and key not in live.states.evaluated))


def stored_behind(world: LiveWorld, intents: Iterable[Key]) -> tuple[Key, ...]:
    """Return the stored resources of intents, each once, in order; for a fact its contributors, through any number of
    facts."""

    def contributors(key: Key) -> Iterator[Key]:
        if _is_fact(world, key.kind):
            yield from (contributor for contributor, _ in world.contributions(key.kind, key.uuid))

    return tuple(key for key in reached(intents, contributors) if not _is_fact(world, key.kind))


class Merging:
    """Gathers the parts of the object ``name`` from one intent after another, in steps."""

    def __init__(self, live: Live, name: Name) -> None:
        self._live = live
        self._name = name
        self._reasons: dict[str, dict[Because, None]] = {}

    def add(self, origin: Key, *, evaluate: bool = True) -> None:
        """Evaluate one intent and add its reasons; without ``evaluate`` add the default ones."""
        for _ in self.adding(origin, evaluate=evaluate):
            pass

    def adding(self, origin: Key, *, evaluate: bool = True) -> Iterator[None]:
        """Do the same in steps, since an object may have some thousand parts. Only this instance changes."""
        world = self._live.world
        reasons, begun = self._explained(origin) if evaluate else ((), ())
        claims = self._live.planner.book.on(self._name).get(origin) or begun
        by_default = [(_whole(world, key),) for key in stored_behind(world, [origin])]
        yield
        whole = []
        for place, reason in enumerate(reasons):
            for sources in _stored(world, reason.sources):
                self._note(reason.part, origin, sources)
                if not reason.part:
                    whole.append(sources)
            if place % _AT_ONCE == 0:
                yield
        if not (reasons or claims):
            for sources in by_default:
                self._note("", origin, sources)
        for part in _unexplained(claims, reasons):
            for sources in whole or by_default:
                self._note(part, origin, sources)

    def result(self) -> dict[str, tuple[Because, ...]]:
        """Return part → reasons so far."""
        return {part: _needed(tuple(self._reasons[part])) for part in sorted(self._reasons, key=in_order)}

    def _note(self, part: str, origin: Key, sources: tuple[Source, ...]) -> None:
        self._reasons.setdefault(part, {})[Because(origin, sources)] = None

    def _explained(self, origin: Key) -> tuple[tuple[Reason, ...], tuple[Claim, ...]]:
        """Return the intent's reasons for this object, and its claims on it up to where the evaluation ended."""
        if not may_evaluate(self._live.world, self._live.states, origin):
            return (), ()
        explained = self._live.runner.explain(origin)
        begun = tuple(claim for claim in explained.begun if claimed(claim) == self._name)
        return explained.reasons.get(self._name, ()), begun


def may_evaluate(world: LiveWorld, states: StateTables, key: Key) -> bool:
    """Return whether an intent may be evaluated only for an answer: not if it exceeds its budget or is suspect."""
    if key.kind not in world.intent_kinds or SUSPECT in states.stopped.get(key, ()):
        return False
    return all(problem.reason != BUDGET_EXCEEDED for problem in states.problems_of_run(key))


def in_order(part: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key for parts that compares numbers by value: rule 2 precedes rule 10."""
    return tuple((1, int(text), "") if text.isdecimal() else (0, 0, text) for text in _NUMBER.split(part) if text)


def _needed(reasons: tuple[Because, ...]) -> tuple[Because, ...]:
    """Drop each reason whose sources are a proper superset of another's."""
    if not 1 < len(reasons) <= _MOST_COMPARED:
        return reasons
    sets = [frozenset(reason.sources) for reason in reasons]
    return tuple(reason for reason, own in zip(reasons, sets, strict=True) if not any(other < own for other in sets))


def _unexplained(claims: Iterable[Claim], reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield the claimed parts without a reason: the object itself, fields, references."""
    parts = {reason.part for reason in reasons}
    heads = {head[0] for part in parts if (head := _HEAD.match(part))}
    for claim in claims:
        # A whole list that stays is no head of its references, which have reasons of their own.
        explained = parts if isinstance(claim, RelationClaim) else parts | heads
        yield from (part for part in claimed_parts(claim) if part not in explained)


def _stored(world: LiveWorld, sources: tuple[Source, ...]) -> Iterator[tuple[Source, ...]]:
    """Yield reasons with stored sources only: each contributor to a fact replaces it in a reason of its own."""
    if not any(_is_fact(world, source.kind) for source in sources):
        yield sources
        return
    alternatives = [
        [_whole(world, key) for key in stored_behind(world, [Key(source.kind, source.name)])]
        if _is_fact(world, source.kind)
        else [source]
        for source in sources
    ]
    for chosen in islice(product(*alternatives), _MOST_ALTERNATIVES):
        yield tuple(dict.fromkeys(chosen))


def _whole(world: LiveWorld, key: Key) -> Source:
    return Source(key.kind, world.name_of(key))


def _is_fact(world: LiveWorld, kind: str) -> bool:
    declared = world.schema.kinds.get(kind)
    return declared is not None and not declared.stored


_MOST_PARTS = 1000
_EVALUATED = 200
"""Most intents that are evaluated for their reasons; further ones have the default reasons."""
_REASONS = 20
_SOURCES = 50
_READS = 100


async def reasons_of_parts(live: Live, name: Name, origins: Iterable[Key]) -> dict[str, tuple[Because, ...]]:
    """Return part → its reasons."""
    merging = Merging(live, name)
    steps = (
        step for number, origin in enumerate(origins) for step in merging.adding(origin, evaluate=number < _EVALUATED)
    )
    async for _ in sliced(steps, block=1):
        pass
    return merging.result()


async def parts_shown(
    world: LiveWorld,
    part_reasons: dict[str, tuple[Because, ...]],
    contents: Contents,
    text: str,
    offset: int,
    limit: int,
) -> Document:
    """Return ``{"parts", "parts_total"}``: of the parts with ``text`` in their name or value, ``limit`` from ``offset``
    on."""
    wanted = [
        (part, reasons)
        async for part, reasons in sliced(part_reasons.items(), block=1)
        if text in part or text in contents.text(part)
    ]
    shown = []
    for part, reasons in wanted[offset : offset + min(limit, _MOST_PARTS)]:
        shown.append(
            {
                "part": part,
                "claim": contents.claim(part),
                "value": contents.short(part),
                "reasons": [
                    {
                        "intent": of_key(world, reason.intent),
                        "sources": [of_source(world, source) for source in reason.sources[:_SOURCES]],
                    }
                    for reason in reasons[:_REASONS]
                ],
                "reasons_total": len(reasons),
            }
        )
    return {"parts": shown, "parts_total": len(wanted)}


def owners_of(world: LiveWorld, planner: Planner, name: Name, origins: Iterable[Key]) -> tuple[Key, ...]:
    """Return the stored resources behind the existence of an object."""
    if not world.schema.kinds[name.kind].stored:
        return stored_behind(world, [Key(name.kind, name.fq_name[0])])
    claims = planner.book.on(name)
    making = [o for o in origins if not claims or any(isinstance(claim, ResourceClaim) for claim in claims.get(o, ()))]
    return stored_behind(world, making)


async def reads_shown(world: LiveWorld, intents: list[Key]) -> Document:
    """Return ``{"reads", "reads_total"}``."""
    found: set[Key] = set()
    async for intent in sliced(with_contributors(world, intents), block=1):
        found.update(_read_by(world, intent))
    shown = [with_revision(world, key) for key in sorted(found)[:_READS]]
    return {"reads": shown, "reads_total": len(found)}
