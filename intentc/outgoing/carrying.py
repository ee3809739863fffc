"""Decides what a bridge does next with the object of one ``manifest`` (docs/engine.md §13.3).

A decision depends on what is stored and on what the cluster has now, and on nothing that a process remembers: a bridge
that was killed anywhere decides again. The bridge asks the cluster and carries out; a compiler only says what it wants.

Pure functions of values.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .owned_fields import differences, is_below
from .provenance import DIGEST_PATH, provenance_of
from .targets import body_of, digest_of

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
