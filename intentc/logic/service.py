"""Every change of the world enters here; out comes whom it concerns (engine.md §3).

``Service`` applies whole revisions to the cache, keeps who read what, and unites the two answers to "who must run
again": the readers of what changed, which decide what is right, and the walk over the reaction map, which says what
was meant. It evaluates nothing and waits for nothing; queueing, running and counting are left to others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from intentc.cache import Held, Transition, shown
from intentc.cache.states import known_name
from intentc.dependencies import DependencyProcessor, Path, ReactionMap, ReadIndex
from intentc.model import Batch, Fact, Key, Name, Problem, Read, Schema, Snapshot
from intentc.model.reads import allocation_read, fact_read, setting_read
from intentc.model.values import freeze

from .changes import ChangedReads
from .concerned import Concerned, Job, nobody
from .door import arrivals
from .equality import input_changed
from .facts import FactName
from .world import CachedWorld


class _Neighbours:
    """The cache as the walk sees it."""

    def __init__(self, world: CachedWorld) -> None:
        self.related = world.cache.graph.related
        self.all = world.cache.all


class Service(CachedWorld):
    """The world, and whom its changes concern.

    ``intent_kinds``: kinds that have an intent → whether it declares ``trust = "reactions"``. ``settings``: the
    compilers' configuration. ``healing``: False leaves out runs that only readers name (for tests of reaction maps).
    ``installation``: tells our entries in shared lists from the user's. All calls are synchronous; between them the
    world is consistent.
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
        super().__init__(schema, settings)
        self.reactions = reactions
        self.intent_kinds = intent_kinds
        self.reads = ReadIndex()
        self.revision = 0
        self.passed_over: dict[str, int] = {}
        """Kind → number of changes seen of kinds that the schema doesn't store."""
        self._healing = healing
        self._installation = installation
        self._processor = DependencyProcessor(reactions, _Neighbours(self))

    @property
    def held(self) -> Mapping[Key, Problem]:
        """The present keys whose values can't be used now, with the reasons."""
        return self.cache.held

    def exists(self, key: Key) -> bool:
        """Whether there is such an object in the store, or somebody contributes to such a fact."""
        if self.cache.state(key) is not None:
            return True
        return (key.kind, key.uuid) in self._facts

    def apply(self, item: Snapshot | Batch) -> Concerned:
        """Apply the whole world, or all changes of one revision. A batch that is older than what was applied changes
        nothing; applying the same one again is harmless."""
        if isinstance(item, Batch) and item.revision < self.revision:
            return nobody()
        arrived = arrivals(self.cache, item)
        self.revision = item.revision
        for kind, count in arrived.passed_over.items():
            self.passed_over[kind] = self.passed_over.get(kind, 0) + count
        preparation = self.cache.prepare(arrived.states)
        transitions = preparation.transitions
        if not transitions:
            return nobody()
        inputs = {t.key: t for t in transitions if input_changed(t, self._installation)}
        changes = ChangedReads(self.cache, transitions, inputs, self._is_read)
        walked = self._walk(t.key for t in inputs.values() if t.before is not None)
        if len(self.reads):
            changes.lost()
        self.cache.commit(preparation)
        if len(self.reads):
            changes.won()
        walked = self._walk_after(walked, inputs)
        gone = {t.key for t in transitions if t.after is None and t.key.kind in self.intent_kinds}
        facts = self._forget(gone)
        jobs = self._jobs(changes.reads, walked)
        for key, job in facts.jobs.items():
            jobs[key] = jobs[key]._replace(by_readers=True) if key in jobs else job
        return Concerned(
            self._in_order(jobs), _objects(transitions), frozenset(gone | facts.gone), _new_problems(transitions)
        )

    def evaluated(self, key: Key, reads: frozenset[Read], facts: tuple[Fact, ...], *, complete: bool) -> Concerned:
        """Note what an evaluation of ``key`` read and yielded; whom its facts concern. ``complete`` is False after one
        that failed, waits, is held or was cut off: its reads are added to the former ones, and the facts stay."""
        if not self.exists(key):
            return self._forget({key})
        if not complete:
            self.reads.add(key, reads)
            return nobody()
        self.reads.replace(key, reads)
        return self._concerned_by_facts(self._facts.replace(key, facts))

    def allocated(self, pool: str, owner: str, value: int | None) -> Concerned:
        """The ledger holds ``value`` for ``owner`` now; None: it was freed."""
        if self._ledger.get((pool, owner)) == value:
            return nobody()
        if value is None:
            del self._ledger[pool, owner]
        else:
            self._ledger[pool, owner] = value
        return self._readers_of(allocation_read(pool, owner))

    def set_setting(self, name: str, value: Any) -> Concerned:
        """A value of the compilers' configuration is another now."""
        frozen = freeze(value)
        if name in self._settings and self._settings[name] == frozen:
            return nobody()
        self._settings[name] = frozen
        return self._readers_of(setting_read(name))

    def _is_read(self, read: Read) -> bool:
        return bool(self.reads.readers(read))

    def _walk(self, origins: Iterable[Key]) -> dict[Key, Path]:
        return self._processor.walk(origins)

    def _walk_after(self, before: dict[Key, Path], inputs: Mapping[Key, Transition]) -> dict[Key, Path]:
        if len(inputs) == len(self.cache) and all(t.before is None for t in inputs.values()):
            # Everything is new, as at the start: the walk could reach nothing else.
            return before | {key: (key,) for key in inputs}
        if not any(map(_moves, inputs.values())):
            return before
        return before | self._walk(inputs)

    def _jobs(self, changed: Mapping[Read, str], walked: Mapping[Key, Path]) -> dict[Key, Job]:
        causes: dict[Key, str] = {}
        for read, kind in changed.items():
            for reader in self.reads.readers(read):
                causes[reader] = min(kind, causes.get(reader, kind))
        jobs: dict[Key, Job] = {}
        for key, path in walked.items():
            if key.kind in self.intent_kinds and self.exists(key):
                jobs[key] = Job(key in causes, path)
        for key, kind in causes.items():
            if key not in walked and self._healing and self.exists(key):
                jobs[key] = Job(True, (), (key.kind, kind))
        return jobs

    def _forget(self, gone: Collection[Key]) -> Concerned:
        """Drop what was kept of intents that no longer exist."""
        changed: set[FactName] = set()
        for key in gone:
            self.reads.drop(key)
            changed |= self._facts.replace(key, ())
        return self._concerned_by_facts(changed)

    def _concerned_by_facts(self, changed: set[FactName]) -> Concerned:
        """The readers of these facts, and the facts that are intents of their own; what goes takes its own along."""
        if not changed:
            return nobody()
        jobs: dict[Key, Job] = {}
        gone: set[Key] = set()
        waiting = sorted(changed, reverse=True)
        while waiting:
            kind, name = waiting.pop()
            fact = Key(kind, name)
            jobs.update(dict.fromkeys(self.reads.readers(fact_read(kind, name)), Job(True)))
            if kind not in self.intent_kinds:
                continue
            if (kind, name) not in self._facts:
                gone.add(fact)
                self.reads.drop(fact)
                waiting.extend(sorted(self._facts.replace(fact, ()), reverse=True))
            elif fact not in self.reads:
                jobs[fact] = Job(False)
        jobs = {key: job for key, job in jobs.items() if self.exists(key)}
        return Concerned(self._in_order(jobs), frozenset(), frozenset(gone), ())

    def _readers_of(self, read: Read) -> Concerned:
        jobs = {key: Job(True) for key in self.reads.readers(read)}
        return Concerned(self._in_order(jobs), frozenset(), frozenset(), ())

    def _in_order(self, jobs: dict[Key, Job]) -> dict[Key, Job]:
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
