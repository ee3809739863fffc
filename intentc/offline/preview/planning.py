"""Makes a plan: what an input would write, as the difference between moments of a trial.

First the copy converges by itself: the plan lists those writes apart (``due``), since they come with or without the
input. Then the caller's function carries out the input, with the code of ``apply`` and ``delete``, and the copy
converges again. Nothing is written to the live world.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from intentc.apiserver.documents import Document
from intentc.engine.live import Live
from intentc.engine.state_tables import StateTables
from intentc.inspection.differences import Field, differences, differing_values
from intentc.inspection.read_secrets import secrets_in
from intentc.inspection.traversal import reached
from intentc.logic import LiveWorld
from intentc.logic.live_world import reads_of_resource
from intentc.model import Key, Name, Problem
from intentc.model.reads import fact_read, presence_read
from intentc.model.sensitive import concealed, without
from intentc.offline.preview.provisional import Provisional, Unknown
from intentc.offline.preview.report import CREATE, DELETE, UPDATE, Change, Owner, Plan, Withheld, summary_of
from intentc.offline.preview.trial import Changed, Moments, Trial
from intentc.watch.protocol import KeyValue
from intentc.writing.connection import Connection

_MOST = 2_000
"""Most intents that are evaluated for their reasons."""

Blame = Mapping[Name, Mapping[str, frozenset[Key]]]
"""Object → part → the input's resources that a reason for it cites."""


def blame(live: Live, given: Mapping[tuple[str, str], Key]) -> Blame:
    """Compute the blame as of now. ``given``: kind and name of each of the input's resources → its key."""
    found: dict[Name, dict[str, frozenset[Key]]] = {}
    for intent in _concerned(live.world, live.states, given.values()):
        for name, reasons in live.runner.explain(intent).reasons.items():
            parts_of_object = found.setdefault(name, {})
            for reason in reasons:
                cited = {(source.kind, source.name) for source in reason.sources} & given.keys()
                keys = parts_of_object.get(reason.part, frozenset())
                parts_of_object[reason.part] = keys | {given[one] for one in cited}
    return found


def blamed(blame: Mapping[str, frozenset[Key]], paths: Iterable[str]) -> frozenset[Key]:
    """Return the resources that the reasons of the parts at, within or around ``paths`` cite. If no such part has
    reasons, use those of the whole object."""
    wanted = list(paths)
    met = frozenset(key for part, keys in blame.items() if any(_meet(part, path) for path in wanted) for key in keys)
    return met or blame.get("", frozenset())


def _concerned(world: LiveWorld, states: StateTables, given: Iterable[Key]) -> list[Key]:
    """Return the intents of ``given`` and those that read them, also through facts; held ones are left out."""
    there = [key for key in given if world.exists(key)]
    reads = [read for key in there for read in reads_of_resource(world, key)]

    def of_facts(key: Key) -> Iterator[Key]:
        for fact in world.facts_of(key):
            yield from world.reads.readers(fact_read(*fact)) | world.reads.readers(presence_read(*fact)) | {fact}

    seen = reached([*there, *(reader for read in reads for reader in sorted(world.reads.readers(read)))], of_facts)
    return [key for key in islice(seen, _MOST) if key.kind in world.intent_kinds and key not in states.held]


def _meet(part: str, path: str) -> bool:
    """Return whether one of two parts is within the other; the object itself contains no part."""
    short, long = sorted((part, path), key=len)
    return short == long or (bool(short) and long.startswith((f"{short}.", f"{short}[")))


Progress = Callable[[str], None]
"""Shows the present step to people who wait."""

_SHOWN_OWNERS = 3


