"""Stores last good values in etcd, and finds those of resources that can't be read now.

There are two sources, of which the newer value counts. Only etcd's history, until its next compaction, has a value that
became unreadable while no compiler ran. One that a running compiler saw is kept under
``/intentc/<installation>/retained/<kind>/<uuid>`` while its intent is held (``keeper``), in the form
``{"create_revision", "mod_revision", "value"}``: the resource as written at ``mod_revision``. It counts only for the
resource with the same create revision, so a resource that was deleted and created again starts without one.

State: the back-off; ``KnownValues`` holds what was read, for an engine over a copy.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import anyio
import msgspec

from intentc.model import Change, HeldFacts, InvalidInput, Key, Resource, Schema
from intentc.reconcile.backoff import Retries
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import AccessDenied, Compacted, Delete, FutureRevision, Put, Store, StoreError

from .facts import RetainedFacts

_LOG = logging.getLogger(__name__)
_LONGEST_HISTORY = 16
"""The most writes of one key that are checked, newest first: each costs a request."""


class _Retained(msgspec.Struct, frozen=True):
    create_revision: int
    mod_revision: int
    value: msgspec.Raw


def retained_prefix(installation: str) -> str:
    """The prefix of an installation's retained values."""
    return f"/intentc/{installation}/retained/"


class RetainedValues:
    """Reads and writes retained values. ``path``: the path of resources (``etcd.path``)."""

    def __init__(
        self, store: Store, schema: Schema, *, path: str, installation: str, retries: Retries | None = None
    ) -> None:
        self._store = store
        self._schema = schema
        self._resources = Layout.of(f"/{path}/")
        self._layout = Layout.of(retained_prefix(installation))
        self._retries = retries or Retries()
        self.facts = RetainedFacts(store, schema, installation=installation, retries=retries)

    async def held_facts(self) -> Collection[HeldFacts]:
        """The retained facts; waits while the store can't be reached."""
        return (await self.facts.load()).values()

    async def list(self) -> dict[Key, Resource]:
        """All retained values. Raises ``StoreError``. Unreadable ones are left out."""
        listing = await list_all(self._store, self._layout, lambda key: None)
        found = {}
        for change in listing.snapshot.changes:
            resource = self._decoded(change)
            if resource is not None:
                found[resource.key] = resource
        return found

    async def load(self) -> dict[Key, Resource]:
        """All retained values; waits while the store can't be reached."""
        while True:
            try:
                return await self.list()
            except AccessDenied as error:
                _LOG.warning(
                    "retained values can't be read: %s; grant the compiler's role %s", error, self._layout.prefix
                )
                return {}
            except StoreError as error:
                await self._wait(error)

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
        """Retain a value. Raises ``StoreError``."""
        kept = _Retained(resource.create_revision, resource.mod_revision, msgspec.Raw(resource.raw))
        key = self._layout.key(resource.key.kind, resource.key.uuid)
        await self._store.transaction([], [Put(key, msgspec.json.encode(kept))])

    async def remove(self, key: Key) -> None:
        """Stop retaining a value. Raises ``StoreError``."""
        await self._store.transaction([], [Delete(self._layout.key(key.kind, key.uuid))])

    async def _in_history(self, change: Change, after: int) -> Resource | None:
        """The newest readable value that was written after ``after`` and before ``change``; None if etcd has none."""
        revision = change.mod_revision - 1
        for _ in range(_LONGEST_HISTORY):
            earlier = await self._at(change, revision)
            if earlier is None or earlier.create_revision != change.create_revision or earlier.mod_revision <= after:
                return None
            try:
                return self._schema.kind(change.kind).decode(earlier)
            except InvalidInput:
                revision = earlier.mod_revision - 1
        return None

    async def _at(self, change: Change, revision: int) -> Change | None:
        """The same key at ``revision``; None if it was absent, or etcd does not have that revision."""
        while revision > 0:
            try:
                page = await self._store.range(self._resources.key(change.kind, change.uuid), revision=revision)
            except (Compacted, FutureRevision, AccessDenied):
                return None
            except StoreError as error:
                await self._wait(error)
            else:
                item = page.items[0] if page.items else None
                return item and Change(change.kind, change.uuid, item.value, item.create_revision, item.mod_revision)
        return None

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

    async def _wait(self, error: StoreError) -> None:
        _LOG.warning("last good values of held resources can't be read yet: %s; trying again", error)
        await anyio.sleep(self._retries.next_wait())


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
        """See ``RetainedValues.load``."""
        return self.retained

    async def held_facts(self) -> Collection[HeldFacts]:
        """See ``RetainedValues.held_facts``."""
        return self.facts

    async def before(self, unreadable: Iterable[Change], retained: Mapping[Key, Resource]) -> Mapping[Key, Resource]:
        """See ``RetainedValues.before``."""
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
