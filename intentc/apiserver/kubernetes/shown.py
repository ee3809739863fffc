"""Converts stored resources to the manifests that clients see, and back to the fields that a change writes.

Why it exists: ``model/manifest`` knows the two forms; clients also need ``resourceVersion``, ``managedFields`` and what
kubectl applied last, which are not in the stored resource. A change of another state than the present one is rejected
here, by ``resourceVersion`` and ``uid``.

Pure functions of values: nothing that they get is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from intentc.model.manifest import WHOLE_COPY, flattened, manifest_of

from ..documents import Document
from .applying import shown_entries
from .beside import Beside
from .catalog import Offered
from .failures import Answered, Invalid

Manifest = dict[str, Any]

_SERVERS = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink", "uid")
_IDENTITY = frozenset({"fq_name", "name", "uuid"})


def manifest(offered: Offered, document: Document, revision: int, beside: Beside | None = None) -> Manifest:
    """A stored resource as a client sees it. ``revision``: at which it was written last."""
    result = manifest_of(document, offered.kind.manifests, offered.api_version)
    result["metadata"]["resourceVersion"] = str(revision)
    result["metadata"].pop("mirrored", None)
    if result["metadata"].get("deletionTimestamp"):
        result["metadata"]["deletionGracePeriodSeconds"] = 0
    return with_kept(result, beside) if beside is not None else result


def with_kept(given: Manifest, beside: Beside) -> Manifest:
    """A manifest with what is kept next to the resource."""
    metadata = dict(given["metadata"])
    if beside.last_applied:
        metadata["annotations"] = {**metadata.get("annotations", {}), WHOLE_COPY: beside.last_applied}
    if beside.entries:
        metadata["managedFields"] = shown_entries(beside.entries)
    return {**given, "metadata": metadata}


def bare(given: Manifest) -> Manifest:
    """A manifest without what is kept beside the resource, and without its resource version."""
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
        raise modified()
    for field in _SERVERS:
        metadata.pop(field, None)
        if field in former:
            metadata[field] = former[field]
    return {**after, "metadata": metadata}


def modified() -> Answered:
    """The error for a change of a state that is not the present one."""
    return Answered(
        409,
        "Conflict",
        "the object has been modified; please apply your changes to the latest version and try again",
    )


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
