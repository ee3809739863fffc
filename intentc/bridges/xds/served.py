"""Keeps the resources that Envoys are sent, and what changed at which publication.

A stream asks what it has missed since the publication that it saw last. The names of deleted resources are remembered
for that, within a limit; a stream that is further behind compares everything. A route configuration that is asked for
and not in force is answered by an empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .elements import Type
from .route_configurations import Assembly

_NONE = "none"
_DELETED_KEPT = 1_024
"""Names of deleted resources that are remembered, in addition to twice the number of existing ones."""


class Resource(NamedTuple):
    """A resource as Envoy is sent it. ``body``: an ``Any``; ``version``: see ``SnapshotCache.version``; ``addresses``:
    those of a listener."""

    name: str
    version: str
    body: bytes
    addresses: tuple[str, ...] = ()


class Served:
    """The resources in force, by type and name."""

    def __init__(self) -> None:
        self._staged: dict[tuple[Type, str], tuple[bytes, tuple[str, ...]] | None] = {}
        self._resources: dict[Type, dict[str, Resource]] = {kind: {} for kind in Type}
        self._changes: dict[Type, dict[str, int]] = {kind: {} for kind in Type}
        self._forgotten: dict[Type, int] = dict.fromkeys(Type, 0)
        """The number of the publication up to which deletions are no longer remembered."""

    def stage(self, kind: Type, name: str, body: bytes | None, addresses: tuple[str, ...] = ()) -> None:
        """Replace what is served under a name with the next publication; None deletes it."""
        self._staged[kind, name] = (body, addresses) if body is not None else None

    def publish(self, versions: Mapping[Type, str], serial: int) -> None:
        """Serve what is staged, with the version of its type; ``serial``: the number of this publication."""
        for (kind, name), staged in self._staged.items():
            resources, changes = self._resources[kind], self._changes[kind]
            if staged is None:
                resources.pop(name, None)
            else:
                resources[name] = Resource(name, versions[kind], *staged)
            changes.pop(name, None)
            changes[name] = serial
            if len(changes) > 2 * len(resources) + _DELETED_KEPT:
                deleted = [name for name in changes if name not in resources]
                for name in deleted[: len(deleted) // 2]:
                    self._forgotten[kind] = changes.pop(name)
        self._staged.clear()

    def resources(self, kind: Type) -> dict[str, Resource]:
        """All resources of a type in force; don't keep the mapping, it changes."""
        return self._resources[kind]

    def resource(self, kind: Type, name: str) -> Resource | None:
        """The resource in force under a name; ``no_routes`` for a missing route configuration that is awaited."""
        found = self._resources[kind].get(name)
        return self.no_routes(name) if found is None and kind is Type.ROUTES else found

    def no_routes(self, name: str) -> Resource:
        """An empty route configuration, for a name under which none is in force."""
        return Resource(name, _NONE, Assembly().assemble(name))

    def lacks(self, kind: Type, name: str, version: str | None) -> bool:
        """Whether ``resource`` returns something under a name that is not this ``version``."""
        found = self._resources[kind].get(name)
        if found is None:
            return kind is Type.ROUTES and version != _NONE
        return version != found.version

    def changed_since(self, kind: Type, serial: int) -> list[str] | None:
        """The names that were created, changed or deleted after ``serial``; None if deletions since are forgotten."""
        if serial < self._forgotten[kind]:
            return None
        found = []
        for name, changed in reversed(self._changes[kind].items()):
            if changed <= serial:
                break
            found.append(name)
        return found
