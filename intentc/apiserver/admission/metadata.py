"""Keeps the parts of ``metadata`` that the server owns: generation and times (docs/architecture.md, "Manifests").

Why it exists: clients send ``metadata`` with labels and annotations, and often with stale parts of the server, as
Kubernetes' clients do. What they may set is taken from them, the rest from the stored resource; the metadata of a
resource that a bridge mirrors is the cluster's, but for compilers' finalizers. ``apiserver/finalizers.py`` decides what
finalizers do.

``stamp_new_metadata`` and ``raise_generation`` change the document that they get, in place; the other functions are
pure, and times come from the caller.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from intentc.model import Kind
from intentc.model.metadata import FIELDS, METADATA, OF_SERVER

from .fields import common_fields
from .rules import Document

_KEPT = frozenset({"finalizers", "ownerReferences"})
"""The parts of others that a client leaves alone if it doesn't send them. A file rarely has them."""


def stamp_new_metadata(kind: Kind, document: Document, *, now: str) -> None:
    """Complete the ``metadata`` of a new resource in place: generation 1, created ``now`` (ISO 8601 without zone)."""
    if not kind.written_as_manifests:
        return
    given = _users(_mapping(document.get(METADATA)))
    document[METADATA] = {**given, "generation": 1, "creationTimestamp": f"{now.partition('.')[0]}Z"}


def sent_metadata(before: Document, sent: Any, *, masked: bool) -> dict[str, Any]:
    """The ``metadata`` of a resource after a client sent ``sent``. ``masked``: it is complete, since the client named
    single parts of it in a field mask; otherwise it sets labels and annotations, and other parts only if it has
    them."""
    former, given = _mapping(before.get(METADATA)), _mapping(sent)
    kept = {part: former[part] for part in (OF_SERVER if masked else OF_SERVER | _KEPT - given.keys()) & former.keys()}
    return {**kept, **_users(given)}


def mirrored_metadata(before: Document | None, sent: Any, ours: Collection[str]) -> dict[str, Any]:
    """The ``metadata`` of a resource that a bridge mirrors: what the cluster has, whoever writes it otherwise. The
    finalizers ``ours`` stay as they are stored, since compilers write them here and the bridge carries them out; a new
    copy takes those of the cluster, which a store that was lost had given it."""
    former, given = _mapping((before or {}).get(METADATA)), _mapping(sent)
    theirs = [name for name in given.get("finalizers") or () if name not in ours]
    own = [name for name in (given if before is None else former).get("finalizers") or () if name in ours]
    found = {part: value for part, value in given.items() if part in FIELDS and value}
    found.pop("finalizers", None)
    return {**found, **({"finalizers": [*theirs, *own]} if theirs or own else {}), "mirrored": True}


def is_mirrored(document: Document) -> bool:
    """Whether a bridge brought the resource from a cluster, which carries out its deletion."""
    return bool(_mapping(document.get(METADATA)).get("mirrored"))


def raise_generation(kind: Kind, before: Document, after: Document) -> None:
    """Add 1 to the generation of ``after``, in place, if anything but metadata and status differs from ``before``."""
    if not kind.written_as_manifests or is_mirrored(after):
        return
    unspecific = (common_fields(kind) | {METADATA, "status"}) - {"api_version"}
    fields = (before.keys() | after.keys()) - unspecific
    if any(before.get(field) != after.get(field) for field in fields):
        metadata = _mapping(after.get(METADATA))
        former = metadata.get("generation")
        after[METADATA] = {**metadata, "generation": former + 1 if isinstance(former, int) else 1}


def _users(metadata: dict[str, Any]) -> dict[str, Any]:
    return {part: value for part, value in metadata.items() if part not in OF_SERVER and value}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
