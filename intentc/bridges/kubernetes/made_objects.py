"""Knows the objects of the cluster that carry our label, as their watches and the answers to our requests show them.

Why it exists: answers to our own writes are newer than the watch, whose older events must not hide them; and an object
that was deleted as soon as it ended shows its end in its last event alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from intentc.outgoing import Target, name_of

from .stored_manifests import FqName
from .wire import UNUSABLE, Identity, newer

Body = dict[str, Any]


class GroupVersionKind(NamedTuple):
    """What one watch is about: an apiVersion and a kind in CamelCase."""

    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} of {self.version}"

    def name(self, namespace: str, name: str) -> FqName:
        """The name of the manifest of an object."""
        group, _, version = self.version.rpartition("/")
        return name_of(Target(group, version, self.kind, namespace, name))


def sort_of(target: Target) -> GroupVersionKind:
    """The sort of an object."""
    return GroupVersionKind(target.api_version, target.kind)


class MadeObjects:
    """The objects of all sorts."""

    def __init__(self) -> None:
        self._live: dict[GroupVersionKind, dict[FqName, Body]] = {}
        self._ended: dict[tuple[GroupVersionKind, FqName], Body] = {}

    def get(self, sort: GroupVersionKind, name: FqName) -> Body | None:
        """An object; None if it is not known to exist."""
        return self._live.get(sort, {}).get(name)

    def last(self, sort: GroupVersionKind, name: FqName) -> Body | None:
        """The last state of an object that was deleted; None if it exists, or is not known."""
        return self._ended.get((sort, name))

    def forget_last(self, sort: GroupVersionKind, name: FqName) -> None:
        """Note that the end of an object is written down."""
        self._ended.pop((sort, name), None)

    def put(self, sort: GroupVersionKind, raw: bytes) -> FqName | None:
        """Note what the cluster has; returns the object's name, None if that is older than what is known. Raises
        ``msgspec.MsgspecError``."""
        body = msgspec.json.decode(raw, type=dict[str, Any])
        metadata = {field: value for field, value in (body.get("metadata") or {}).items() if field != "managedFields"}
        body = {**body, "apiVersion": sort.version, "kind": sort.kind, "metadata": metadata}
        name = sort.name(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
        known = self.get(sort, name)
        if known is not None and newer(_version(known), _version(body)):
            return None
        self._live.setdefault(sort, {})[name] = body
        self._ended.pop((sort, name), None)
        return name

    def deleted(self, sort: GroupVersionKind, identity: Identity, uid: str, raw: bytes = b"") -> FqName:
        """Note that an object is gone, or is ours no more; ``raw``: its last state, empty if that is not known."""
        name = sort.name(*identity)
        known = self.get(sort, name)
        if known is not None and known["metadata"].get("uid") == uid:
            del self._live[sort][name]
            self._ended[sort, name] = _last(raw, known)
        return name

    def gone(self, sort: GroupVersionKind, name: FqName) -> None:
        """Note that the cluster has no such object, or one that is not ours."""
        self._live.get(sort, {}).pop(name, None)

    def listed(self, sort: GroupVersionKind, uids: frozenset[str]) -> list[FqName]:
        """Note a complete list; returns the names of objects that are gone."""
        missing = [name for name, body in self._live.get(sort, {}).items() if body["metadata"].get("uid") not in uids]
        for name in missing:
            self._ended[sort, name] = self._live[sort].pop(name)
        return missing

    def names(self) -> list[tuple[GroupVersionKind, FqName]]:
        """All objects."""
        return [(sort, name) for sort, objects in self._live.items() for name in objects]


def _last(raw: bytes, known: Body) -> Body:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any]) if raw else known
    except UNUSABLE:
        return known


def uid_of(body: Body) -> str:
    """The uid of an object."""
    return str(body["metadata"].get("uid") or "")


def _version(body: Body) -> str:
    return str(body["metadata"].get("resourceVersion") or "")
