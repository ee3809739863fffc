"""Shows the stored objects to planning: the cache with our own unseen writes, and what was read back, on top
(docs/engine.md §6.1).

Without it every plan between a write and its echo would repeat the write. Evaluations never see it: they read only the
cache. An assumption is an acknowledged operation, or an object as the server returned it on reading back (which
replaces the object's earlier assumptions); they are kept per key, in order. It ends with the first event of its key, or
the first listing, at or after its revision; without a revision, with the first event of the key that is not the echo of
another write. ``expired`` lists what is left after two seconds, for ``engine/write_failures.py``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, Protocol

from intentc.model import (
    AddReference,
    Change,
    Create,
    Delete,
    HeldInput,
    InvalidInput,
    Key,
    Mark,
    Name,
    Operation,
    Reference,
    ReferenceValue,
    Resource,
    Schema,
    Update,
)
from intentc.model.reads import PARENT

from .actual import Actual
from .claims import Item

PATIENCE = 2.0
"""Seconds after which an assumption is checked by a read."""


class CacheReader(Protocol):
    """What planning reads from the cache (a part of ``model.World``, and its revision)."""

    @property
    def revision(self) -> int:
        """The last applied revision."""
        ...

    def resource(self, key: Key) -> Resource | None:
        """Raises ``HeldInput`` if the object exists but can't be read."""
        ...

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None: ...

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]: ...

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]: ...


Stored = tuple[bytes, int | None]
"""An object as the server returned it on reading back: JSON, and its mod revision if the answer had one."""


class Seen(NamedTuple):
    """The result of reading back: None if the object was absent; ``held``: it exists and can't be read."""

    resource: Resource | None
    held: bool = False


class Assumption(NamedTuple):
    """An expected change of one object. ``targets``: the objects that it makes the object refer to."""

    what: Operation | Seen
    name: Name
    revision: int | None
    targets: tuple[Key, ...]


