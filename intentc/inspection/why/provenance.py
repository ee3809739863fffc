"""Which sources each part of an object follows from, and what was read for it: from all intents that claim it.

The intents are evaluated once more, to be told why; nothing is remembered of that. What an author doesn't tell has the
default reason: the intent's own resource; of a fact's intent each contributor by itself, followed back to what is
stored. What is claimed is taken from the book, so that an object that stays as it is because its intent is held has its
parts, too. How parts are shown is left to ``why``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product
from typing import NamedTuple

from intentc.engine.operator_actions import SUSPECT
from intentc.engine.parts import Parts
from intentc.evaluation import BUDGET_EXCEEDED
from intentc.logic import Service
from intentc.logic.answering import answering
from intentc.model import SHARED, Claim, HeldInput, Key, Name, Reason, ResourceClaim, Source, claimed
from intentc.model.provenance import reference_part
from intentc.model.reads import fact_read, presence_read

_MOST_ALTERNATIVES = 100
"""Reasons that one may become whose sources are facts: each combination of their contributors."""

_MOST_COMPARED = 100
"""Reasons of one part that are compared with each other."""

_AT_ONCE = 200
"""Reasons that are added before others may have their turn."""

_FACTS = frozenset({fact_read("", "")[0], presence_read("", "")[0]})
_HEAD = re.compile(r"[^.\[]+")
_NUMBER = re.compile(r"(\d+)")


class Because(NamedTuple):
    """One reason for a part: told by ``intent``, or by default. All ``sources`` are needed, and stored resources."""

    intent: Key
    sources: tuple[Source, ...]


def parts_of(parts: Parts, name: Name) -> dict[str, tuple[Because, ...]]:
    """Part of the object ``name`` → its reasons, from every intent that has a say in it; sorted as people read them,
    ``""``, the object itself, first. Empty if nobody wants anything of it."""
    merging = Merging(parts, name)
    for origin in origins_of(parts, name):
        merging.add(origin)
    return merging.result()


def reads_of(parts: Parts, name: Name) -> frozenset[Key]:
    """Every stored resource that the evaluations behind an object read, over facts, too."""
    return read_by(parts.logic, origins_of(parts, name))


def read_by(logic: Service, intents: Iterable[Key]) -> frozenset[Key]:
    """Every stored resource that these intents read, and those whose facts they read."""
    return frozenset(key for keys in each_read(logic, intents) for key in keys)


def each_read(logic: Service, intents: Iterable[Key]) -> Iterator[tuple[Key, ...]]:
    """The same intent by intent; between two others may work."""
    waiting = list(intents)
    seen = set(waiting)
    while waiting:
        found: list[Key] = []
        for read in logic.reads.reads_of(waiting.pop()):
            if read[0] in _FACTS:
                news = {contributor for contributor, _ in logic.contributions(read[1], read[2])} - seen
                seen |= news
                waiting.extend(news)
            else:
                found.extend(answering(logic, read))
        yield tuple(found)


def origins_of(parts: Parts, name: Name) -> tuple[Key, ...]:
    """The intents that claim something of an object, sorted; of one that nobody claims the intent in whose name it was
    made, while that gives no answer."""
    claiming = parts.book.on(name)
    if claiming:
        return tuple(sorted(claiming))
    try:
        actual = parts.assumed.actual(name)
    except HeldInput:
        return ()
    mark = actual.mark if actual is not None else None
    if mark is None or mark.installation != parts.installation or mark.origin == SHARED:
        return ()
    keys = (Key(kind, mark.origin) for kind in parts.logic.intent_kinds)
    return tuple(sorted(key for key in keys if parts.logic.exists(key) and key not in parts.states.evaluated))


def stored_behind(logic: Service, intents: Iterable[Key]) -> tuple[Key, ...]:
    """The stored resources that intents stand for, each once and in order: themselves, and of a fact those who
    contribute to it, over any number of facts."""
    found: dict[Key, None] = {}
    seen: set[Key] = set()
    waiting = list(intents)[::-1]
    while waiting:
        key = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        if _is_fact(logic, key.kind):
            contributors = dict.fromkeys(contributor for contributor, _ in logic.contributions(key.kind, key.uuid))
            waiting.extend(reversed(contributors))
        else:
            found[key] = None
    return tuple(found)


class Merging:
    """The parts of the object ``name``, gathered from one intent after the other; between two others may work."""

    def __init__(self, parts: Parts, name: Name) -> None:
        self._parts = parts
        self._name = name
        self._told: dict[str, dict[Because, None]] = {}

    def add(self, origin: Key, *, evaluate: bool = True) -> None:
        """Evaluate one intent to be told its reasons, and add them; else, those by default."""
        for _ in self.adding(origin, evaluate=evaluate):
            pass

    def adding(self, origin: Key, *, evaluate: bool = True) -> Iterator[None]:
        """The same piece by piece: an object may have some thousand parts. Nothing is changed in between but this."""
        logic = self._parts.logic
        told, begun = self._explained(origin) if evaluate else ((), ())
        claims = self._parts.book.on(self._name).get(origin) or begun
        by_default = [(_whole(logic, key),) for key in stored_behind(logic, [origin])]
        yield
        whole = []
        for place, reason in enumerate(told):
            for sources in _stored(logic, reason.sources):
                self._note(reason.part, origin, sources)
                if not reason.part:
                    whole.append(sources)
            if place % _AT_ONCE == 0:
                yield
        if not (told or claims):
            for sources in by_default:
                self._note("", origin, sources)
        for part in _untold(claims, told):
            for sources in whole or by_default:
                self._note(part, origin, sources)

    def result(self) -> dict[str, tuple[Because, ...]]:
        """Part → reasons, so far."""
        return {part: _needed(tuple(self._told[part])) for part in sorted(self._told, key=in_order)}

    def _note(self, part: str, origin: Key, sources: tuple[Source, ...]) -> None:
        self._told.setdefault(part, {})[Because(origin, sources)] = None

    def _explained(self, origin: Key) -> tuple[tuple[Reason, ...], tuple[Claim, ...]]:
        """What the intent tells of this object, and the claims on it with which it came as far as it did."""
        if not may_evaluate(self._parts, origin):
            return (), ()
        explained = self._parts.runner.explain(origin)
        begun = tuple(claim for claim in explained.begun if claimed(claim) == self._name)
        return explained.reasons.get(self._name, ()), begun


def may_evaluate(parts: Parts, key: Key) -> bool:
    """Whether an intent may be evaluated only to be asked: not one that would hold everybody up until it is cut off,
    or that is suspected of ending processes."""
    states = parts.states
    if key.kind not in parts.logic.intent_kinds or SUSPECT in states.stopped.get(key, ()):
        return False
    return all(problem.reason != BUDGET_EXCEEDED for problem in states.told_by(key))


def in_order(part: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts parts: numbers in them by their value, so that rule 2 comes before rule 10."""
    return tuple((1, int(text), "") if text.isdecimal() else (0, 0, text) for text in _NUMBER.split(part) if text)


