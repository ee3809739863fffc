"""Converts stored resources to the manifests that clients see, and back to the fields that a change writes.

Why it exists: ``model/manifest`` knows the two forms; clients also need ``resourceVersion``, ``managedFields`` and what
``kubectl apply`` applied last. These are no input of a compiler, and a copy of a Secret must not reach one, so they are
``Kept`` under a key of their own, outside the watched prefix. The transaction that deletes the resource deletes it. A
change of another state than the present one is rejected here, by ``resourceVersion`` and ``uid``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key
from intentc.model.manifest import WHOLE_COPY, flattened, manifest_of

from ..documents import Document, decode_entry, encode
from ..draft import Draft
from .catalog import Offered
from .server_side_apply import Entry, read_entries, shown_entries
from .status_errors import Answered, Invalid


class Kept(NamedTuple):
    """``entries``: as in ``managedFields``; ``last_applied``: the annotation's text, or empty."""

    entries: tuple[Entry, ...] = ()
    last_applied: str = ""


class _Stored(msgspec.Struct, omit_defaults=True):
    managed_fields: list[Any] = []
    last_applied: str = ""


async def read_kept(draft: Draft, key: Key) -> Kept:
    """What is kept of a resource; nothing of one that only others wrote."""
    where = draft.layout.beside(key)
    item = await draft.reading.item(where)
    return decode_kept(item.value, where) if item is not None else Kept()


def decode_kept(raw: bytes, where: str) -> Kept:
    """A stored value. Raises ``BrokenEntry`` naming ``where``."""
    stored = decode_entry(raw, _Stored, where)
    return Kept(read_entries(stored.managed_fields), stored.last_applied)


async def stage_kept(draft: Draft, key: Key, before: Kept, after: Kept) -> None:
    """Write ``after`` with the draft, if it differs."""
    if before == after:
        return
    where = draft.layout.beside(key)
    await draft.guard(where)
    draft.put(where, encode(_Stored(shown_entries(after.entries), after.last_applied)))


Manifest = dict[str, Any]

_SERVERS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink", "uid")
_IDENTITY = frozenset({"fq_name", "name", "uuid"})


def manifest(offered: Offered, document: Document, revision: int, kept: Kept | None = None) -> Manifest:
    """A stored resource as a client sees it. ``revision``: at which it was written last."""
    result = manifest_of(document, offered.kind.manifests, offered.api_version)
    result["metadata"]["resourceVersion"] = str(revision)
    result["metadata"].pop("mirrored", None)
    if result["metadata"].get("deletionTimestamp"):
        result["metadata"]["deletionGracePeriodSeconds"] = 0
    return with_kept(result, kept) if kept is not None else result


def with_kept(given: Manifest, kept: Kept) -> Manifest:
    """A manifest with what is kept next to the resource."""
    metadata = dict(given["metadata"])
    if kept.last_applied:
        metadata["annotations"] = {**metadata.get("annotations", {}), WHOLE_COPY: kept.last_applied}
    if kept.entries:
        metadata["managedFields"] = shown_entries(kept.entries)
    return {**given, "metadata": metadata}


def bare(given: Manifest) -> Manifest:
    """A manifest without what is kept next to the resource, and without its resource version."""
    metadata = {
        name: value
        for name, value in given["metadata"].items()
        if name not in ("managedFields", "resourceVersion", "annotations")
    }
    annotations = given["metadata"].get("annotations")
    others = {key: text for key, text in (annotations or {}).items() if key != WHOLE_COPY}
    return {**given, "metadata": {**metadata, **({"annotations": others} if others else {})}}


def last_applied(given: Manifest) -> str:
    """What kubectl says that it applied."""
    text = (given["metadata"].get("annotations") or {}).get(WHOLE_COPY, "")
    return text if isinstance(text, str) else ""


def with_server_fields(before: Manifest, after: Manifest) -> Manifest:
    """``after`` with what only the server writes as in ``before``. Raises ``Answered`` for another resource's uid or a
    resource version that is not the present one."""
    metadata, former = dict(after["metadata"]), before["metadata"]
    if metadata.get("uid") and metadata["uid"] != former.get("uid"):
        raise Answered(
            409, "Conflict", f"metadata.uid is {metadata['uid']!r}, and the resource's is {former.get('uid')!r}"
        )
    if metadata.get("resourceVersion") and str(metadata["resourceVersion"]) != former["resourceVersion"]:
        raise Answered(
            409,
            "Conflict",
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    for field in _SERVERS:
        metadata.pop(field, None)
        if field in former:
            metadata[field] = former[field]
    return {**after, "metadata": metadata}


def changed_fields(offered: Offered, before: Manifest, after: Manifest) -> Document:
    """The fields of the flat form in which two manifests of one version differ, with the new values; None clears one.

    The ``apiVersion`` in which the resource is stored stays, unless more than metadata differs: a label that is set
    through a newer version does not change what the older manifest means. Raises ``Invalid``.
    """
    old, new = (_flat(offered, one) for one in (before, after))
    changed = {
        field: new.get(field)
        for field in sorted(old.keys() | new.keys())
        if field not in _IDENTITY and field != "status" and old.get(field) != new.get(field)
    }
    if changed.keys() - {"annotations", "metadata"}:
        changed["api_version"] = offered.api_version
    return changed


def _flat(offered: Offered, given: Mapping[str, Any]) -> Document:
    try:
        return flattened(bare(dict(given)), offered.kind.manifests)
    except msgspec.ValidationError as error:
        raise Invalid(str(error)) from None
