"""Says which kinds are mirrored, under which path and version a cluster serves one, and which cluster it is.

Why it exists: a schema declares several versions of a kind, and a cluster serves some of them; only the cluster knows
the plural that its paths have. A kind may be missing, and be installed later: ``kind_watcher`` asks again, after pauses
that grow from 1 to 30 seconds. ``cluster_identity`` compares the cluster with the one that was mirrored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from intentc.model import InvalidInput, Kind, Schema
from intentc.reconcile.failures import Denied, Rejected, Unauthenticated, Unavailable

from .cluster import Cluster, NotServed

IDENTIFYING_NAMESPACE = "kube-system"
"""Its uid identifies a cluster: it is created with it, and can't be deleted."""
NEVER = frozenset({"manifest", "observed"})
"""Kinds for what compilers want of a cluster: they are in etcd only."""


class ManifestKind(NamedTuple):
    """A kind as clusters name it. ``name``: such as ``TLSContext``; ``versions``: apiVersions, the preferred first."""

    name: str
    versions: tuple[str, ...]


class Served(NamedTuple):
    """Where a cluster serves a kind. ``path``: of the list of all objects; ``plural``: as in paths."""

    version: str
    path: str
    plural: str
    namespaced: bool
    has_status: bool

    def path_of(self, namespace: str, name: str) -> str:
        """The path of one object."""
        base = self.path.removesuffix(self.plural)
        return f"{base}namespaces/{namespace}/{self.plural}/{name}" if self.namespaced else f"{self.path}/{name}"


class _Resource(msgspec.Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Resources(msgspec.Struct):
    resources: list[_Resource] = []


class _Meta(msgspec.Struct):
    uid: str = ""


class _Named(msgspec.Struct):
    metadata: _Meta


async def find(cluster: Cluster, kind: ManifestKind) -> Served:
    """Where ``kind`` is served: in the first of its versions that the cluster has. Raises ``Failure``."""
    for version in kind.versions:
        try:
            found = _decoded(await cluster.get(root_of(version)))
        except NotServed:
            continue
        served = _served(found, kind.name, version)
        if served is not None:
            return served
    raise NotServed(f"the cluster has no {kind.name} in {' or '.join(kind.versions)}")


async def identity(cluster: Cluster) -> str:
    """What identifies the cluster; empty if we may not read it, or it has no such namespace. Raises
    ``Unavailable``, and ``Unauthenticated``: then it is not known whether we may."""
    try:
        body = await cluster.get(f"/api/v1/namespaces/{IDENTIFYING_NAMESPACE}")
        return msgspec.json.decode(body, type=_Named).metadata.uid
    except Unauthenticated:
        raise
    except (Denied, NotServed, Rejected, msgspec.MsgspecError):
        return ""


def root_of(version: str) -> str:
    """The path of an apiVersion: ``/api/v1``, ``/apis/example.org/v1``."""
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _served(found: Sequence[_Resource], kind: str, version: str) -> Served | None:
    names = {resource.name for resource in found}
    for resource in found:
        if resource.kind == kind and "/" not in resource.name:
            path = f"{root_of(version)}/{resource.name}"
            return Served(version, path, resource.name, resource.namespaced, f"{resource.name}/status" in names)
    return None


def _decoded(body: bytes) -> Sequence[_Resource]:
    try:
        return msgspec.json.decode(body, type=_Resources).resources
    except msgspec.MsgspecError as error:
        raise Unavailable(f"the cluster's list of kinds can't be read: {error}") from None


def mirrored_kinds(schema: Schema, chosen: Collection[str] = ()) -> tuple[Kind, ...]:
    """The kinds of ``schema`` to mirror: the stored ones that people write as manifests; only the ``chosen`` ones
    unless that is empty. Raises ``InvalidInput`` for a chosen one that can't be mirrored."""
    kinds = {kind.name: kind for kind in _possible(schema.kinds.values())}
    for name in chosen:
        if name not in kinds:
            raise InvalidInput(
                f"{name!r} can't be mirrored; the kinds are {', '.join(sorted(kinds))}",
                source="intentc.kubernetes.kinds",
                reason="InvalidConfiguration",
            )
    return tuple(kind for name, kind in sorted(kinds.items()) if not chosen or name in chosen)


def manifest_kind(kind: Kind) -> ManifestKind:
    """How clusters name a kind."""
    shape = kind.manifests
    return ManifestKind(shape.kind, tuple(shape.versions) or (shape.preferred,))


def _possible(kinds: Iterable[Kind]) -> Iterable[Kind]:
    return (kind for kind in kinds if kind.written_as_manifests and kind.stored and kind.name not in NEVER)