def _needed(reasons: tuple[Because, ...]) -> tuple[Because, ...]:
    """Without those that need all that another one needs, and more: the other suffices."""
    if not 1 < len(reasons) <= _MOST_COMPARED:
        return reasons
    sets = [frozenset(reason.sources) for reason in reasons]
    return tuple(reason for reason, own in zip(reasons, sets, strict=True) if not any(other < own for other in sets))


def _untold(claims: Iterable[Claim], told: Iterable[Reason]) -> Iterator[str]:
    """The parts that are claimed and of which no reason was told: the object itself, fields, references."""
    parts = {reason.part for reason in told}
    heads = {head[0] for part in parts if (head := _HEAD.match(part))}
    for claim in claims:
        if isinstance(claim, ResourceClaim):
            if "" not in parts:
                yield ""
            yield from (field for field, _ in claim.properties if field not in heads)
        elif (part := reference_part(claim)) not in parts:
            yield part


def _stored(logic: Service, sources: tuple[Source, ...]) -> Iterator[tuple[Source, ...]]:
    """A reason with stored sources only: in place of a fact stands whoever contributes to it, each an alternative."""
    if not any(_is_fact(logic, source.kind) for source in sources):
        yield sources
        return
    alternatives = [
        [_whole(logic, key) for key in stored_behind(logic, [Key(source.kind, source.name)])]
        if _is_fact(logic, source.kind)
        else [source]
        for source in sources
    ]
    for chosen in islice(product(*alternatives), _MOST_ALTERNATIVES):
        yield tuple(dict.fromkeys(chosen))


def _whole(logic: Service, key: Key) -> Source:
    return Source(key.kind, logic.name_of(key))


def _is_fact(logic: Service, kind: str) -> bool:
    declared = logic.schema.kinds.get(kind)
    return declared is not None and not declared.stored
