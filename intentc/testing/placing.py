"""Writes resources into a store in memory as an API server would have stored them, without its rules, and deletes them.

Tests of intents give whole resources: what admission would fill in or reject is not their subject, and parents or
targets that don't matter may be missing. Identity, parents, references, and what the server writes of ``metadata`` are
completed; the rest stays as given.

It writes into the given store and nowhere else; the resources that it gets are completed in place. State: the keys and
documents that were put.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from intentc.apiserver.admission.server_fields import raise_generation, sent_metadata, stamp_new_metadata
from intentc.apiserver.sources import DerivedSource
from intentc.loading.resources import Loaded
from intentc.model import InvalidInput, Key, Kind, Name, Schema, kebab, snake
from intentc.model.manifest import manifest_uuid
from intentc.model.metadata import METADATA
from intentc.watch.keys import Layout
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Operation, Put


class Placing:
    """Writes resources and remembers them, so that later resources can refer to earlier ones."""

    def __init__(self, store: MemoryStore, schema: Schema, layout: Layout) -> None:
        self._store = store
        self._schema = schema
        self._layout = layout
        self._source = DerivedSource()
        self._keys: dict[Name, Key] = {}
        self._documents: dict[Key, dict[str, Any]] = {}

    async def put(self, resources: Iterable[Loaded]) -> None:
        """Store all of them in one revision; of an existing one only its given fields."""
        found = [(self._identified(loaded), loaded) for loaded in resources]
        for key, loaded in found:
            earlier = self._documents.get(key)
            document = loaded.data if earlier is None or loaded.whole else earlier | loaded.data
            self._stamp(self._schema.kind(key.kind), earlier, document, loaded)
            self._documents[key] = document
        for key, _ in found:
            self._complete(self._schema.kind(key.kind), self._documents[key])
        await self._commit([Put(self._at(key), msgspec.json.encode(self._documents[key])) for key, _ in found])

    async def delete(self, resources: Iterable[Loaded]) -> None:
        """Delete all of them in one revision. Raises ``InvalidInput`` for one that was never put."""
        keys = [self._identified(loaded) for loaded in resources]
        for key in keys:
            if self._documents.pop(key, None) is None:
                raise InvalidInput(f"{key} is not there, and so can't be deleted")
        self._keys = {name: key for name, key in self._keys.items() if key in self._documents}
        await self._commit([Delete(self._at(key)) for key in keys])

    def _at(self, key: Key) -> str:
        return self._layout.key(key.kind, key.uuid)

    async def _commit(self, operations: list[Operation]) -> None:
        await self._store.transaction((), operations)

    def _identified(self, loaded: Loaded) -> Key:
        """The key of a resource, its uuid filled in."""
        kind, data = self._schema.kind(loaded.kind), loaded.data
        if not data.get("fq_name"):
            raise InvalidInput("a resource in a test is given with its fq_name", source=loaded.source)
        name = Name(kind.name, tuple(data["fq_name"]))
        if name in self._keys:
            data.setdefault("uuid", self._keys[name].uuid)
        derived = manifest_uuid(kind.name, name.fq_name) if kind.written_as_manifests else self._source.uuid(name)
        data.setdefault("uuid", derived)
        return self._noted(name, data["uuid"])

    def _noted(self, name: Name, uuid: str) -> Key:
        self._keys[name] = key = Key(name.kind, uuid)
        return key

    def _complete(self, kind: Kind, data: dict[str, Any]) -> None:
        data.setdefault("name", data["fq_name"][-1])
        data.setdefault("display_name", data["fq_name"][-1])
        self._complete_parent(kind, data)
        for relation in kind.relations:
            for entry in data.get(f"{relation}_refs", ()):
                self._complete_reference(relation, entry)

    def _stamp(self, kind: Kind, earlier: dict[str, Any] | None, document: dict[str, Any], loaded: Loaded) -> None:
        """Fill in what the server writes of ``metadata``."""
        if not kind.written_as_manifests:
            return
        if earlier is None:
            stamp_new_metadata(kind, document, now=self._source.now())
            return
        if loaded.whole or METADATA in loaded.data:
            document[METADATA] = sent_metadata(earlier, loaded.data.get(METADATA), masked=False)
        raise_generation(kind, earlier, document)

    def _complete_parent(self, kind: Kind, data: dict[str, Any]) -> None:
        given = snake(data.get("parent_type") or "")
        possible = [given] if given else [parent.kind for parent in kind.parents]
        for parent in possible:
            key = self._keys.get(Name(parent, tuple(data["fq_name"][:-1])))
            if key is not None:
                data.setdefault("parent_type", kebab(parent))
                data.setdefault("parent_uuid", key.uuid)
                return

    def _complete_reference(self, relation: str, entry: dict[str, Any]) -> None:
        if "to" in entry and "uuid" not in entry:
            key = self._keys.get(Name(relation, tuple(entry["to"])))
            if key is not None:
                entry["uuid"] = key.uuid
        elif "to" not in entry:
            target: Mapping[str, Any] = self._documents.get(Key(relation, entry.get("uuid", "")), {})
            entry["to"] = list(target.get("fq_name", ()))
