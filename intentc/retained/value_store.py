"""Stores in etcd, for the next process, last good values and facts of intents, and finds the values.

A last good value has two sources, of which the newer counts. Only etcd's history, until its next compaction, has a
value that became unreadable while no compiler ran. One that a running compiler saw is kept under
``/intentc/<installation>/retained/<kind>/<uuid>`` while its intent is held (``keeper``), in the form
``{"create_revision", "mod_revision", "value"}``: the resource as written at ``mod_revision``.

Facts of an intent whose last run did not complete are kept, and not the values that led to them: its inputs are no
longer completely known (relations, other facts, settings, code), while its facts are. They lie under
``/intentc/<installation>/retained-facts/<kind>/<digest>`` as ``{"format": 1, "kind", "uuid", "create_revision",
"facts": [[kind, name, value]]}``. A struct or a named tuple carries the name and all field names of its class, and is
read only with a class of that name and with these fields that this process has already loaded: nothing in etcd names
code to load.

Either counts only for the resource with the same create revision (0 for a fact that is an intent itself).
"""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from intentc.model import Change, Fact, HeldFacts, InvalidInput, Key, Resource, Schema
from intentc.model.values import FrozenMap, Opaque
from intentc.reconcile import persist
from intentc.reconcile.failures import Denied, Failure
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Compacted, Delete, FutureRevision, Put, Store

_LOG = logging.getLogger(__name__)
T = TypeVar("T", Resource, HeldFacts)
Read = TypeVar("Read")
_PLAIN = (str, int, float, bool, type(None))


class _StoredFacts(msgspec.Struct, frozen=True):
    kind: str
    uuid: str
    create_revision: int
    facts: list[tuple[str, str, Any]]
    format: Literal[1]
    """Records of another format, or of none, are ignored: their values have another form."""


def retained_facts_prefix(installation: str) -> str:
    """The prefix of an installation's retained facts."""
    return f"/intentc/{installation}/retained-facts/"


class _RetainedIn(Generic[T]):
    """What is retained below a prefix, one value for each intent; ``what``: for logs."""

    def __init__(self, store: Store, schema: Schema, prefix: str, what: str) -> None:
        self._store = store
        self._schema = schema
        self._layout = Layout.of(prefix)
        self._what = what

    def _decoded(self, change: Change) -> T | None:
        raise NotImplementedError

    def _key(self, key: Key) -> str:
        return self._layout.key(key.kind, key.uuid)

    async def list(self) -> dict[Key, T]:
        """All retained values, by intent. Raises ``Failure``. Unreadable ones are left out."""
        listing = await list_all(self._store, self._layout)
        found = [self._decoded(change) for change in listing.snapshot.changes]
        return {one.key: one for one in found if one is not None}

    async def load(self) -> dict[Key, T]:
        """As ``list``; waits while the store can't be reached."""
        return await self._persist(self._permitted)

    async def _persist(self, read: Callable[[], Awaitable[Read]]) -> Read:
        """Repeat ``read`` until the store answers."""
        lack = f"retained {self._what} of held intents can't be read"
        return await persist(read, lack, log=_LOG)

    async def _permitted(self) -> dict[Key, T]:
        """What may be listed. Raises ``Failure``."""
        try:
            return await self.list()
        except Denied as error:
            _LOG.warning(
                "retained %s can't be read: %s; grant the compiler's role %s",
                self._what,
                error,
                self._layout.prefix,
            )
            return {}

    async def remove(self, key: Key) -> None:
        """Stop retaining the value of an intent. Raises ``Failure``."""
        await self._store.transaction([], [Delete(self._key(key))])


