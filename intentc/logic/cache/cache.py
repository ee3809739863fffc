"""The cache: one table per concern; a whole batch changes all tables together.

A change takes two steps, so that a caller can look at the graph before and after: ``prepare`` computes the new state of
each key, duplicate names included, and changes nothing; ``commit`` applies it. ``logic`` decodes values and finds what
a change affects.

State: all tables, in memory; only ``logic.Service`` changes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import msgspec

from intentc.logic.cache.graph import (
    Graph,
    IndexTable,
    NameTable,
    Pending,
    given_name,
    offers_of,
    precedence,
    rejected_name,
)
from intentc.logic.cache.states import Held, State, Transition, counts, known_name, shown
from intentc.model import Key, Kind, Problem, Resource, Schema
from intentc.model.names import FQ_NAME, UUID

ALL = "all"
"""The index of every kind: all its objects, under the value ``""``."""


class Preparation(NamedTuple):
    """What ``commit`` will do: the keys whose state changes, and the holders of the affected names."""

    transitions: tuple[Transition, ...]
    names: Mapping[tuple[str, str], tuple[str, ...]]


class Cache:
    """Resources by key and by name, their graph, their indexes, and the held ones, for the kinds of ``schema``."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.stored: Mapping[str, Kind] = {kind.name: kind for kind in schema if kind.stored}
        """The kinds whose objects have keys in the store, by name; the other kinds are facts."""
        self._states: dict[str, dict[str, State]] = {name: {} for name in self.stored}
        self.names = NameTable()
        self.indexes = IndexTable()
        self.graph = Graph(schema, self._states, self.names, self.indexes)
        self._held: dict[Key, Problem] = {}
        self._held_of: Counter[str] = Counter()

    def state(self, key: Key) -> State | None:
        """The state of ``key``; None if it is absent."""
        return self._states.get(key.kind, {}).get(key.uuid)

    def shown(self, key: Key) -> Resource | None:
        """The resource by which ``key`` takes part in the graph; for a held one its last readable state, if any."""
        return shown(self.state(key))

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None:
        """The object that has this name; a held one as well, if its name is known and no other object has it."""
        uuid = self.names.in_force(kind, ":".join(fq_name))
        return self._states[kind][uuid].key if uuid is not None else None

    def all(self, kind: str) -> tuple[Key, ...]:
        """The objects of ``kind``, unordered; unreadable ones as well, unless their name belongs to another object."""
        return tuple(state.key for state in self._states.get(kind, {}).values() if counts(state))

    def states(self, kind: str) -> list[State]:
        """A copy of the states of all present keys of ``kind``, unordered."""
        return list(self._states.get(kind, {}).values())

    def find(self, kind: str, index: str, value: str) -> Collection[Key]:
        """The objects of ``kind`` with a readable state that offer ``value`` in ``index``: a declared one, ``uuid`` or
        ``fq_name``. The index of all objects answers as ``all`` does. Unordered."""
        if index == ALL:
            return self.all(kind)
        if index in (UUID, FQ_NAME):
            uuid = value if index == UUID else self.names.in_force(kind, value)
            state = self._states.get(kind, {}).get(uuid) if uuid is not None else None
            return (state.key,) if state is not None and shown(state) is not None else ()
        return self.indexes.find(kind, index, value)

    def pending(self) -> Iterator[Pending]:
        """The references by uuid or name whose target has not arrived; checks every resource in turn."""
        return self.graph.pending()

    def __iter__(self) -> Iterator[Key]:
        """All present keys, whatever their values."""
        for states in self._states.values():
            for state in list(states.values()):
                yield state.key

    @property
    def held(self) -> Mapping[Key, Problem]:
        """The present keys that can't be used now, with the reasons."""
        return self._held

    @property
    def held_of(self) -> Mapping[str, int]:
        """Kind → the number of its keys in ``held``."""
        return self._held_of

    def __len__(self) -> int:
        return sum(map(len, self._states.values()))

    def prepare(self, arrivals: Mapping[Key, State | None]) -> Preparation:
        """Compute what these new states would change. An arriving ``Held`` is a value that can't be read; None is a
        deletion. All keys are of stored kinds."""
        final: dict[Key, State | None] = {}
        claimants: dict[tuple[str, str], list[Key]] = {}
        for key, arrived in arrivals.items():
            before = self._states[key.kind].get(key.uuid)
            after = with_history(arrived, before) if isinstance(arrived, Held) else arrived
            final[key] = after
            name = known_name(after)
            if name:
                claimants.setdefault((key.kind, name), []).append(key)
            former = known_name(before)
            if former and former != name:
                claimants.setdefault((key.kind, former), [])
        names = {(kind, name): self._settle(kind, name, coming, final) for (kind, name), coming in claimants.items()}
        return Preparation(tuple(self._transitions(final)), names)

    def commit(self, preparation: Preparation) -> None:
        """Apply a preparation; nothing else may have changed the cache since it was made."""
        for (kind, name), uuids in preparation.names.items():
            self.names.replace(kind, name, uuids)
        for key, before, after, offered_before, offered_after in preparation.transitions:
            states = self._states[key.kind]
            if after is None:
                del states[key.uuid]
            else:
                states[key.uuid] = after
            if isinstance(after, Held):
                self._held_of[key.kind] += key not in self._held
                self._held[key] = after.problem
            elif isinstance(before, Held):
                del self._held[key]
                self._held_of[key.kind] -= 1
            visible_before, visible_after = shown(before), shown(after)
            self.graph.replace(
                key,
                visible_before.links if visible_before is not None else (),
                visible_after.links if visible_after is not None else (),
            )
            if offered_before != offered_after:
                self.indexes.replace(key, offered_after)

    def _settle(self, kind: str, name: str, coming: list[Key], final: dict[Key, State | None]) -> tuple[str, ...]:
        """Order the holders of one name; note in ``final`` which one gains or loses the name."""
        states = self._states[kind]
        staying = [states[uuid].key for uuid in self.names.holders(kind, name) if Key(kind, uuid) not in final]
        if not staying and len(coming) == 1:
            return (coming[0].uuid,)
        holders = [state for key in coming if (state := final[key]) is not None]
        holders += [states[key.uuid] for key in staying]
        holders.sort(key=precedence)
        for place, state in enumerate(holders):
            final[state.key] = given_name(state) if place == 0 else rejected_name(state, holders[0])
        return tuple(state.key.uuid for state in holders)

    def _transitions(self, final: Mapping[Key, State | None]) -> Iterator[Transition]:
        for key, after in final.items():
            before = self._states[key.kind].get(key.uuid)
            if before is after:
                continue
            offered = self.indexes.offered(key)
            visible = shown(after)
            offers = offered if visible is not None and visible is shown(before) else offers_of(visible)
            yield Transition(key, before, after, offered, offers)


def with_history(arrived: Held, before: State | None) -> Held:
    """An unreadable value together with what was known of its key: its name and last readable state stay."""
    if before is None:
        return arrived
    fq_name = before.fq_name or arrived.fq_name
    # People know it by its name, which the unreadable value may no longer contain.
    problem = msgspec.structs.replace(arrived.problem, name=":".join(fq_name) or arrived.problem.name)
    return Held(
        arrived.key,
        fq_name,
        arrived.create_revision,
        arrived.mod_revision,
        problem,
        shown=shown(before),
    )
