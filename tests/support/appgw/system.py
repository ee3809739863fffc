"""A compiler of Application Gateways over memory, whose world is given as manifests, and the document that follows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from intentc.bridges.azure.document import Assembled, assemble, parts_of, record_of
from intentc.loading.resource_files import resources_in
from intentc.loading.yaml import Located
from intentc.offline.offline import Offline
from intentc.plugins import find_compilers, load_all

Manifest = dict[str, Any]
Name = tuple[str, str, str]
"""kind, namespace, name."""


def name_of(manifest: Manifest) -> Name:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


class DocumentSystem:
    """One engine, for one gateway as Azure gives it."""

    def __init__(self, gateway: dict[str, Any], settings: dict[str, Any] | None = None) -> None:
        self._loaded = load_all(find_compilers(["appgw"]))
        self.settings = settings or {}
        self.offline = Offline(self._loaded, settings={f"appgw.{name}": one for name, one in self.settings.items()})
        self.gateway = gateway
        self.world: dict[Name, Manifest] = {}
        self._uuids: dict[Name, str] = {}

    async def start(self) -> None:
        await self.offline.seed()
        record = record_of(self.gateway, "gateway")
        await self.offline.apply([{"kind": "appgw_gateway", "operation": "CREATE", "data": record}])

    async def put(self, *manifests: Manifest) -> None:
        """Create or replace resources, in one transaction, as a bridge does: without statuses."""
        entries = []
        for manifest in manifests:
            name = name_of(manifest)
            (loaded,) = resources_in([Located(json.loads(json.dumps(manifest)), "<test>")], self._loaded.schema)
            kind, data = self._loaded.schema.kind(loaded.kind), dict(loaded.data)
            if name in self.world:
                data = {**dict.fromkeys(kind.user_fields), **data, "uuid": self._uuid(loaded.kind, data)}
            operation = "UPDATE" if name in self.world else "CREATE"
            entries.append({"kind": loaded.kind, "operation": operation, "data": data, "mirror": True})
            self.world[name] = manifest
        await self.offline.apply(entries)

    async def delete(self, *names: Name) -> None:
        entries = []
        for name in names:
            manifest = self.world.pop(name)
            (loaded,) = resources_in([Located(json.loads(json.dumps(manifest)), "<test>")], self._loaded.schema)
            data = {"uuid": self._uuid(loaded.kind, dict(loaded.data))}
            entries.append({"kind": loaded.kind, "operation": "DELETE", "data": data})
        await self.offline.apply(entries)

    def _uuid(self, kind: str, data: dict[str, Any]) -> str:
        key = self.offline.engine.world.named(kind, tuple(data["fq_name"]))
        assert key is not None
        return key.uuid

    def assembled(self, **options: Any) -> Assembled:
        return assemble(parts_of(self.offline.outputs()), self.gateway, **options)

    def problems(self, assembled: Assembled) -> set[tuple[str, str]]:
        """(Ingress, reason) of all problems."""
        found = {(problem.name, problem.reason) for problem in self.offline.problems()}
        return found | {(problem.owner, problem.reason) for problem in assembled.problems}


def manifests(world: dict[Name, Manifest]) -> Iterable[Manifest]:
    return list(world.values())
