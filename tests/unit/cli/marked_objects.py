"""Objects with marks, in an etcd and at an API server of a test's own, for ``release`` and ``adopt``."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.ordering_etcd import OrderingEtcd
from tests.unit.cli.toy_api_server import ToyApiServer

__all__ = ["OTHER", "Objects", "mark", "objects", "released"]

OTHER = {"key": "team", "value": "net"}


def mark(installation: str = "default") -> dict[str, str]:
    return {"key": "intentc", "value": f"{installation}/contrail/shared"}


def released(installation: str = "default") -> dict[str, str]:
    """The mark of a released object."""
    return {**mark(installation), "key": "intentc-released"}


class Objects:
    """Objects in etcd and at the API server, which takes an update only if ``if_match`` fits."""

    def __init__(self, server: ToyApiServer, etcd: OrderingEtcd) -> None:
        self._server = server
        self._etcd = etcd
        self.updates: list[dict[str, Any]] = []
        self.conflicts: set[str] = set()
        """uuids that somebody else writes once, just before us."""
        self.rejected: set[str] = set()
        self._revisions: dict[str, int] = {}
        server._sync = self._sync  # type: ignore[method-assign]

    def put(self, name: str, *annotations: dict[str, str], kind: str = "route_target", uuid: str = "") -> str:
        uuid = uuid or self._server.put(kind.replace("_", "-"), name)
        self._store(kind, uuid, [name], list(annotations))
        return uuid

    def annotations(self, uuid: str) -> list[dict[str, str]]:
        (found,) = [data for (_, known), data in self._server.stored.items() if known == uuid]
        return list(found["annotations"]["key_value_pair"])

    def _store(self, kind: str, uuid: str, fq_name: list[str], pairs: list[dict[str, str]]) -> None:
        value = {"uuid": uuid, "fq_name": fq_name, "annotations": {"key_value_pair": pairs}}
        self._server.stored[kind.replace("_", "-"), uuid] = value
        self._revisions[uuid] = self._etcd.resource(kind, uuid, value)

    def _sync(self, entries: list[Any]) -> tuple[int, Any]:
        for place, item in enumerate(entries):
            uuid = item["data"]["uuid"]
            if uuid in self.conflicts:
                self.conflicts.remove(uuid)
                self._store(item["kind"], uuid, item["data"]["fq_name"], [mark(), OTHER])
            if self._revisions[uuid] != item["if_match"]:
                return 412, {"message": f"item {place}: it was changed", "item": place, "detail": "it was changed"}
            if uuid in self.rejected:
                return 403, {"message": f"item {place}: no", "item": place, "detail": "no"}
        for item in entries:
            data = item["data"]
            self._store(item["kind"], data["uuid"], data["fq_name"], data["annotations"]["key_value_pair"])
            self.updates.append(item)
        return 200, []


@pytest.fixture
def objects(connected: ToyApiServer, etcd: OrderingEtcd) -> Objects:
    return Objects(connected, etcd)