class Assumed:
    """The cache with our own unseen writes. ``clock``: seconds, monotonic."""

    def __init__(self, schema: Schema, reader: CacheReader, clock: Callable[[], float] = time.monotonic) -> None:
        self.reader = reader
        self._schema = schema
        self._clock = clock
        self._pending: dict[Key, list[Assumption]] = {}
        self._created: dict[Name, Key] = {}
        self._referring: dict[Key, set[Key]] = {}
        self._due: deque[tuple[float, Key, Assumption]] = deque()

    def wrote(self, operation: Operation, revision: int | None) -> bool:
        """Record that ``operation`` was acknowledged at ``revision`` (None: the answer had none). True if its echo
        arrived before its answer."""
        if self._already_seen(operation, revision):
            return True
        self._assume(operation.key, Assumption(operation, operation.name, revision, _targets(operation)))
        return False

    def seen_at(self, key: Key) -> int:
        """The revision at which the cache saw the object: 0 if it is absent, -1 if it can't be read."""
        try:
            resource = self.reader.resource(key)
        except HeldInput:
            return -1
        return resource.mod_revision if resource is not None else 0

    def read_back(self, key: Key, stored: Stored | None, seen_at: int) -> None:
        """Replace all assumptions on an object by what the server returned for it. ``stored``: None if it was absent.
        ``seen_at``: the result of ``seen_at`` when the read began. If the cache has seen an event of the object since,
        the answer may be older than that and would never be corrected, so it is ignored."""
        if self.seen_at(key) != seen_at:
            return
        self._end(key, len(self._pending.get(key, ())))
        try:
            cached = self.reader.resource(key)
        except HeldInput:
            return
        if stored is None:
            if cached is not None:
                self._assume(key, Assumption(Seen(None), cached.name, None, ()))
            return
        kind = self._schema.kind(key.kind)
        value, revision = stored
        try:
            resource = kind.decode(Change(key.kind, key.uuid, value, 0, revision or 0))
        except InvalidInput:
            if cached is not None:
                self._assume(key, Assumption(Seen(None, held=True), cached.name, revision, ()))
            return
        if cached is not None and (
            cached.values() == resource.values() if revision is None else cached.mod_revision >= revision
        ):
            return
        values = resource.values()
        targets = tuple(Key(r.relation, r.uuid) for name in kind.relations for r in kind.references_of(values, name))
        parent = (resource.parent,) if resource.parent else ()
        self._assume(key, Assumption(Seen(resource), resource.name, revision, parent + targets))

    def forget(self) -> frozenset[Name]:
        """Drop all assumptions after the store was restored to an older state. Returns the affected objects; no event
        will report that they differ from what was written."""
        names = frozenset(assumption.name for pending in self._pending.values() for assumption in pending)
        for key, pending in list(self._pending.items()):
            self._end(key, len(pending))
        return names

    def listed(self, revision: int) -> None:
        """Note that the cache applies a listing of everything at ``revision``."""
        for key, pending in list(self._pending.items()):
            self._end(key, _seen_by(pending, revision))

    def applied(self, key: Key, revision: int) -> Operation | Seen | None:
        """Note that the cache applies an event of ``key`` at ``revision``; return what it is the echo of, or None."""
        pending = self._pending.get(key)
        if not pending:
            return None
        ended = _seen_by(pending, revision)
        echo = pending[ended - 1].what if ended and pending[ended - 1].revision == revision else None
        if echo is None and ended < len(pending) and pending[ended].revision is None:
            ended += 1
        self._end(key, ended)
        return echo

    def expired(self) -> tuple[tuple[Key, Name], ...]:
        """The objects to read back, since their writes have not been seen for two seconds. Each is returned again two
        seconds later if it was not read back."""
        now = self._clock()
        found: dict[Key, Name] = {}
        while self._due and self._due[0][0] <= now:
            _, key, assumption = self._due.popleft()
            if any(assumption is pending for pending in self._pending.get(key, ())):
                found[key] = assumption.name
                self._due.append((now + PATIENCE, key, assumption))
        return tuple(found.items())

    def __len__(self) -> int:
        """The number of objects with unseen writes."""
        return len(self._pending)

    def mark(self, name: Name) -> Mark | None:
        """The mark of the object of this name; None if it has none, or is absent. Raises ``HeldInput``."""
        # A third of the time of ``actual``, and asked for every object that changes.
        key = self._created.get(name) or self.reader.named(name.kind, name.fq_name)
        if key is None:
            return None
        found = self.reader.resource(key) if key not in self._pending else self.actual(name)
        return found.mark if found is not None else None

    def revision(self, name: Name) -> int | None:
        """The mod revision of the object of this name; 0 if it is absent, None if not known."""
        created = self._created.get(name)
        if created is not None and isinstance(self._pending[created][-1].what, Create):
            return self._pending[created][-1].revision
        try:
            actual = self.actual(name)
        except HeldInput:
            return None
        return 0 if actual is None else actual.revision

    def actual(self, name: Name) -> Actual | None:
        """The object of this name, None if there is none. Raises ``HeldInput`` if it can't be read."""
        created = self._created.get(name)
        if created is not None and (actual := self.at(created)) is not None:
            return actual
        key = self.reader.named(name.kind, name.fq_name)
        return self.at(key) if key is not None else None

    def title(self, origin: Key) -> str:
        """The name of an intent's resource, or its uuid if the resource is gone or can't be read."""
        try:
            resource = self.reader.resource(origin)
        except HeldInput:
            resource = None
        return ":".join(resource.fq_name) if resource is not None else origin.uuid

    def at(self, key: Key) -> Actual | None:
        """The object of this key, None if there is none. Raises ``HeldInput`` if it can't be read."""
        pending = self._pending.get(key)
        if pending is None:
            resource = self.reader.resource(key)
            return Actual.seen(resource) if resource is not None else None
        return self._folded(key, pending)

    def is_there(self, key: Key) -> bool:
        """Whether the object exists. Raises ``HeldInput`` if it can't be read."""
        found = self.reader.resource(key) if key not in self._pending else self.at(key)
        return found is not None

    def present(self, key: Key) -> bool:
        """Whether the object exists, readable or not."""
        try:
            return self.is_there(key)
        except HeldInput:
            return True

    def key_of(self, reference: Reference) -> Key | None:
        """The object that a stored entry refers to; None if it has no uuid and no object has its name."""
        if reference.uuid:
            return Key(reference.relation, reference.uuid)
        return self.reader.named(reference.relation, reference.to)

    def entries(self, actual: Actual, relation: str) -> dict[Key, ReferenceValue]:
        """The entries of one relation by target; those without a target are left out."""
        found = {}
        for reference in actual.references(relation):
            key = self.key_of(reference)
            if key is not None:
                found[key] = ReferenceValue(key, reference.to, reference.attribute)
        return found

    def leading_to(self, relation: str, stored: Collection[Key], items: Iterable[Item]) -> frozenset[Key]:
        """Those of the ``stored`` entries of one relation that lead to the targets in ``items``, which are fields or
        (relation, target) pairs. The uuid decides: an entry may lack the name of its target, or have a former one."""
        targets = {self.key_named(item[1]) for item in items if isinstance(item, tuple) and item[0] == relation}
        return frozenset(key for key in stored if key in targets) if targets else frozenset()

    def key_named(self, name: Name) -> Key | None:
        """The key of the object of this name, readable or not; None if there is none."""
        try:
            actual = self.actual(name)
        except HeldInput as held:
            return held.key
        return actual.key if actual is not None else None

    def holders(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        """The objects of ``kind`` that refer to ``key`` by ``relation`` (``parent``: its children), sorted by key."""
        found = []
        for holder in {*self.reader.sources(key, kind, relation), *self._referring.get(key, ())}:
            if holder.kind != kind:
                continue
            if holder not in self._pending or self._refers(holder, relation, key):
                found.append(holder)
        return tuple(sorted(found))

    def _refers(self, holder: Key, relation: str, key: Key) -> bool:
        try:
            actual = self.at(holder)
        except HeldInput:
            return True
        if actual is None:
            return False
        return actual.parent == key if relation == PARENT else key in self.entries(actual, relation)

    def _already_seen(self, operation: Operation, revision: int | None) -> bool:
        """Whether the echo arrived before the answer. Without a revision, creates and deletes are judged by the
        object's presence, updates by a revision newer than the plan's."""
        if revision is not None:
            return revision <= self.reader.revision
        if operation.key in self._pending:
            return False
        try:
            cached = self.reader.resource(operation.key)
        except HeldInput:
            return True
        if isinstance(operation, Create):
            return cached is not None
        if cached is None:
            return True
        if isinstance(operation, Update):
            return operation.revision is not None and cached.mod_revision > operation.revision
        return False

    def _folded(self, key: Key, pending: list[Assumption]) -> Actual | None:
        actual: Actual | None = None
        if not isinstance(pending[0].what, Create | Seen):
            try:
                resource = self.reader.resource(key)
            except HeldInput:
                if not isinstance(pending[0].what, Delete):
                    raise
                resource = None
            actual = Actual.seen(resource) if resource is not None else None
        for assumption in pending:
            match assumption.what:
                case Create() as create:
                    actual = Actual.made(self._schema.kind(create.kind), create, assumption.revision)
                case Delete():
                    actual = _after_deletion(actual)
                case Seen(held=True):
                    raise HeldInput(key, assumption.name)
                case Seen(resource=resource):
                    actual = Actual.seen(resource) if resource is not None else None
                    if actual is not None:
                        actual.revision = assumption.revision
                case change if actual is not None:
                    actual.apply(change, assumption.revision)
        return actual

    def _assume(self, key: Key, assumption: Assumption) -> None:
        self._pending.setdefault(key, []).append(assumption)
        self._due.append((self._clock() + PATIENCE, key, assumption))
        for target in assumption.targets:
            self._referring.setdefault(target, set()).add(key)
        if _gives_name(assumption):
            self._created[assumption.name] = key

    def _end(self, key: Key, count: int) -> None:
        """Forget the first ``count`` assumptions on ``key``."""
        if not count:
            return
        ended, left = self._pending[key][:count], self._pending[key][count:]
        if left:
            self._pending[key] = left
        else:
            del self._pending[key]
        still = {target for assumption in left for target in assumption.targets}
        for target in {target for assumption in ended for target in assumption.targets} - still:
            self._referring[target].discard(key)
            if not self._referring[target]:
                del self._referring[target]
        names = {assumption.name for assumption in left if _gives_name(assumption)}
        for assumption in ended:
            if self._created.get(assumption.name) == key and assumption.name not in names:
                del self._created[assumption.name]


def _after_deletion(actual: Actual | None) -> Actual | None:
    """What an acknowledged deletion leaves: an object with finalizers stays until the last one is removed."""
    if actual is None or not actual.finalizers:
        return None
    actual.is_being_deleted = True
    return actual


def _seen_by(pending: list[Assumption], revision: int) -> int:
    """How many of these assumptions a cache at ``revision`` has seen."""
    return max(
        (n for n, one in enumerate(pending, 1) if one.revision is not None and one.revision <= revision), default=0
    )


def _gives_name(assumption: Assumption) -> bool:
    """Whether it implies that an object of its name exists under its key."""
    what = assumption.what
    return isinstance(what, Create) or (isinstance(what, Seen) and what.resource is not None)


def _targets(operation: Operation) -> tuple[Key, ...]:
    match operation:
        case Create() | Update():
            parent = (operation.parent.key,) if isinstance(operation, Create) and operation.parent else ()
            return parent + tuple(entry.key for entries in operation.references.values() for entry in entries)
        case AddReference():
            return (operation.target.key,)
        case _:
            return ()
