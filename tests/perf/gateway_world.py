"""A world of Mappings, and a store in the bench's own process that takes every write at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec

from intentc.model import Batch, Change, Create, Delete, Key, Schema, Snapshot, Update
from intentc.model.manifest import manifest_uuid
from intentc.model.values import ENCODER
from intentc.writing.encode import encode_mutation
from intentc.writing.interfaces import Written

_VERSION = "getambassador.io/v3alpha1"


def flat(kind: str, name: str, version: str = _VERSION, **fields: Any) -> dict[str, Any]:
    """A resource as it stands in the store."""
    fq_name = ["default", name]
    return {"uuid": manifest_uuid(kind, fq_name), "fq_name": fq_name, "api_version": version, **fields}


def world(mappings: int, hosts: int, wildcard: bool, port: int = 8080) -> Iterator[tuple[str, dict[str, Any]]]:
    """(kind, resource) of a gateway in order, which listens on ``port``."""
    binding = {"namespace": {"from": "ALL"}}
    yield (
        "listener",
        flat("listener", "http", port=port, protocol="HTTP", securityModel="INSECURE", hostBinding=binding),
    )
    insecure = {"insecure": {"action": "Route"}}
    for number in range(max(hosts, 1)):
        hostname = f"h{number}.example.com" if hosts > 1 else "*"
        yield "host", flat("host", f"host-{number}", hostname=hostname, requestPolicy=insecure)
    for number in range(mappings):
        hostname = f"h{number % hosts}.example.com" if hosts > 1 and not wildcard else "*"
        yield "mapping", mapping(number, hostname)
        yield (
            "service",
            flat(
                "service",
                f"s{number}",
                "v1",
                ports=[{"name": "http", "port": 80, "targetPort": "8080"}],
                type="ClusterIP",
            ),
        )
        address = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
        subsets = [{"addresses": [{"ip": address}], "ports": [{"name": "http", "port": 8080}]}]
        yield "endpoints", flat("endpoints", f"s{number}", "v1", subsets=subsets)


def mapping(number: int, hostname: str, suffix: str = "") -> dict[str, Any]:
    return flat(
        "mapping",
        f"m{number}",
        hostname=hostname,
        prefix=f"/service-{number}{suffix}/",
        service=f"s{number}",
        resolver="endpoint",
    )


class Store:
    """A store that takes every write: the write service, and what it holds as changes."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._values: dict[Key, bytes] = {}
        self._changed: dict[Key, bytes | None] = {}
        self._born: dict[Key, int] = {}
        self.revision = 1
        self.first_write = 0.0
        """The process's CPU time when anything was written first: until then all was evaluated."""

    def put(self, kind: str, value: dict[str, Any]) -> Change:
        """A user's resource as the next revision."""
        self.revision += 1
        key = Key(kind, value["uuid"])
        born = self._born.setdefault(key, self.revision)
        return Change(kind, key.uuid, ENCODER.encode(value), born, self.revision)

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        self.first_write = self.first_write or time.process_time()
        return self._put(operation.key, encode_mutation(operation, self._schema).data)

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        changed = msgspec.json.decode(encode_mutation(operation, self._schema).data)
        former = msgspec.json.decode(self._values[operation.key])
        return self._put(operation.key, ENCODER.encode({**former, **changed}))

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        self._values.pop(operation.key, None)
        self._changed[operation.key] = None
        return Written(self.revision + 1)

    def __len__(self) -> int:
        """How many objects the compiler has written that are there."""
        return len(self._values)

    def _put(self, key: Key, value: bytes) -> Written:
        self._values[key] = self._changed[key] = value
        return Written(self.revision + 1)

    def echo(self) -> Batch | None:
        """What was written since the last time, None if nothing was."""
        if not self._changed:
            return None
        self.revision += 1
        changes = tuple(
            Change(key.kind, key.uuid, value, self._born.setdefault(key, self.revision) if value else 0, self.revision)
            for key, value in self._changed.items()
        )
        self._changed.clear()
        return Batch(self.revision, changes)

    def listing(self) -> Snapshot:
        """All that the compiler has written."""
        changes = [
            Change(key.kind, key.uuid, value, self._born[key], self.revision) for key, value in self._values.items()
        ]
        return Snapshot(self.revision, tuple(changes))
