"""Names the object of a cluster that a ``manifest`` describes, converts it to the fields of the claim and back, and
digests its content.

Authors give plain Kubernetes JSON with exactly the fields that they own. It is kept in parts: what identifies the
object (``target``), the other fields (``content``), and a Secret's data (``secret``), which is never shown.

Pure functions of values.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import InvalidInput

MANIFEST = "manifest"
OBSERVED = "observed"
"""The kind of the objects that a bridge carries out, and of its answers."""

CLUSTER_SCOPE = "default"
"""The namespace of manifests of objects without one, as in Kubernetes' events about such objects."""

_LONGEST = 200
"""Of a name before its digest is appended; Kubernetes takes 253 characters."""
_ALLOWED = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_NOT_ALLOWED = re.compile(r"[^-a-z0-9.]+")

_IDENTITY = ("apiVersion", "kind", "metadata")
_SERVER_OWNED = frozenset({"status"})
_ENCODER = msgspec.json.Encoder(order="deterministic")


class Target(NamedTuple):
    """An object in a cluster. ``group``: empty for core kinds. ``kind``: in CamelCase. ``namespace``: empty for an
    object without one."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str

    @property
    def api_version(self) -> str:
        """``apps/v1``, or ``v1`` for core kinds.

        >>> Target("apps", "v1", "Deployment", "shop", "web").api_version
        'apps/v1'
        """
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def target_of(manifest: Any) -> Target:
    """The object that plain Kubernetes JSON describes. Raises ``InvalidInput`` if a part of its identity is missing."""
    if not isinstance(manifest, Mapping):
        raise InvalidInput(f"a manifest is a mapping, not {type(manifest).__name__}", reason="InvalidManifest")
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    texts = (manifest.get("apiVersion"), manifest.get("kind"), metadata.get("name"))
    for place, text in zip(("apiVersion", "kind", "metadata.name"), texts, strict=True):
        if not isinstance(text, str) or not text:
            raise InvalidInput(f"{place} is missing in a manifest; give it as text", reason="InvalidManifest")
    namespace = metadata.get("namespace") or ""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    return Target(group, version, str(manifest["kind"]), str(namespace), str(metadata["name"]))


def name_of(target: Target) -> tuple[str, str]:
    """The fq_name of the ``manifest`` of an object, and of its ``observed``: its namespace, and kind, group and name in
    one word. Versions of one object share the name. A name with characters that few kinds allow has a digest in it.

    >>> name_of(Target("apps", "v1", "Deployment", "shop", "web"))
    ('shop', 'deployment.apps--web')
    >>> name_of(Target("rbac.authorization.k8s.io", "v1", "ClusterRole", "", "system:web"))
    ('default', 'clusterrole.rbac.authorization.k8s.io--system-web-58ed12fc17')
    """
    kind = f"{target.kind.lower()}.{target.group}" if target.group else target.kind.lower()
    word = f"{kind}--{target.name}"
    if len(word) > _LONGEST or not _ALLOWED.fullmatch(word):
        digest = hashlib.sha256(word.encode()).hexdigest()[:10]
        word = f"{_NOT_ALLOWED.sub('-', word.lower())[:_LONGEST]}-{digest}"
    return (target.namespace or CLUSTER_SCOPE, word)


def claimed_fields(
    manifest: Mapping[str, Any],
    *,
    phase: int = 0,
    immutable: Iterable[str] = (),
    once: bool = False,
    kept: bool = False,
    adopts: Mapping[str, str] | None = None,
    adopted_only: bool = False,
) -> dict[str, Any]:
    """The fields of a ``manifest`` for plain Kubernetes JSON. ``immutable``: paths with dots, whose change means delete
    and create. Raises ``InvalidInput`` for fields that only the cluster writes, for an incomplete identity, and if
    ``adopted_only`` names no labels."""
    target = target_of(manifest)
    for field in sorted(_SERVER_OWNED & manifest.keys()):
        raise InvalidInput(f"{target}: {field} is the cluster's; leave it out", reason="InvalidManifest")
    if adopted_only and not adopts:
        raise InvalidInput(f"{target}: adopted_only needs labels in adopts", reason="InvalidManifest")
    metadata = {field: value for field, value in manifest["metadata"].items() if field not in ("name", "namespace")}
    unknown = sorted(metadata.keys() - {"labels", "annotations"})
    if unknown:
        raise InvalidInput(
            f"{target}: metadata.{unknown[0]} can't be claimed; labels and annotations can", reason="InvalidManifest"
        )
    content = {field: value for field, value in manifest.items() if field not in _IDENTITY}
    if metadata:
        content["metadata"] = metadata
    secret: dict[str, Any] = {}
    if target.kind == "Secret" and not target.group:
        # The cluster keeps stringData as data; it is compared with what the cluster keeps.
        secret = {**content.pop("data", {}), **_encoded(content.pop("stringData", {}))}
    fields = {
        "target": {
            "group": target.group,
            "version": target.version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
        },
        "content": content,
        "secret": secret,
        "phase": phase,
        "immutable": sorted(immutable),
        "once": once,
        "kept": kept,
        "adopts": dict(adopts or {}),
        "adopted_only": adopted_only,
    }
    return {field: value for field, value in fields.items() if value not in ({}, [], 0, False)}


def _encoded(texts: Mapping[str, Any]) -> dict[str, str]:
    return {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}


def body_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The Kubernetes JSON that the fields of a ``manifest`` (plain JSON) describe: identity and owned fields."""
    given = fields.get("target") or {}
    target = Target(*(str(given.get(part) or "") for part in Target._fields))
    content = dict(fields.get("content") or {})
    metadata = {**content.pop("metadata", {}), "name": target.name}
    if target.namespace:
        metadata["namespace"] = target.namespace
    secret = {"data": fields["secret"]} if fields.get("secret") else {}
    return {"apiVersion": target.api_version, "kind": target.kind, "metadata": metadata, **content, **secret}


def digest_of(body: Mapping[str, Any]) -> str:
    """A short digest of Kubernetes JSON, independent of the order of its fields."""
    return hashlib.sha256(_ENCODER.encode(body)).hexdigest()[:16]
