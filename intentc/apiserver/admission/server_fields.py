"""Keeps the fields that the server owns, such as times, versions, finalizers and the generation.

Why it exists: clients send these fields, too, often stale. What they may set is taken from them, the rest from the
stored resource (docs/contrail.md A.1, B.5.1, B.5.5; docs/engine.md §5.8, §14.3). The metadata of a resource that a
bridge mirrors is the cluster's, except for compilers' finalizers, and the cluster carries out its deletion. Times come
from the caller.
"""

from __future__ import annotations

import uuid as uuid_module
from collections.abc import Collection
from typing import Any

from intentc.model import Key, Kind, kebab
from intentc.model.metadata import FIELDS, METADATA, OF_SERVER
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.values import without_nulls

from ..documents import Document
from ..errors import BadRequest, Conflict
from .fields import accept_status, common_fields

_HALF = (1 << 64) - 1


def stamp_created(document: Document, *, owner: str, now: str) -> None:
    """Complete a new resource in place. ``owner``: the caller's project id."""
    if not document.get("display_name"):
        document["display_name"] = document["name"]
    number = uuid_module.UUID(document["uuid"]).int
    given = document.get("id_perms") or {}
    document["id_perms"] = {
        "enable": True,
        "user_visible": True,
        "permissions": {
            "owner": "cloud-admin",
            "owner_access": 7,
            "group": "cloud-admin-group",
            "group_access": 7,
            "other_access": 7,
        },
        **given,
        "created": now,
        "last_modified": now,
        "uuid": {"uuid_mslong": number >> 64, "uuid_lslong": number & _HALF},
    }
    document["perms2"] = {"owner": owner, "owner_access": 7, "global_access": 0, **(document.get("perms2") or {})}
    document["configuration_version"] = 1


def stamp_changed(before: Document, after: Document, *, now: str) -> None:
    """Update a changed resource's times and version; the server's other fields stay.

    The fields of ``before`` may have any type, since others write to etcd, too; one of a wrong type counts as unset.
    """
    former = _mapping(before.get("id_perms"))
    after["id_perms"] = {
        **former,
        **_mapping(after.get("id_perms")),
        **{name: value for name, value in former.items() if name in ("created", "uuid")},
        "last_modified": now,
    }
    if "perms2" in before:
        after["perms2"] = {**_mapping(before["perms2"]), **_mapping(after.get("perms2"))}
    version = before.get("configuration_version")
    after["configuration_version"] = version + 1 if isinstance(version, int) else 1


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


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


def copied_status(kind: Kind, sent: Document, *, is_new: bool) -> Document | None:
    """The fields of the status that a copy has after a bridge sent ``sent``; None: those that are stored. Raises
    ``BadRequest`` for a wrong type."""
    if kind.status is None or not (kind.status.is_input or is_new):
        return None
    status = without_nulls(sent.get(STATUS) or {})
    accept_status(kind, status)
    if kind.status.is_input:
        return {STATUS: status} if status else {}
    claims: Any = sent.get(STATUS_CLAIMS) or {}
    if not isinstance(claims, dict) or not all(isinstance(items, list) for items in claims.values()):
        raise BadRequest(f"{kebab(kind.name)}: status_claims must be an object of lists")
    return {STATUS: status, STATUS_CLAIMS: claims} if status and claims else {}


_MAY_CHANGE = frozenset({METADATA, "status", "id_perms"})
"""What may differ while a resource is being deleted; of its metadata see ``check_ending``."""


def add_finalizers(kind: Kind, document: Document) -> None:
    """Give a new resource, in place, the finalizers that its schema declares."""
    if kind.finalizers:
        metadata = _mapping(document.get(METADATA))
        given = metadata.get("finalizers") or []
        added = [name for name in kind.finalizers if name not in given]
        document[METADATA] = {**metadata, "finalizers": [*given, *added]}


def is_kept(kind: Kind, document: Document) -> bool:
    """Whether a deletion must wait for the finalizers of a resource."""
    metadata = _mapping(document.get(METADATA)) if kind.written_as_manifests else {}
    return bool(metadata.get("finalizers")) and not metadata.get("mirrored")


def is_being_deleted(kind: Kind, document: Document) -> bool:
    """Whether a resource was deleted, and waits for its finalizers. What a bridge mirrors doesn't wait here."""
    metadata = _mapping(document.get(METADATA)) if kind.written_as_manifests else {}
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("mirrored")


def with_deletion(document: Document, *, now: str) -> Document:
    """The resource after its deletion was asked for: ``now`` (ISO 8601 without zone) if it was not before."""
    metadata = _mapping(document.get(METADATA))
    if metadata.get("deletionTimestamp"):
        return document
    return {**document, METADATA: {**metadata, "deletionTimestamp": f"{now.partition('.')[0]}Z"}}


def check_ending(kind: Kind, key: Key, before: Document, after: Document) -> None:
    """Raise ``Conflict`` if a resource that is being deleted changes in more than finalizers and status, or gets
    another finalizer."""
    changed = sorted(f for f in before.keys() | after.keys() if f not in _MAY_CHANGE and before.get(f) != after.get(f))
    former, present = _mapping(before.get(METADATA)), _mapping(after.get(METADATA))
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