class RetainedFacts(_RetainedIn[HeldFacts]):
    """Reads and writes retained facts."""

    def __init__(self, store: Store, schema: Schema, *, installation: str) -> None:
        super().__init__(store, schema, retained_facts_prefix(installation), "facts")

    async def put(self, held: HeldFacts) -> None:
        """Retain the facts of one intent. Raises ``Failure``, also for facts that JSON can't represent."""
        try:
            facts = [(fact.kind, fact.name, _plain(fact.value)) for fact in held.facts]
        except (TypeError, RecursionError) as error:
            raise Failure(str(error)) from None
        value = msgspec.json.encode(_StoredFacts(*held.key, held.create_revision, facts, 1))
        try:
            same = _read(value) == held
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise Failure(f"facts can't be read back from JSON: {error}") from None
        if not same:
            raise Failure("facts differ after a round trip through JSON")
        await self._store.transaction([], [Put(self._key(held.key), value)])

    def _key(self, key: Key) -> str:
        # The name of a fact that is an intent may be long, and contain any character.
        return self._layout.key(key.kind, hashlib.sha256(key.uuid.encode()).hexdigest())

    def _decoded(self, change: Change) -> HeldFacts | None:
        try:
            held = _read(change.value or b"")
            for fact in held.facts:
                if fact.kind not in self._schema or self._schema.kind(fact.kind).stored:
                    raise ValueError(f"{fact.kind} is no kind of facts")
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            _LOG.warning("the retained facts %s/%s are ignored: %s", change.kind, change.uuid, error)
            return None
        return held


def _read(value: bytes) -> HeldFacts:
    """The inverse of what ``put`` writes. Raises ``msgspec.DecodeError``, ``ValueError`` or ``TypeError``."""
    kept = msgspec.json.decode(value, type=_StoredFacts)
    facts = tuple(Fact(kind, name, _thawed(value)) for kind, name, value in kept.facts)
    return HeldFacts(Key(kept.kind, kept.uuid), kept.create_revision, facts)


def _plain(value: Any) -> Any:
    """A frozen value as plain JSON. Raises ``TypeError``."""
    if type(value) in _PLAIN:
        return value
    if type(value) is tuple:
        return [_plain(item) for item in value]
    if isinstance(value, FrozenMap):
        return {"map": {name: _plain(value[name]) for name in value}}
    if isinstance(value, Opaque):
        return {"opaque": msgspec.json.decode(value.text) if value.text else None}
    fields = _fields(type(value))
    if fields is not None:
        name = f"{type(value).__module__}:{type(value).__qualname__}"
        if _class(name) is not type(value):
            raise TypeError(f"facts hold {name}, which is no class of a module")
        return {"type": name, "fields": {field: _plain(getattr(value, field)) for field in fields}}
    raise TypeError(f"facts hold {type(value).__name__}, which has no form in JSON here")


def _thawed(value: Any) -> Any:
    """The inverse of ``_plain``. Raises ``ValueError`` or ``TypeError``."""
    if isinstance(value, list):
        return tuple(_thawed(item) for item in value)
    match value:
        case {"map": dict(items)}:
            return FrozenMap({name: _thawed(item) for name, item in items.items()})
        case {"opaque": opaque}:
            return Opaque(opaque)
        case {"type": str(name), "fields": dict(fields)}:
            found = _class(name)
            if found is None or set(_fields(found) or ()) != fields.keys():
                raise ValueError(f"{name} is not, or has other fields")
            return found(**{name: _thawed(item) for name, item in fields.items()})
        case dict():
            raise ValueError("an object that is neither a map nor a struct")
    return value


def _class(name: str) -> type[Any] | None:
    """A class of structs or named tuples in a loaded module."""
    module, _, qualified = name.partition(":")
    found = getattr(sys.modules.get(module), qualified, None)
    return found if isinstance(found, type) and _fields(found) is not None else None


def _fields(struct: type[Any]) -> tuple[str, ...] | None:
    """The fields of a class of structs or named tuples; None of another class."""
    if issubclass(struct, msgspec.Struct):
        return struct.__struct_fields__
    return getattr(struct, "_fields", None) if issubclass(struct, tuple) else None


_LONGEST_HISTORY = 16
"""The most writes of one key that are checked, newest first: each costs a request."""


class _Retained(msgspec.Struct, frozen=True):
    create_revision: int
    mod_revision: int
    value: msgspec.Raw


def retained_prefix(installation: str) -> str:
    """The prefix of an installation's retained values."""
    return f"/intentc/{installation}/retained/"


