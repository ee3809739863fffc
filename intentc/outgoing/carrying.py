"""Decides what a bridge does with the object of one ``manifest``, and what it reports (docs/engine.md §13.3, §13.4).

A decision depends on what is stored and on what the cluster has now, and on nothing that a process remembers: a bridge
that was killed anywhere decides again. The report (``observed``) has only what an intent decides by, so that a
heartbeat or a new resourceVersion wakes nobody.

Annotations say on an object which manifest it follows from. The store may be emptied or restored while the objects
stay: then an object that no manifest names becomes one again, with the mark that its manifest had. The annotations name
the object itself, since controllers copy annotations and labels to other objects, which are not ours.

Pure functions of values.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from intentc.model import MARK_KEY, InvalidInput, Mark, Name, object_uuid
from intentc.outgoing.owned_fields import differences, is_below
from intentc.outgoing.targets import MANIFEST, body_of, digest_of, name_of, target_of

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


FINALIZER = "intentc.io/cluster"
"""The finalizer with which the API server creates each ``manifest``: the bridge removes it once the object is gone."""

INSTALLATION_LABEL = "intentc.io/installation"
"""The label of every object that we make in a cluster; its value is the installation."""


class Step(enum.Enum):
    """NOTHING: the object is right. APPLY: create it, or write the owned fields. DELETE: delete it, by its uid. WAIT:
    the cluster is deleting it. TAKEN: somebody else made an object of this name; it is neither changed nor deleted.
    RELEASE: the object is gone; remove the finalizer of the manifest, and its ``observed``."""

    NOTHING = "nothing"
    APPLY = "apply"
    DELETE = "delete"
    WAIT = "wait"
    TAKEN = "taken"
    RELEASE = "release"


class Wanted(NamedTuple):
    """What a manifest wants. ``body``: identity and owned fields, with our label and annotations. ``is_ending``: the
    manifest is being deleted, so its object must not exist. ``kept``: the object stays in the cluster when its manifest
    is deleted. ``restored``: the content is not known, so the object stays as it is. ``adopts``: labels by which an
    object of no installation is taken over; ``adopted_only``: it is never created."""

    body: Mapping[str, Any]
    digest: str
    immutable: tuple[str, ...]
    once: bool
    is_ending: bool
    installation: str
    kept: bool = False
    restored: bool = False
    adopts: Mapping[str, str] = MappingProxyType({})
    adopted_only: bool = False


def wanted_of(fields: Mapping[str, Any], installation: str) -> Wanted:
    """What a stored ``manifest`` (plain JSON) wants of a cluster."""
    body = body_of(fields)
    metadata = body["metadata"]
    labels = {**metadata.get("labels", {}), INSTALLATION_LABEL: installation}
    body = {**body, "metadata": {**metadata, "labels": labels}}
    # Of what the compiler wants alone: another phase makes no other Job.
    digest = digest_of(body)
    annotations = {**metadata.get("annotations", {}), **provenance_of(fields, body, digest)}
    body = {**body, "metadata": {**body["metadata"], "annotations": annotations}}
    ending = bool((fields.get("metadata") or {}).get("deletionTimestamp"))
    immutable = tuple(fields.get("immutable") or ())
    once, kept, lost = bool(fields.get("once")), bool(fields.get("kept")), bool(fields.get("restored"))
    adopts, adopted_only = fields.get("adopts") or {}, bool(fields.get("adopted_only"))
    return Wanted(body, digest, immutable, once, ending, installation, kept, lost, adopts, adopted_only)


def is_taken(wanted: Wanted, live: Mapping[str, Any] | None) -> bool:
    """Whether somebody else made the object that the cluster has under this name: it lacks our label, and is not to be
    taken over."""
    labels = ((live or {}).get("metadata") or {}).get("labels") or {}
    if live is None or labels.get(INSTALLATION_LABEL) == wanted.installation:
        return False
    is_adopted = bool(wanted.adopts) and all(labels.get(key) == value for key, value in wanted.adopts.items())
    return INSTALLATION_LABEL in labels or not is_adopted


def next_step(wanted: Wanted, live: Mapping[str, Any] | None, seen: Mapping[str, Any] | None) -> Step:
    """The next step for an object. ``live``: as the cluster has it, None if it is absent. ``seen``: the stored
    ``observed`` of the manifest as plain JSON, None if there is none."""
    metadata = (live or {}).get("metadata") or {}
    if wanted.is_ending and wanted.kept:
        return Step.RELEASE
    if is_taken(wanted, live):
        return Step.RELEASE if wanted.is_ending else Step.TAKEN
    if wanted.restored and not wanted.is_ending:
        return Step.NOTHING
    if live is None:
        if wanted.is_ending:
            return Step.RELEASE
        is_needless = wanted.adopted_only or (wanted.once and _is_done(wanted, seen))
        return Step.NOTHING if is_needless else Step.APPLY
    if metadata.get("deletionTimestamp"):
        return Step.WAIT
    if wanted.is_ending:
        return Step.DELETE
    found = differences(wanted.body, live)
    if any(is_below(path, wanted.immutable) for path in found):
        return Step.DELETE
    if found == (DIGEST_PATH,) and wanted.once:
        # What the object has more, such as a port, we may have written: it is ours to remove, and a Job can't change.
        return Step.DELETE
    return Step.APPLY if found else Step.NOTHING


def _is_done(wanted: Wanted, seen: Mapping[str, Any] | None) -> bool:
    """Whether an object with exactly this content ended before."""
    return bool(seen and seen.get("done") and seen.get("digest") == wanted.digest)


_COUNTS = {
    "desired": ("replicas", "desiredNumberScheduled"),
    "updated": ("updatedReplicas", "updatedNumberScheduled"),
    "ready": ("readyReplicas", "numberReady", "ready"),
    "available": ("availableReplicas", "numberAvailable"),
}
"""Count → the fields of ``status`` in which Deployments, DaemonSets and Jobs have it."""


def observed_fields(
    wanted: Wanted, live: Mapping[str, Any] | None, seen: Mapping[str, Any] | None, rejected: str = ""
) -> dict[str, Any]:
    """The fields of the ``observed`` of a manifest, without those that have their default.

    ``live``: as the cluster has the object, None if it is absent. ``seen``: the stored ``observed``. ``rejected``: the
    cluster's words, if it rejected the last write. Of an object that somebody else made, only that is kept."""
    former = seen or {}
    if is_taken(wanted, live):
        return _set({"gone": True, "taken": True, "rejected": rejected})
    if live is None:
        kept = former if wanted.once and former.get("done") and former.get("digest") == wanted.digest else {}
        return _set({"gone": True, "done": kept.get("done"), "digest": kept.get("digest"), "rejected": rejected})
    status = live.get("status") or {}
    conditions = {str(one.get("type")): str(one.get("status")) for one in status.get("conditions") or ()}
    is_right = not differences(wanted.body, live)
    digest = (applied_digest(live) if wanted.restored else wanted.digest) if is_right else former.get("digest")
    counts = {
        name: next((int(status[field]) for field in fields if isinstance(status.get(field), int)), 0)
        for name, fields in _COUNTS.items()
    }
    return _set(
        {
            "available": _available(conditions, counts),
            "counts": {name: count for name, count in counts.items() if count},
            "addresses": list(_addresses(status)),
            "cluster_addresses": [ip for ip in (live.get("spec") or {}).get("clusterIPs") or () if ip != "None"],
            # A done Job of another content is about to be replaced.
            "done": conditions.get("Complete") == "True" and is_right,
            "failed": conditions.get("Failed") == "True" and is_right,
            "digest": digest,
            "rejected": rejected,
        }
    )


def _set(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if value or (value is False and field == "available")}


def _available(conditions: Mapping[str, str], counts: Mapping[str, int]) -> bool | None:
    """The condition of a Deployment; of a DaemonSet whether any of its pods is available; None if neither is known."""
    if "Available" in conditions:
        return conditions["Available"] == "True"
    return True if counts["available"] else None


def _addresses(status: Mapping[str, Any]) -> Iterator[str]:
    for entry in (status.get("loadBalancer") or {}).get("ingress") or ():
        if address := entry.get("ip") or entry.get("hostname"):
            yield str(address)
