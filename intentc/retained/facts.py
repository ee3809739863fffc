"""Stores in etcd, for the next process, the facts of intents whose last run did not complete.

Why facts, and not the values that led to them: the inputs of such an intent are no longer completely known (relations,
other facts, settings, code), while its facts are. They lie under
``/intentc/<installation>/retained-facts/<kind>/<digest>`` while the intent is in that state (``keeper``), as
``{"kind", "uuid", "create_revision", "facts": [[kind, name, value]]}``. They count only for the intent with the same
create revision, which is 0 for a fact that is an intent itself.

A struct value carries the name and all field names of its class. It is read only with a class of that name and with
these fields that this process has already loaded: nothing in etcd names code to load, and facts of a different form in
a new compiler version are ignored.

State: the back-off.
"""

from __future__ import annotations

import hashlib
import logging
import sys
from typing import Any

import anyio
import msgspec

from intentc.model import Change, Fact, HeldFacts, Key, Schema
from intentc.model.values import FrozenMap, Opaque
from intentc.reconcile.backoff import Retries
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import AccessDenied, Delete, Put, Store, StoreError

_LOG = logging.getLogger(__name__)
_PLAIN = (str, int, float, bool, type(None))


class _Retained(msgspec.Struct, frozen=True):
    kind: str
    uuid: str
    create_revision: int
    facts: list[tuple[str, str, Any]]


def retained_facts_prefix(installation: str) -> str:
    """The prefix of an installation's retained facts."""
    return f"/intentc/{installation}/retained-facts/"


class RetainedFacts:
    """Reads and writes retained facts."""

    def __init__(self, store: Store, schema: Schema, *, installation: str, retries: Retries | None = None) -> None:
        self._store = store
        self._schema = schema
        self._layout = Layout.of(retained_facts_prefix(installation))
        self._retries = retries or Retries()

    async def list(self) -> dict[Key, HeldFacts]:
        """All retained facts, by intent. Raises ``StoreError``. Unreadable ones are left out."""
        listing = await list_all(self._store, self._layout, lambda key: None)
        found = [self._decoded(change) for change in listing.snapshot.changes]
        return {held.key: held for held in found if held is not None}

    async def load(self) -> dict[Key, HeldFacts]:
        """All retained facts; waits while the store can't be reached."""
        while True:
            try:
                return await self.list()
            except AccessDenied as error:
                _LOG.warning(
                    "retained facts can't be read: %s; grant the compiler's role %s", error, self._layout.prefix
                )
                return {}
            except StoreError as error:
                _LOG.warning("retained facts of held intents can't be read yet: %s; trying again", error)
                await anyio.sleep(self._retries.next_wait())

    async def put(self, held: HeldFacts) -> None:
        """Retain the facts of one intent. Raises ``StoreError``, also for facts that JSON can't represent."""
        try:
            facts = [(fact.kind, fact.name, _encoded(fact.value)) for fact in held.facts]
        except (TypeError, RecursionError) as error:
            raise StoreError(str(error)) from None
        value = msgspec.json.encode(_Retained(*held.key, held.create_revision, facts))
        try:
            same = _read(value) == held
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"facts can't be read back from JSON: {error}") from None
        if not same:
            raise StoreError("facts differ after a round trip through JSON")
        await self._store.transaction([], [Put(self._key(held.key), value)])

    async def remove(self, key: Key) -> None:
        """Stop retaining the facts of an intent. Raises ``StoreError``."""
        await self._store.transaction([], [Delete(self._key(key))])

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
    kept = msgspec.json.decode(value, type=_Retained)
    facts = tuple(Fact(kind, name, _decoded(value)) for kind, name, value in kept.facts)
    return HeldFacts(Key(kept.kind, kept.uuid), kept.create_revision, facts)


def _encoded(value: Any) -> Any:
    """A frozen value as plain JSON. Raises ``TypeError``."""
    if type(value) in _PLAIN:
        return value
    if type(value) is tuple:
        return [_encoded(item) for item in value]
    if isinstance(value, FrozenMap):
        return {"map": {name: _encoded(value[name]) for name in value}}
    if isinstance(value, Opaque):
        return {"opaque": msgspec.json.decode(value.text) if value.text else None}
    if isinstance(value, msgspec.Struct):
        name = f"{type(value).__module__}:{type(value).__qualname__}"
        if _struct(name) is not type(value):
            raise TypeError(f"facts hold {name}, which is no class of a module")
        return {"type": name, "fields": {name: _encoded(getattr(value, name)) for name in value.__struct_fields__}}
    raise TypeError(f"facts hold {type(value).__name__}, which has no form in JSON here")


def _decoded(value: Any) -> Any:
    """The inverse of ``_encoded``. Raises ``ValueError`` or ``TypeError``."""
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    match value:
        case {"map": dict(items)}:
            return FrozenMap({name: _decoded(item) for name, item in items.items()})
        case {"opaque": opaque}:
            return Opaque(opaque)
        case {"type": str(name), "fields": dict(fields)}:
            found = _struct(name)
            if found is None or set(found.__struct_fields__) != fields.keys():
                raise ValueError(f"{name} is not, or has other fields")
            return found(**{name: _decoded(item) for name, item in fields.items()})
        case dict():
            raise ValueError("an object that is neither a map nor a struct")
    return value


def _struct(name: str) -> type[msgspec.Struct] | None:
    """A struct class in a loaded module."""
    module, _, qualified = name.partition(":")
    found = getattr(sys.modules.get(module), qualified, None)
    return found if isinstance(found, type) and issubclass(found, msgspec.Struct) else None
