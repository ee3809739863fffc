"""A world without any index: every read looks at every resource. Use it for one evaluation, or as an oracle of reads.

Resources are plain dicts as the API server stores them; references resolve by uuid or name at each read.
"""

from __future__ import annotations

import json
import uuid as uuid_module
from collections.abc import Mapping
from typing import Any

from intentc.model import Change, HeldInput, Key, Link, Resource, Schema, Target
from intentc.model.names import FQ_NAME, UUID
from intentc.model.reads import PARENT


def provisional_uuid(kind: str, fq_name: list[str] | tuple[str, ...]) -> str:
    """The uuid that a resource gets here if its dict names none."""
    return str(uuid_module.uuid5(uuid_module.NAMESPACE_OID, "\0".join((kind, *fq_name))))


class NaiveWorld:
    """Resources by key, numbers by (pool, owner), facts by (kind, name), settings by name."""

    def __init__(self, schema: Schema, *, settings: Mapping[str, Any] | None = None) -> None:
        self.schema = schema
        self.resources: dict[Key, Resource] = {}
        self.held: set[Key] = set()
        self.numbers: dict[tuple[str, str], int] = {}
        self.facts: dict[tuple[str, str], dict[Key, Any]] = {}
        self.settings = dict(settings or {})

    def put(self, kind: str, fq_name: str | tuple[str, ...], **fields: Any) -> Key:
        """Store a resource; ``fq_name`` joined by ``:``, or its elements. A child finds its parent by name if
        ``parent_type`` is set."""
        names = fq_name.split(":") if isinstance(fq_name, str) else list(fq_name)
        uuid = fields.pop("uuid", None) or provisional_uuid(kind, names)
        data: dict[str, Any] = {"uuid": uuid, "fq_name": names, **fields}
        if "parent_type" in data and "parent_uuid" not in data:
            data["parent_uuid"] = provisional_uuid(data["parent_type"].replace("-", "_"), names[:-1])
        return self.store(kind, data)

    def store(self, kind: str, data: Mapping[str, Any]) -> Key:
        """Store a resource as the API server does: all its fields in one dict, uuid among them."""
        key = Key(kind, data["uuid"])
        self.resources[key] = self.schema.kind(kind).decode(Change(kind, key.uuid, json.dumps(data).encode(), 1, 1))
        return key

    def resource(self, key: Key) -> Resource | None:
        if key in self.held:
            raise HeldInput(key)
        return self.resources.get(key)

    def named(self, kind: str, fq_name: tuple[str, ...]) -> Key | None:
        return next((key for key in self._keys(kind) if self.resources[key].fq_name == tuple(fq_name)), None)

    def targets(self, key: Key, relation: str) -> tuple[Target, ...]:
        resource = self.resources.get(key)
        if resource is None:
            return ()
        found = {
            target: self._attribute(resource, relation, target)
            for link in resource.links
            if link.relation == relation
            for target in self._keys(link.kind)
            if self._meets(link, target)
        }
        return tuple(Target(target, found[target]) for target in self._sorted(found))

    def sources(self, key: Key, kind: str, relation: str) -> tuple[Key, ...]:
        return tuple(source for source in self._keys(kind) if any(t.key == key for t in self.targets(source, relation)))

    def select(self, kind: str, index: str, value: str) -> tuple[Key, ...]:
        return tuple(key for key in self._keys(kind) if index == "all" or value in self.resources[key].offers(index))

    def contributions(self, kind: str, name: str) -> tuple[tuple[Key, Any], ...]:
        return tuple(sorted(self.facts.get((kind, name), {}).items()))

    def contributed(self, kind: str, name: str) -> bool:
        return bool(self.facts.get((kind, name)))

    def allocation(self, pool: str, owner: str) -> int | None:
        return self.numbers.get((pool, owner))

    def setting(self, name: str) -> Any:
        return self.settings[name]

    def _keys(self, kind: str) -> list[Key]:
        return self._sorted({key for key in self.resources if key.kind == kind})

    def _sorted(self, keys: set[Key] | dict[Key, Any]) -> list[Key]:
        return sorted(keys, key=lambda key: (self.resources[key].fq_name, key.uuid))

    def _meets(self, link: Link, target: Key) -> bool:
        if link.by == UUID:
            return target.uuid == link.value
        if link.by == FQ_NAME:
            return ":".join(self.resources[target].fq_name) == link.value
        return all(part in self.resources[target].offers(link.by) for part in link.value.split(","))

    def _attribute(self, resource: Resource, relation: str, target: Key) -> Any:
        if relation == PARENT or relation not in resource.kind.relations:
            return None
        name = self.resources[target].fq_name
        return next(
            entry.attribute
            for entry in resource.references(relation)
            if entry.uuid == target.uuid or (not entry.uuid and entry.to == name)
        )
