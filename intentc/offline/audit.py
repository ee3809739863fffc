"""Compiles everything from nothing at one revision and reports what differs from the objects that exist.

It runs the live engine over one listing in observe mode: the plans are the differences. Its write service only records,
so nothing is written or allocated. An allocation that an intent still needs is a difference, too. An object that waits
for another difference to be repaired (its target is missing, or is to be replaced) is reported with what it waits for.
Allocations, directives and retained values are the present ones, also for an older revision; paused, dropped and
suspect intents are so here as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from intentc.directives import Book, Drop, Kept, Pause, Suspect
from intentc.engine.assembly import assemble
from intentc.engine.live import Live
from intentc.engine.operator_actions import OperatorActions
from intentc.engine.state_tables import StateTables
from intentc.inspection.traversal import contributors_read, reached, with_contributors
from intentc.logic import LiveWorld
from intentc.model import (
    AddReference,
    Create,
    Delete,
    HeldInput,
    Key,
    Name,
    Operation,
    RemoveReference,
    Snapshot,
    Update,
    UpdateStatus,
    verb,
)
from intentc.model.reads import allocation_read
from intentc.model.status import status_item
from intentc.offline import AllocationsUnreadable
from intentc.planning import DeleteGuard
from intentc.plugins import Loaded
from intentc.reconcile.failures import Failure
from intentc.retained import KnownFields, RetainedValues
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Store
from intentc.writing import ReadService
from intentc.writing.interfaces import DryRun


def upstream(world: LiveWorld, intents: Iterable[Key]) -> frozenset[Key]:
    """Return the contributors to each fact that ``intents`` read in their last evaluation, and recursively theirs.
    ``intents`` themselves are included only if they contribute to each other."""
    first = [contributor for intent in intents for contributor in contributors_read(world, intent)]
    return frozenset(with_contributors(world, first))


ALLOCATE = "allocate"
"""The operation of a difference that is a missing allocation; its field is ``<pool for NAME>``."""


WAIT = "wait"
"""The operation of a difference that must be written after other objects; its fields are those objects, each as
``<kind> <name>``."""


class Change(msgspec.Struct, frozen=True):
    """``operation``: create, update, delete, add_ref, remove_ref, ``allocate`` or ``wait``. ``fields``: the fields that
    it would set, sorted; references as ``<relation>_refs``."""

    operation: str
    fields: tuple[str, ...] = ()


class Difference(msgspec.Struct, frozen=True):
    """An object that differs from a compile from scratch. ``name``: its ``fq_name`` joined by ``:``.

    ``operations``: what would be written. ``origins``: the intents that claim it, or whose uuid its mark has, sorted.
    ``upstream``: the intents that contribute, through any number of facts, to what these read. ``revision``: of the
    listed object; 0 if it was absent.
    """

    kind: str
    name: str
    fq_name: tuple[str, ...]
    operations: tuple[Change, ...]
    origins: tuple[str, ...]
    upstream: tuple[str, ...] = ()
    revision: int = 0

    @property
    def place(self) -> Name:
        return Name(self.kind, self.fq_name)

    @property
    def intents(self) -> frozenset[Key]:
        """The keys of ``origins`` and ``upstream``."""
        return frozenset(Key(*text.split("/", 1)) for text in (*self.origins, *self.upstream))


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an audit at ``revision``. ``differences``: sorted by kind, then fq_name. ``last_change``: the last
    revision at which one of the listed resources was written. ``held``: intents that can't be compiled now, and paused
    objects. ``withheld``: deletes that need approval, which are not differences. ``owned``: objects with our mark, of
    ``resources`` in all. ``seconds``: the duration."""

    revision: int
    differences: tuple[Difference, ...] = ()
    last_change: int = 0
    held: int = 0
    withheld: int = 0
    problems: int = 0
    resources: int = 0
    owned: int = 0
    seconds: float = 0.0


_ALLOCATION = allocation_read("", "")[0]


async def audit(
    loaded: Loaded,
    store: Store,
    read: ReadService,
    *,
    path: str,
    installation: str,
    settings: Mapping[str, Any] | None = None,
    guard: DeleteGuard | None = None,
    revision: int = 0,
) -> Report:
    """Audit the resources under ``/<path>/``, now or at ``revision``. ``guard``: has the limits of the service, so that
    the same deletes are withheld.

    Raises ``Failure`` (``Compacted`` for a compacted revision) and ``AllocationsUnreadable``.
    """
    began = time.perf_counter()
    await KnownFields(store, loaded.schema, installation=installation).load()
    listing = await list_all(store, Layout.of(f"/{path}/"), revision=revision)
    engine = assemble(
        loaded,
        DryRun(),
        read,
        installation=installation,
        settings=settings,
        observe=True,
        journal_size=1,
        guard=guard,
        last_good=RetainedValues(store, loaded.schema, path=path, installation=installation),
    )
    try:
        try:
            await engine.load_allocations()
        except Failure as error:
            raise AllocationsUnreadable from error
        await engine.apply_item(listing.snapshot)
        apply_directives(engine.operator_actions, await Book(store, installation).list())
        while await engine.step([]):
            pass
        return _report(engine, listing.snapshot, seconds=time.perf_counter() - began)
    finally:
        engine.close()