class RetainedValues(_RetainedIn[Resource]):
    """Reads and writes retained values. ``path``: the path of resources (``etcd.path``)."""

    def __init__(self, store: Store, schema: Schema, *, path: str, installation: str) -> None:
        super().__init__(store, schema, retained_prefix(installation), "last good values")
        self._resources = Layout.of(f"/{path}/")
        self.facts = RetainedFacts(store, schema, installation=installation)

    async def held_facts(self) -> Collection[HeldFacts]:
        """The retained facts; waits while the store can't be reached."""
        return (await self.facts.load()).values()

    async def before(self, unreadable: Iterable[Change], retained: Mapping[Key, Resource]) -> dict[Key, Resource]:
        """The last readable value of each resource that can't be read now: the newer of its retained value and the one
        in etcd's history. Waits while the store can't be reached."""
        found = {}
        for change in unreadable:
            key = Key(change.kind, change.uuid)
            kept = retained.get(key)
            if kept is not None and not _precedes(kept, change):
                kept = None
            resource = await self._in_history(change, kept.mod_revision if kept is not None else 0) or kept
            if resource is not None:
                found[key] = resource
        return found

    async def put(self, resource: Resource) -> None:
        """Retain a value. Raises ``Failure``."""
        kept = _Retained(resource.create_revision, resource.mod_revision, msgspec.Raw(resource.raw))
        await self._store.transaction([], [Put(self._key(resource.key), msgspec.json.encode(kept))])

    async def _in_history(self, change: Change, after: int) -> Resource | None:
        """The newest readable value that was written after ``after`` and before ``change``; None if etcd has none."""
        revision = change.mod_revision - 1
        for _ in range(_LONGEST_HISTORY):
            earlier = await self._persist(partial(self._at, change, revision))
            if earlier is None or earlier.create_revision != change.create_revision or earlier.mod_revision <= after:
                return None
            try:
                return self._schema.kind(change.kind).decode(earlier)
            except InvalidInput:
                revision = earlier.mod_revision - 1
        return None

    async def _at(self, change: Change, revision: int) -> Change | None:
        """The same key at ``revision``; None if it was absent, or etcd does not have that revision. Raises
        ``Failure``."""
        if revision <= 0:
            return None
        try:
            page = await self._store.range(self._resources.key(change.kind, change.uuid), revision=revision)
        except (Compacted, FutureRevision, Denied):
            return None
        item = page.items[0] if page.items else None
        return item and Change(change.kind, change.uuid, item.value, item.create_revision, item.mod_revision)

    def _decoded(self, change: Change) -> Resource | None:
        if change.kind not in self._schema:
            return None
        try:
            kept = msgspec.json.decode(change.value or b"", type=_Retained)
            earlier = Change(change.kind, change.uuid, bytes(kept.value), kept.create_revision, kept.mod_revision)
            return self._schema.kind(change.kind).decode(earlier)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidInput) as error:
            _LOG.warning("the retained value %s/%s is ignored: %s", change.kind, change.uuid, error)
            return None


class KnownValues(NamedTuple):
    """What was found in a store, for an engine over a copy of it: the results of ``load`` and ``before``."""

    retained: Mapping[Key, Resource]
    readable: Mapping[Key, Resource]
    facts: Collection[HeldFacts] = ()

    @classmethod
    async def of(cls, values: RetainedValues, schema: Schema, changes: Iterable[Change]) -> KnownValues:
        """The values for a listing with these changes. Waits while the store can't be reached."""
        unreadable = [change for change in changes if change.kind in schema and not _is_readable(schema, change)]
        retained = await values.load()
        return cls(retained, await values.before(unreadable, retained), await values.held_facts())

    async def load(self) -> Mapping[Key, Resource]:
        return self.retained

    async def held_facts(self) -> Collection[HeldFacts]:
        return self.facts

    async def before(self, unreadable: Iterable[Change], retained: Mapping[Key, Resource]) -> Mapping[Key, Resource]:
        keys = {Key(change.kind, change.uuid) for change in unreadable}
        return {key: resource for key, resource in self.readable.items() if key in keys}


def _is_readable(schema: Schema, change: Change) -> bool:
    try:
        schema.kind(change.kind).decode(change)
    except InvalidInput:
        return False
    return True


def _precedes(kept: Resource, change: Change) -> bool:
    """Whether a retained value is an earlier one of the same resource."""
    return kept.create_revision == change.create_revision and kept.mod_revision < change.mod_revision