async def plan(
    trial: Trial,
    work: Callable[[Connection], Awaitable[Collection[Key]]],
    *,
    progress: Progress = lambda text: None,
    salt: str = "",
) -> Plan:
    """Carry out ``work`` in ``trial`` and return the plan. ``work`` returns the keys of the resources that its input
    itself changed. ``salt``: seals values that can't be shown, so that plans with the same salt can be compared. Raises
    what ``work`` raises."""
    began = time.perf_counter()
    progress("compiling a copy of the present world")
    resting = await trial.rest()
    progress("carrying out the input in the copy")
    given = frozenset(await trial.carry_out(work))
    carried_out = await trial.revision()
    names = {(key.kind, await trial.name_of(key)): key for key in sorted(given)}
    before = blame(trial.engine, names)
    progress("compiling the outputs")
    moments = Moments(trial.start, resting, carried_out, await trial.rest())
    names |= {(key.kind, await trial.name_of(key)): key for key in sorted(given)}
    blames = (before, blame(trial.engine, names))
    found = await _ChangeReport(trial, moments, await Provisional(trial, moments).unknown(), given, blames, salt).plan()
    return msgspec.structs.replace(found, seconds=round(time.perf_counter() - began, 3))


class _ChangeReport:
    """Reports the changes between two moments in the form of a plan."""

    def __init__(
        self,
        trial: Trial,
        moments: Moments,
        unknown: Unknown,
        given: frozenset[Key],
        blames: tuple[Blame, ...],
        salt: str,
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
        due = await self._changes(await trial.changed(live, resting.revision))
        applied, follows = await self._sides()
        resolved, new = _only(resting.problems, done.problems), _only(done.problems, resting.problems)
        return Plan(
            revision=live,
            installation=trial.engine.world.installation,
            versions=dict(trial.loaded.versions),
            applied=applied,
            follows=follows,
            due=due,
            problems=tuple(map(self._problem, new)),
            resolved=tuple(map(self._problem, resolved)),
            allocations=await Provisional(trial, moments).allocations(self._unknown),
            withheld=tuple(Withheld(kind, count) for kind, count in sorted(done.withheld.items())),
            unmade=len(done.unmade - resting.unmade),
            summary=summary_of([*applied, *follows]),
        )

    async def _sides(self) -> tuple[tuple[Change, ...], tuple[Change, ...]]:
        """Return the input's own changes, and the following ones: of other resources, and later ones of its own."""
        resting, carried_out, done = self._moments.resting.revision, self._moments.carried_out, self._moments.done
        own = [changed for changed in await self._trial.changed(resting, carried_out) if changed.key in self._given]
        after = [c for c in await self._trial.changed(carried_out, done.revision) if c.key in self._given]
        others = [c for c in await self._trial.changed(resting, done.revision) if c.key not in self._given]
        return await self._changes(own, people=True), await self._changes([*others, *after])

    async def _changes(self, found_changes: Iterable[Changed], *, people: bool = False) -> tuple[Change, ...]:
        """Convert changes to entries of a plan; those that ``people`` make have no ``because``."""
        found = []
        for changed in found_changes:
            action = CREATE if changed.before is None else DELETE if changed.after is None else UPDATE
            name = self._name(changed)
            hidden = self._secrets(name)
            fields = self._fields(changed, hidden)
            if (action == UPDATE and not fields) or changed.key.kind not in self._schema:
                continue
            text = ":".join(name.fq_name) if name is not None else changed.key.uuid
            uuid = self._unknown.uuid(changed.key.uuid)
            because = () if people or name is None else await self._because(name, changed, fields)
            # The former fields of a deleted resource carry no information.
            shown = () if action == DELETE else fields
            found.append(
                Change(
                    action,
                    changed.key.kind,
                    self._unknown.text(text),
                    uuid,
                    shown,
                    because,
                    self._remarks(changed, hidden),
                    self._seal(changed, shown, hidden),
                )
            )
        return tuple(sorted(found, key=lambda change: change.order))

    def _secrets(self, name: Name | None) -> frozenset[str]:
        """Return the present and former secrets that must not appear in an object."""
        if name is None:
            return frozenset()
        moments = (self._moments.resting, self._moments.done)
        return secrets_in(one for moment in moments for one in moment.behind.get(name, ()))

    def _seal(self, changed: Changed, shown: tuple[Field, ...], hidden: frozenset[str]) -> str | msgspec.UnsetType:
        """Return a digest that is equal for equal concealed values; unset if the plan shows everything."""
        kind = self._schema.kinds.get(changed.key.kind)
        if kind is None or not (self._salt and shown) or not (kind.sensitive or hidden):
            return msgspec.UNSET
        documents = (self._document(changed, changed.before), self._document(changed, changed.after))
        values = [self._unknown.value(differing_values(kind, *documents))]
        return hmac.digest(self._salt.encode(), msgspec.json.encode(values, order="sorted"), "sha256").hex()

    def _remarks(self, changed: Changed, hidden: frozenset[str]) -> tuple[str, ...]:
        """Return what the compiler that made the object says that the change means, without secrets."""
        stored = self._trial.resource(changed.key, changed.after or changed.before)
        if stored is None or stored.mark is None:
            return ()
        remark = self._trial.loaded.remark(stored.mark.compiler, changed.key.kind)
        if remark is None:
            return ()
        kind = self._schema.kind(changed.key.kind)
        forms = [self._document(changed, item) for item in (changed.before, changed.after)]
        before, after = (None if one is None else concealed(kind, one) for one in forms)
        return tuple(self._unknown.text(without(hidden, text)) for text in remark(before, after))

    def _fields(self, changed: Changed, hidden: frozenset[str]) -> tuple[Field, ...]:
        kind = self._schema.kinds.get(changed.key.kind)
        if kind is None:
            return ()
        before, after = self._document(changed, changed.before), self._document(changed, changed.after)
        return tuple(
            Field(self._unknown.text(one.field), self._unknown.value(one.before), self._unknown.value(one.after))
            for one in differences(kind, before, after, hidden)
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
        """Return the input's resources that the reasons of the changed parts cite. Failing that, the intents that claim
        or claimed the object: those that began or ceased to, if any; contributors replace the intents of facts; and if
        some of these are the input's own resources, only those."""
        before = self._moments.resting.owners.get(name, frozenset())
        after = self._moments.done.owners.get(name, frozenset())
        keys = (before ^ after) or after or before
        if not keys and changed.before is not None and name.kind in self._schema:
            resource = self._trial.resource(changed.key, changed.before)
            keys = frozenset(self._trial.intent_of(resource.mark.origin)) if resource and resource.mark else keys
        keys = self._without_facts(keys)
        keys = self._blamed(name, changed, fields) or (keys & self._given) or keys
        owners = sorted([Owner(key.kind, self._unknown.text(await self._trial.name_of(key))) for key in keys])
        return tuple(owners[:_SHOWN_OWNERS])

    def _blamed(self, name: Name, changed: Changed, fields: Iterable[Field]) -> frozenset[Key]:
        whole = changed.before is None or changed.after is None
        paths = [""] if whole else [field.field for field in fields]
        found = frozenset[Key]()
        for blames in self._blames:
            parts = {self._unknown.text(part): keys for part, keys in blames.get(name, {}).items()}
            found |= blamed(parts, paths)
        return found

    def _without_facts(self, keys: Iterable[Key]) -> frozenset[Key]:
        """Replace the intents of facts in ``keys`` by the former and present contributors, recursively."""
        resting, done = self._moments.resting.contributors, self._moments.done.contributors

        def contributors(key: Key) -> frozenset[Key]:
            return resting.get(key, frozenset()) | done.get(key, frozenset())

        return frozenset(key for key in reached(keys, contributors) if not contributors(key))

    def _problem(self, problem: Problem) -> Problem:
        unknown = self._unknown
        return msgspec.structs.replace(
            problem, name=unknown.text(problem.name), message=unknown.text(problem.message), source=""
        )


def _only(problems: Iterable[Problem], others: Iterable[Problem]) -> list[Problem]:
    """Return the ``problems`` that are not among ``others``, whatever their source."""
    known = {(problem.kind, problem.name, problem.reason, problem.message) for problem in others}
    return [p for p in problems if (p.kind, p.name, p.reason, p.message) not in known]