def apply_directives(actions: OperatorActions, directives: Iterable[Kept]) -> None:
    """Apply pauses, drops and suspects before anything is evaluated. One-time directives are for the service alone:
    unapproved deletes stay withheld here."""
    for directive, _ in directives:
        match directive:
            case Pause(key=key, name=name):
                actions.pause(key, name, "")
            case Drop(key=key, mod_revision=revision):
                actions.drop(key, revision)
            case Suspect(key=key, mod_revision=revision) if directive.holds:
                actions.suspect(key, revision)


def _report(live: Live, snapshot: Snapshot, *, seconds: float) -> Report:
    world, states = live.world, live.states
    found = [
        _difference(live, name, operations)
        for name, operations in states.planned.items()
        if name not in states.left_alone
    ]
    found += _requests(world, states)
    found += _waiting(live)
    return Report(
        revision=snapshot.revision,
        differences=tuple(sorted(found, key=lambda difference: difference.place)),
        last_change=max((change.mod_revision for change in snapshot.changes), default=0),
        held=len({key for key, _ in states.held.items()} | world.held.keys()) + len(states.left_alone),
        withheld=sum(len(names) for names in live.planner.guard.withheld.values()),
        problems=len(states.problems(world.held.values())),
        resources=len(world.cache),
        owned=sum(_is_owned(world, key) for key in world.cache),
        seconds=round(seconds, 3),
    )


def _difference(live: Live, name: Name, operations: tuple[Operation, ...], *more: Change) -> Difference:
    world, actual = live.world, live.planner.assumed.actual(name)
    origins = set(live.planner.book.on(name))
    if actual is not None and actual.mark is not None:
        marked = (Key(kind, actual.mark.origin) for kind in world.intent_kinds)
        origins.update(filter(world.exists, marked))
    return Difference(
        kind=name.kind,
        name=":".join(name.fq_name),
        fq_name=name.fq_name,
        operations=(*map(_change, operations), *more),
        origins=tuple(map(str, sorted(origins))),
        upstream=tuple(map(str, sorted(upstream(world, origins) - origins))),
        revision=(actual.revision or 0) if actual is not None else 0,
    )


def _requests(world: LiveWorld, states: StateTables) -> Iterator[Difference]:
    """Yield the allocations that intents wait for, in place of the objects that follow from them."""
    for key, read in states.waiting.items():
        resource = world.cache.shown(key)
        if read[0] == _ALLOCATION and resource is not None:
            name = ":".join(resource.fq_name)
            request = Change(ALLOCATE, (f"<{read[1]} for {name}>",))
            yield Difference(key.kind, name, resource.fq_name, (request,), (str(key),), revision=resource.mod_revision)


def _waiting(live: Live) -> Iterator[Difference]:
    """Yield the objects that wait, directly or not, for a planned object; not those that wait for users' resources."""
    states = live.states
    planned = {name for name in states.planned if name not in states.left_alone}
    dependents: dict[Name, list[Name]] = {}
    for name, awaited in states.object_waits.items():
        for other in awaited:
            dependents.setdefault(other, []).append(name)
    found = set(reached(planned, lambda one: (n for n in dependents.get(one, ()) if n not in states.left_alone)))
    for name in found - planned:
        waits = sorted(states.object_waits[name] & (found - {name}))
        yield _difference(live, name, (), Change(WAIT, tuple(map(str, waits))))


def _change(operation: Operation) -> Change:
    match operation:
        case Create(properties=values, references=references) | Update(properties=values, references=references):
            return Change(verb(operation), _fields(values, references))
        case Delete():
            return Change(verb(operation))
        case AddReference(relation=relation) | RemoveReference(relation=relation):
            return Change(verb(operation), (f"{relation}_refs",))
        case UpdateStatus(parts=parts):
            return Change(verb(operation), tuple(sorted(map(status_item, parts))))


def _fields(properties: Mapping[str, Any], references: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted([*properties, *(f"{relation}_refs" for relation in references)]))


def _is_owned(world: LiveWorld, key: Key) -> bool:
    try:
        resource = world.resource(key)
    except HeldInput:
        return False
    return resource is not None and resource.mark is not None and resource.mark.installation == world.installation
