"""Keeps a deleted resource with finalizers until the last one is removed, as Kubernetes does (docs/engine.md §14.3).

Why it exists: single calls, ``/sync`` and Kubernetes' own calls delete and update resources, and all must leave one
that is being deleted to those who still have to clean up after it. New resources get the finalizers that their schema
declares. ``resources.py`` stages what follows. A resource that a bridge mirrors is deleted at once: the cluster that it
comes from carries out its finalizers.

``add_finalizers`` changes the document that it gets, in place; the other functions are pure, and times come from the
caller.
"""

from __future__ import annotations

from typing import Any

from intentc.model import Key, Kind, kebab
from intentc.model.metadata import METADATA

from .documents import Document
from .errors import Conflict

_MAY_CHANGE = frozenset({METADATA, "status", "id_perms"})
"""What may differ while a resource is being deleted; of its metadata see ``check_ending``."""


def add_finalizers(kind: Kind, document: Document) -> None:
    """Give a new resource, in place, the finalizers that its schema declares."""
    if kind.finalizers:
        metadata = _metadata(document)
        given = metadata.get("finalizers") or []
        added = [name for name in kind.finalizers if name not in given]
        document[METADATA] = {**metadata, "finalizers": [*given, *added]}


def is_kept(kind: Kind, document: Document) -> bool:
    """Whether a deletion must wait for the finalizers of a resource."""
    metadata = _metadata(document) if kind.written_as_manifests else {}
    return bool(metadata.get("finalizers")) and not metadata.get("mirrored")


def is_being_deleted(kind: Kind, document: Document) -> bool:
    """Whether a resource was deleted, and waits for its finalizers. What a bridge mirrors doesn't wait here."""
    metadata = _metadata(document) if kind.written_as_manifests else {}
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("mirrored")


def with_deletion(document: Document, *, now: str) -> Document:
    """The resource after its deletion was asked for: ``now`` (ISO 8601 without zone) if it was not before."""
    metadata = _metadata(document)
    if metadata.get("deletionTimestamp"):
        return document
    return {**document, METADATA: {**metadata, "deletionTimestamp": f"{now.partition('.')[0]}Z"}}


def check_ending(kind: Kind, key: Key, before: Document, after: Document) -> None:
    """Raise ``Conflict`` if a resource that is being deleted changes in more than finalizers and status, or gets
    another finalizer."""
    changed = sorted(f for f in before.keys() | after.keys() if f not in _MAY_CHANGE and before.get(f) != after.get(f))
    former, present = _metadata(before), _metadata(after)
    changed += sorted(
        f"{METADATA}.{part}"
        for part in former.keys() | present.keys()
        if part != "finalizers" and former.get(part) != present.get(part)
    )
    if changed:
        raise Conflict(
            f"{kebab(kind.name)} {key.uuid} is being deleted since {former['deletionTimestamp']}: {changed[0]} can't "
            f"be changed any more, only its finalizers and status; wait until it is gone, and create it again",
            key=key,
        )
    added = [name for name in present.get("finalizers") or () if name not in (former.get("finalizers") or ())]
    if added:
        raise Conflict(
            f"{kebab(kind.name)} {key.uuid} is being deleted: no finalizer can be added ({added[0]})", key=key
        )


def _metadata(document: Document) -> dict[str, Any]:
    metadata = document.get(METADATA)
    return metadata if isinstance(metadata, dict) else {}
