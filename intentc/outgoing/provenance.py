"""Says on an object in a cluster which manifest it follows from, and gives that manifest back if the store lost it.

Why it exists: the store may be emptied or restored while the objects stay. An object that no manifest names becomes one
again, with the mark that its manifest had; then the engine decides as about any object of ours: a compiler claims it,
or it is deleted, in its order, once all compilers have had their first pass. The annotations name the object itself:
controllers copy annotations and labels to other objects, which are not ours.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from intentc.model import MARK_KEY, InvalidInput, Mark, Name, object_uuid

from .targets import MANIFEST, name_of, target_of

_MANIFEST = "intentc.io/manifest"
_MARK = "intentc.io/mark"
_PHASE = "intentc.io/phase"
_KEPT = "intentc.io/kept"
_DIGEST = "intentc.io/digest"
DIGEST_PATH = f"metadata.annotations.{_DIGEST}"
"""Where an object has the digest of the content with which it was last applied: what compilers own no more, no
comparison of owned fields shows."""


class Restored(NamedTuple):
    """A manifest for an object: its uuid, and its fields as JSON."""

    uuid: str
    fields: dict[str, Any]


def provenance_of(fields: Mapping[str, Any], body: Mapping[str, Any], digest: str) -> dict[str, str]:
    """The annotations for the object of a stored ``manifest``; ``body``: the object's identity; ``digest``: of the
    content, which a restored manifest does not know."""
    mark = mark_of(fields)
    found = {
        _MANIFEST: name_of(target_of(body))[1],
        _MARK: str(mark) if mark is not None else "",
        _PHASE: str(fields.get("phase") or ""),
        _DIGEST: "" if fields.get("restored") else digest,
        _KEPT: "true" if fields.get("kept") else "",
    }
    return {name: value for name, value in found.items() if value}


def applied_digest(live: Mapping[str, Any]) -> str:
    """The digest of the content with which an object was last applied; empty if it does not say."""
    return str(((live.get("metadata") or {}).get("annotations") or {}).get(_DIGEST) or "")


def mark_of(fields: Mapping[str, Any]) -> Mark | None:
    """The mark of a stored resource; None if it has none."""
    pairs = (fields.get("annotations") or {}).get("key_value_pair") or ()
    return next((Mark.parse(str(pair.get("value"))) for pair in pairs if pair.get("key") == MARK_KEY), None)


def restored(live: Mapping[str, Any]) -> Restored | None:
    """The manifest of an object with our label; None for one to which labels and annotations were copied, or that stays
    when its manifest is deleted."""
    annotations = (live.get("metadata") or {}).get("annotations") or {}
    mark = Mark.parse(str(annotations.get(_MARK) or ""))
    try:
        target = target_of(live)
    except InvalidInput:
        return None
    name = name_of(target)
    if mark is None or annotations.get(_MANIFEST) != name[1]:
        return None
    if annotations.get(_KEPT):
        return None
    phase = str(annotations.get(_PHASE) or "")
    fields: dict[str, Any] = {
        "fq_name": list(name),
        "target": {part: value for part, value in target._asdict().items() if value},
        "annotations": {"key_value_pair": [{"key": MARK_KEY, "value": str(mark)}]},
        "restored": True,
    }
    if phase.removeprefix("-").isdecimal():
        fields["phase"] = int(phase)
    return Restored(object_uuid(mark.installation, Name(MANIFEST, name), mark.origin), fields)
