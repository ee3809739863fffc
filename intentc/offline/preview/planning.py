"""The plan: what carrying out an input would write, as the difference between moments of a trial.

First the copy comes to rest by itself: what is written by then is due anyway, and no part of the plan. Then the input
is carried out (by whoever knows how; the commands do what ``apply`` and ``delete`` do), and the copy comes to rest
again. It writes nothing that is real.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Collection, Iterable

import msgspec

from intentc.apiserver.documents import Document
from intentc.inspection.differences import Field, differences, differing_values
from intentc.inspection.secrets import secrets_in
from intentc.model import Key, Name, Problem
from intentc.watch.protocol import KeyValue
from intentc.writing.connection import Connection

from .blaming import Blame, blame, blamed
from .provisional import MadeUp
from .report import CREATE, DELETE, UPDATE, Change, Owner, Plan, Withheld, summary_of
from .trial import Changed, Moment, Moments, Trial, differing
from .unknown import Unknown

Told = Callable[[str], None]
"""What is told of how far the work is, for people who wait."""

_SHOWN_OWNERS = 3


async def plan(
    trial: Trial,
    work: Callable[[Connection], Awaitable[Collection[Key]]],
    *,
    told: Told = lambda text: None,
    salt: str = "",
) -> Plan:
    """Carry out ``work`` in ``trial`` and tell what it comes to. ``work`` returns the keys of the resources that its
    input itself changed. ``salt``: what cannot be shown is sealed with it, so that plans of one salt can be
    compared. Raises what ``work`` raises."""
    began = time.perf_counter()
    told("compiling a copy of the world as it is")
    resting = await trial.rest()
    told("carrying out the input in the copy")
    given = frozenset(await trial.carry_out(work))
    carried_out = await trial.revision()
    names = {(key.kind, await trial.name_of(key)): key for key in sorted(given)}
    before = blame(trial.parts, names)
    told("compiling what follows")
    moments = Moments(trial.start, resting, carried_out, await trial.rest())
    names |= {(key.kind, await trial.name_of(key)): key for key in sorted(given)}
    blames = (before, blame(trial.parts, names))
    found = await _Telling(trial, moments, await MadeUp(trial, moments).unknown(), given, blames, salt).plan()
    return msgspec.structs.replace(found, seconds=round(time.perf_counter() - began, 3))


async def written_otherwise(one: Trial, resting: Moment, other: Trial, now: Moment) -> tuple[Change, ...]:
    """How what ``other`` has come to differs from what ``one`` has, over the same live world."""
    moments = Moments(other.start, now, now.revision, now)
    unknown = await MadeUp(one, Moments(one.start, resting, resting.revision, resting)).unknown()
    changed = await differing(one, other)
    return await _Telling(other, moments, unknown.along_with(await MadeUp(other, moments).unknown())).told(changed)


class _Telling:
    """Words for the changes between moments."""

    def __init__(
        self,
        trial: Trial,
        moments: Moments,
        unknown: Unknown,
        given: frozenset[Key] = frozenset(),
        blames: tuple[Blame, ...] = (),
        salt: str = "",
    ) -> None:
        self._trial = trial
        self._moments = moments
        self._unknown = unknown
        self._given = given
        self._blames = blames
        self._salt = salt
        self._schema = trial.loaded.schema

    async def plan(self) -> Plan:
        trial, moments = self._trial, self._moments
        live, resting, _, done = moments
        due = await self.told(await trial.changed(live, resting.revision))
        applied, follows = await self._sides()
        gone, come = _only(resting.problems, done.problems), _only(done.problems, resting.problems)
        return Plan(
            revision=live,
            installation=trial.parts.installation,
            versions=dict(trial.loaded.versions),
            applied=applied,
            follows=follows,
            due=due,
            problems=tuple(map(self._problem, come)),
            resolved=tuple(map(self._problem, gone)),
            numbers=await MadeUp(trial, moments).numbers(self._unknown),
            withheld=tuple(Withheld(kind, count) for kind, count in sorted(done.withheld.items())),
            summary=summary_of([*applied, *follows]),
        )

    async def _sides(self) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        """What the input says, and what follows: all else, and what is done to the input's own resources after it."""
        resting, carried_out, done = self._moments.resting.revision, self._moments.carried_out, self._moments.done
        own = [changed for changed in await self._trial.changed(resting, carried_out) if changed.key in self._given]
        after = [c for c in await self._trial.changed(carried_out, done.revision) if c.key in self._given]
        others = [c for c in await self._trial.changed(resting, done.revision) if c.key not in self._given]
        return await self.told(own, people=True), await self.told([*others, *after])

    async def told(self, changes: Iterable[Changed], *, people: bool = False) -> tuple[Change, ...]:
        """``changes`` in a plan's words; by ``people``: nobody need be named for them."""
        found = []
        for changed in changes:
            action = CREATE if changed.before is None else DELETE if changed.after is None else UPDATE
            name = self._name(changed)
            hidden = self._secrets(name)
            fields = self._fields(changed, hidden)
            if (action == UPDATE and not fields) or changed.key.kind not in self._schema:
                continue
            text = ":".join(name.fq_name) if name is not None else changed.key.uuid
            uuid = self._unknown.uuid(changed.key.uuid)
            because = () if people or name is None else await self._because(name, changed, fields)
            # Of what goes it says nothing new what it was.
            shown = () if action == DELETE else fields
            seal = self._seal(changed, shown, hidden)
            found.append(Change(action, changed.key.kind, self._unknown.text(text), uuid, shown, because, seal))
        return tuple(sorted(found, key=lambda change: change.order))

    def _secrets(self, name: Name | None) -> frozenset[str]:
        """The texts that must not show in an object, as they are and as they were."""
        if name is None:
            return frozenset()
        moments = (self._moments.resting, self._moments.done)
        return secrets_in(one for moment in moments for one in moment.behind.get(name, ()))

    def _seal(self, changed: Changed, shown: tuple[Field, ...], hidden: frozenset[str]) -> str | msgspec.UnsetType:
        """Equal for equal values where the plan can't show them; none where it shows everything."""
        kind = self._schema.kinds.get(changed.key.kind)
        if kind is None or not (self._salt and shown) or not (kind.sensitive or hidden):
            return msgspec.UNSET
        documents = (self._document(changed, changed.before), self._document(changed, changed.after))
        values = [self._unknown.value(differing_values(kind, *documents))]
        return hmac.digest(self._salt.encode(), msgspec.json.encode(values, order="sorted"), "sha256").hex()

    def _fields(self, changed: Changed, hidden: frozenset[str]) -> tuple[Field, ...]:
        kind = self._schema.kinds.get(changed.key.kind)
        if kind is None:
            return ()
        before, after = self._document(changed, changed.before), self._document(changed, changed.after)
        return tuple(
            Field(self._unknown.text(path), self._unknown.value(old), self._unknown.value(new))
            for path, old, new in (
                (field.field, field.before, field.after) for field in differences(kind, before, after, hidden)
            )
        )

    def _document(self, changed: Changed, item: KeyValue | None) -> Document | None:
        return self._trial.document(changed.key, item)

    def _name(self, changed: Changed) -> Name | None:
        for item in (changed.after, changed.before):
            document = self._document(changed, item)
            if document is not None:
                return Name(changed.key.kind, tuple(document["fq_name"]))
        return None

    async def _because(self, name: Name, changed: Changed, fields: Iterable[Field]) -> tuple[Owner, ...]:
        """The resources of the input that the reasons of what changes name. Else the intents that claim the object, or
        did: those that have begun or ceased to, if there are such. In place of facts who tells them; and of all only
        the input's own resources, if there are such among them."""
        before = self._moments.resting.owners.get(name, frozenset())
        after = self._moments.done.owners.get(name, frozenset())
        keys = (before ^ after) or after or before
        if not keys and changed.before is not None and name.kind in self._schema:
            resource = self._trial.resource(changed.key, changed.before)
            keys = frozenset(self._trial.intent_of(resource.mark.origin)) if resource and resource.mark else keys
        keys = self._tellers(keys)
        keys = self._blamed(name, changed, fields) or (keys & self._given) or keys
        owners = sorted([Owner(key.kind, self._unknown.text(await self._trial.name_of(key))) for key in keys])
        return tuple(owners[:_SHOWN_OWNERS])

    def _blamed(self, name: Name, changed: Changed, fields: Iterable[Field]) -> frozenset[Key]:
        whole = changed.before is None or changed.after is None
        paths = [""] if whole else [field.field for field in fields]
        found = frozenset[Key]()
        for told in self._blames:
            parts = {self._unknown.text(part): keys for part, keys in told.get(name, {}).items()}
            found |= blamed(parts, paths)
        return found

    def _tellers(self, keys: Iterable[Key]) -> frozenset[Key]:
        """``keys``, but those who told a fact, before or now, in place of its intent; over any number of facts."""
        resting, done = self._moments.resting.contributors, self._moments.done.contributors
        found, seen, waiting = set[Key](), set[Key](), list(keys)
        while waiting:
            key = waiting.pop()
            told = resting.get(key, frozenset()) | done.get(key, frozenset())
            if not told:
                found.add(key)
            elif key not in seen:
                seen.add(key)
                waiting += told
        return frozenset(found)

    def _problem(self, problem: Problem) -> Problem:
        unknown = self._unknown
        return msgspec.structs.replace(
            problem, name=unknown.text(problem.name), message=unknown.text(problem.message), source=""
        )


def _only(problems: Iterable[Problem], others: Iterable[Problem]) -> list[Problem]:
    """Those of ``problems`` that are not among ``others``, wherever they were found."""
    told = {(problem.kind, problem.name, problem.reason, problem.message) for problem in others}
    return [p for p in problems if (p.kind, p.name, p.reason, p.message) not in told]
