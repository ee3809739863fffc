"""Applies every change of the world, and returns the intents and objects that it affects (docs/engine.md §3).

``Service`` applies whole revisions to the cache, keeps the recorded reads, and combines the two answers to "which
intents must run again": the readers of what changed, which decide what is right, and the walk over the reaction map,
which states what was meant. It evaluates nothing and waits for nothing; the engine queues and runs.

Two more duties. It keeps the facts and last good values of intents whose last run was not complete, hands them out for
a restart (``held_facts``, ``last_good_values``) and adopts those of an earlier process. And it finds cycles of facts
(``facts``).

State: the whole world: cache, graph, reads, facts, allocations, settings, reaction map and applied revision; the
resources of the last complete evaluations; whose facts are kept from an earlier run, or process; fact cycles; and
counts of passed-over changes. Nobody else changes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from intentc.logic.cache import Held, State, Transition, shown
from intentc.logic.cache.states import known_name
from intentc.logic.changes import Affected, ChangedReads, Job, input_changed, nobody, watched_metadata
from intentc.logic.decoding import arrivals, decoded_slices
from intentc.logic.dependencies import DependencyProcessor, Path, ReactionMap
from intentc.logic.facts import FactCycles, FactName, Hop, step
from intentc.logic.live_world import LiveWorld
from intentc.model import Batch, Correction, Fact, HeldFacts, Key, Name, Problem, Read, Resource, Schema, Snapshot
from intentc.model.reads import TAKEN, allocation_read, fact_read, presence_read, setting_read
from intentc.model.values import freeze

_NOTHING: Mapping[Key, State] = {}


class Service(LiveWorld):
    """The world, and the intents that its changes affect.

    ``intent_kinds``: kinds that have an intent → whether it declares ``trust = "reactions"``. ``settings``: the
    compilers' configuration. ``healing``: False omits runs that only reads cause (for tests of reaction maps).
    ``installation``: distinguishes our entries in shared lists from the user's. All calls are synchronous; between them
    the world is consistent.
    """

    def __init__(
        self,
        schema: Schema,
        reactions: ReactionMap,
        *,
        intent_kinds: Mapping[str, bool],
        settings: Mapping[str, Any],
        healing: bool = True,
        installation: str = "",
    ) -> None:
        super().__init__(schema, reactions, intent_kinds=intent_kinds, settings=settings, installation=installation)
        self.passed_over: dict[str, int] = {}
        """Kind → the number of seen changes, for kinds that the schema doesn't store."""
        self._unfinished: set[Key] = set()
        """Intents whose last run did not complete, and which go on yielding the facts of an earlier run."""
        self._restored: dict[Key, tuple[Fact, ...]] = {}
        """Facts that are intents themselves → what they yielded for an earlier process, until they have run."""
        self._healing = healing
        self._cycles = FactCycles(self.name_of)

    def decode(self, snapshot: Snapshot) -> Iterator[dict[Key, State]]:
        """Decode the values of a snapshot beforehand, a few milliseconds' work at a time; changes nothing. Other calls
        may be made in between. Pass the union of what it yields to ``apply``."""
        return decoded_slices(self.cache, snapshot)

    def apply(self, item: Snapshot | Batch | Correction, decoded: Mapping[Key, State] = _NOTHING) -> Affected:
        """Apply a snapshot, all changes of one revision, or what an audit found; return what that affects.

        A batch that is older than the applied revision changes nothing; applying one again is harmless. A correction is
        applied whatever its revision, except for keys that were written since. A key that was deleted since leaves
        nothing to compare with, so apply a correction before the next await. ``decoded``: what ``decode`` yielded for
        this snapshot, or a part of it."""
        if isinstance(item, Batch) and item.revision < self.revision:
            return nobody()
        arrived = arrivals(self.cache, item, decoded)
        if not isinstance(item, Correction):
            self.revision = item.revision
        if isinstance(item, Snapshot) and not self.listed:
            self.listed, self.first_listed = True, item.revision
        for kind, count in arrived.passed_over.items():
            self.passed_over[kind] = self.passed_over.get(kind, 0) + count
        preparation = self.cache.prepare(arrived.states)
        transitions = preparation.transitions
        if not transitions:
            return nobody()
        inputs = {t.key: t for t in transitions if input_changed(t, self.installation, self.cache)}
        changes = ChangedReads(self.cache, transitions, inputs, self.reads, self.installation)
        origins = inputs | {t.key: t for t in transitions if t.key not in inputs and self._moves_readers(t)}
        walked = self.walk(t.key for t in origins.values() if t.before is not None)
        if len(self.reads):
            changes.lost()
        self.cache.commit(preparation)
        self._note_superseded(origins.values())
        if len(self.reads):
            changes.won()
        walked = self._walk_after(walked, origins)
        deleted = {t.key for t in transitions if t.after is None and t.key.kind in self.intent_kinds}
        facts = self._forget(deleted)
        jobs = self._jobs(changes.reads, walked)
        for key, job in facts.jobs.items():
            led = job._replace(path=(*deleted, key)) if len(deleted) == 1 else job
            jobs[key] = jobs[key]._replace(by_readers=True) if key in jobs else led
        return Affected(
            self._in_order(jobs), _objects(transitions), frozenset(deleted | facts.deleted), _new_problems(transitions)
        )

    def _moves_readers(self, transition: Transition) -> bool:
        """Whether a change of no input field changes what others may find of the object: parts of its metadata that
        were read, or what it offers by them and refers to."""
        before, after = transition.before, transition.after
        if not isinstance(before, Resource) or not isinstance(after, Resource) or not after.kind.written_as_manifests:
            return False
        if transition.offered_before != transition.offered_after or before.links != after.links:
            return True
        return bool(watched_metadata(before, after, self.reads))

    def evaluated(
        self, key: Key, reads: frozenset[Read], facts: tuple[Fact, ...] | None, *, complete: bool
    ) -> Affected:
        """Record what an evaluation of ``key`` read and yielded; return the intents that its facts affect. ``complete``
        is False after a run that failed, waits, is held or was cut off: its reads are added to the former ones.
        ``facts``: None if the former ones stay."""
        if not self.exists(key):
            return self._forget({key})
        if complete:
            self.reads.replace(key, reads)
            self.superseded.pop(key, None)
        else:
            self.reads.add(key, reads)
        if facts is None:
            facts = self._kept_facts(key)
        else:
            self._restored.pop(key, None)
            self._unfinished.discard(key)
        if facts is None:
            self._cycles.runs(key)
            return nobody()
        affected = self._affected_by_facts(self._facts.replace(key, facts), self._cycles.runs(key))
        news = self._cycles.news(key)
        cycles = tuple((found, problem) for found, problem in news if self.exists(found)) if news else ()
        return affected._replace(cycles=cycles) if cycles else affected

    def allocated(self, pool: str, owner: str, value: int | None) -> Affected:
        """Record that ``owner`` has the allocation ``value`` now; None: it was freed."""
        if self._allocations.get((pool, owner)) == value:
            return nobody()
        if value is None:
            del self._allocations[pool, owner]
        else:
            self._allocations[pool, owner] = value
        return self._readers_of(allocation_read(pool, owner))

    def set_setting(self, name: str, value: Any) -> Affected:
        """Change a value of the compilers' configuration."""
        frozen = freeze(value)
        if name in self._settings and self._settings[name] == frozen:
            return nobody()
        self._settings[name] = frozen
        return self._readers_of(setting_read(name))

    def unset_setting(self, name: str) -> Affected:
        """Remove a value from the compilers' configuration."""
        if name not in self._settings:
            return nobody()
        del self._settings[name]
        return self._readers_of(setting_read(name))

    def set_reactions(self, reactions: ReactionMap) -> None:
        """Walk by this map from the next change on. The caller evaluates what the new map reaches; recorded reads still
        decide what is right."""
        self.reactions = reactions
        self._processor = DependencyProcessor(reactions, self.neighbours)

    def restore_superseded(self, retained: Mapping[Key, Resource]) -> None:
        """Adopt the values that held intents were last evaluated with by an earlier process; only for resources that
        still exist and were written since."""
        for key, resource in retained.items():
            state = self.cache.state(key)
            same = state is not None and state.create_revision == resource.create_revision
            if same and isinstance(state, Resource) and resource.mod_revision < state.mod_revision:
                self.superseded.setdefault(key, resource)

    def keep_facts(self, key: Key) -> Affected:
        """Go on yielding the facts of an intent that is not run now, even those of an earlier process."""
        facts = self._kept_facts(key)
        return nobody() if facts is None else self._affected_by_facts(self._facts.replace(key, facts), None)

    def keeps_facts(self, key: Key) -> bool:
        """Whether an intent goes on yielding the facts of an earlier run, also one of an earlier process."""
        return key in self._restored or (key in self._unfinished and bool(self._facts.contributed_by(key)))

    def held_facts(self) -> dict[Key, HeldFacts]:
        """The facts that a restart would lose: those of intents whose last run did not complete."""
        found: dict[Key, HeldFacts] = {}
        for key in self._unfinished:
            state = self.cache.state(key)
            facts = self._facts.of(key)
            if facts:
                found[key] = HeldFacts(key, state.create_revision if state is not None else 0, facts)
        return found

    def restore_facts(self, held: Iterable[HeldFacts]) -> Affected:
        """Start with the facts of intents whose last run in an earlier process did not complete.

        Until these intents have run here, their facts stay available. A resource must still be the same one. Call for
        the first listing, before anything is evaluated."""
        changed: dict[FactName, bool] = {}
        for key, create_revision, facts in held:
            if key.kind not in self.intent_kinds:
                continue
            state = self.cache.state(key)
            if key.kind not in self.cache.stored:
                # Whether the fact still has contributions is known only later.
                self._restored[key] = facts
            elif state is not None and state.create_revision == create_revision:
                self._unfinished.add(key)
                changed.update(self._facts.replace(key, facts))
        return self._affected_by_facts(changed, None)

    def _kept_facts(self, key: Key) -> tuple[Fact, ...] | None:
        """Note that ``key`` goes on yielding earlier facts; return those of an earlier process, if any."""
        self._unfinished.add(key)
        return self._restored.pop(key, None)

    def last_good_values(self, held: Iterable[Key]) -> dict[Key, Resource]:
        """The values that a restart would lose: of unreadable resources the last readable one; of ``held``, which are
        held for another reason, the one of their last complete run."""
        found = {key: self.superseded[key] for key in held if key in self.superseded}
        for key in self.cache.held:
            resource = self.superseded.get(key) or self.cache.shown(key)
            if resource is not None:
                found[key] = resource
        return found

    def _note_superseded(self, inputs: Iterable[Transition]) -> None:
        """Keep the resources that intents were evaluated with until a complete evaluation with the present ones."""
        for key, before, after, _, _ in inputs:
            former = shown(before)
            if former is not None and after is not None and key.kind in self.intent_kinds and key in self.reads:
                self.superseded.setdefault(key, former)

    def _walk_after(self, before: dict[Key, Path], inputs: Mapping[Key, Transition]) -> dict[Key, Path]:
        if len(inputs) == len(self.cache) and all(t.before is None for t in inputs.values()):
            # Everything is new, as at the start: the walk could not reach more.
            return before | {key: (key,) for key in inputs}
        if not any(map(_moves, inputs.values())):
            return before
        return before | self.walk(inputs)

    def _jobs(self, changed: Mapping[Read, str], walked: Mapping[Key, Path]) -> dict[Key, Job]:
        causes: dict[Key, str] = {}
        unrelated: set[Key] = set()
        for read, kind in changed.items():
            for reader in self.reads.readers(read):
                if read[0] == TAKEN or self.schema.kinds[kind].answers:
                    unrelated.add(reader)
                    continue
                causes[reader] = min(kind, causes.get(reader, kind))
        jobs: dict[Key, Job] = {}
        for key, path in walked.items():
            trusting = self.intent_kinds.get(key.kind)
            if trusting is None or not self.exists(key):
                continue
            must_run = trusting or key in causes or key in unrelated
            # An intent that is cut off is not answered from its memo, and a run without news would have no effect.
            if must_run or key not in self._cycles:
                jobs[key] = Job(must_run, path)
        for key, kind in causes.items():
            if key in walked or not self.exists(key):
                continue
            if (key.kind, key.uuid) in self._facts:
                # No relation leads to a fact, so no map could name it.
                jobs[key] = Job(True)
            elif self._healing:
                jobs[key] = Job(True, (), (key.kind, kind))
        jobs.update(dict.fromkeys((key for key in unrelated - jobs.keys() if self.exists(key)), Job(True)))
        return self._with_cycles(jobs)

    def _with_cycles(self, jobs: dict[Key, Job]) -> dict[Key, Job]:
        """Add the intents of fact cycles that these intents lie on, since these have another reason to run."""
        for key in self._cycles.resume(key for key, job in jobs.items() if job.by_readers):
            if self.exists(key):
                jobs.setdefault(key, Job(True))
        return jobs

    def _forget(self, deleted: Collection[Key]) -> Affected:
        """Drop the state of deleted intents."""
        changed: dict[FactName, bool] = {}
        for key in deleted:
            self.reads.drop(key)
            self.superseded.pop(key, None)
            self._unfinished.discard(key)
            self._restored.pop(key, None)
            for name, toggled in self._facts.replace(key, ()).items():
                changed[name] = toggled or changed.get(name, False)
        resumed = self._cycles.resume(deleted)
        return self._affected_by_facts(changed, None, dict.fromkeys(resumed, Job(True)))

    def _affected_by_facts(
        self, changed: Mapping[FactName, bool], before: Hop | None, jobs: dict[Key, Job] | None = None
    ) -> Affected:
        """The readers of these facts, and the facts that are intents themselves; deleted ones withdraw their own facts.
        ``changed``: the result of ``FactTable.replace``. ``before``: the way to the intent that changed them. ``jobs``:
        other jobs to add to."""
        if not changed and not jobs:
            return nobody()
        jobs = jobs if jobs is not None else {}
        deleted: set[Key] = set()
        waiting = [(fact, changed[fact], before) for fact in sorted(changed, reverse=True)]
        while waiting:
            name, toggled, before = waiting.pop()
            fact = Key(*name)
            readers = self.reads.readers(fact_read(*name))
            if toggled:
                readers |= self.reads.readers(presence_read(*name))
            for reader in sorted(readers):
                jobs.update(dict.fromkeys(self._cycles.reach(reader, name, before), Job(True)))
            if fact.kind not in self.intent_kinds:
                continue
            if name not in self._facts:
                deleted.add(fact)
                self._unfinished.discard(fact)
                self._restored.pop(fact, None)
                self.reads.drop(fact)
                self._cycles.forget(fact)
                further = step(fact, name, before)
                waiting.extend((*own, further) for own in sorted(self._facts.replace(fact, ()).items(), reverse=True))
            elif fact not in self.reads:
                for key in self._cycles.reach(fact, name, before):
                    jobs.setdefault(key, Job(key != fact))
        if not jobs and not deleted:
            return nobody()
        jobs = {key: job for key, job in jobs.items() if self.exists(key)}
        return Affected(self._in_order(jobs), frozenset(), frozenset(deleted), ())

    def _readers_of(self, read: Read) -> Affected:
        jobs = self._with_cycles({key: Job(True) for key in self.reads.readers(read)})
        return Affected(self._in_order(jobs), frozenset(), frozenset(), ())

    def _in_order(self, jobs: dict[Key, Job]) -> dict[Key, Job]:
        if len(jobs) < 2:
            return jobs
        rank = self.reactions.rank
        return dict(sorted(jobs.items(), key=lambda item: (rank(item[0].kind), item[0])))


def _moves(transition: Transition) -> bool:
    """Whether a transition changes the graph, so that a walk after it may differ from one before."""
    before, after = shown(transition.before), shown(transition.after)
    return (
        before is None
        or after is None
        or transition.before is None
        or before.links != after.links
        or before.fq_name != after.fq_name
        or transition.offered_before != transition.offered_after
    )


def _objects(transitions: Iterable[Transition]) -> frozenset[Name]:
    return frozenset(
        Name(t.key.kind, state.fq_name)
        for t in transitions
        for state in (t.before, t.after)
        if state is not None and known_name(state)
    )


def _new_problems(transitions: Iterable[Transition]) -> tuple[Problem, ...]:
    return tuple(
        t.after.problem
        for t in transitions
        if isinstance(t.after, Held) and not (isinstance(t.before, Held) and t.before.problem == t.after.problem)
    )
