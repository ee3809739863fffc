"""Flattens manifests, and checks names and places of Kubernetes-shaped resources.

Why it exists: clients may send Kubernetes-shaped kinds as manifests, or flat. Only the flat form is stored
(``model/manifest.py``; of kinds that accept any field without undeclared ones, ``model/pruning.py``), and entries of a
manifest outside of the resource's fields must not be dropped silently. ``fields.py`` checks the fields,
``kubernetes/received.py`` the labels and annotations that clients of the face send.

It returns new documents, and changes nothing that it gets. The server reads and commits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from intentc.loading import did_you_mean
from intentc.loading.checking import DESCRIBED_NAME, NAME
from intentc.loading.checking import LONGEST_NAME as LONGEST_NAME
from intentc.model import MARK_KEY, Kind, kebab
from intentc.model.manifest import flattened, is_half_manifest, is_manifest
from intentc.model.pruning import pruned

from ..errors import BadRequest, shortened
from .rules import Document

METADATA_FIELDS = frozenset(
    {
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
"""What Kubernetes knows in ``metadata``."""

_FILLED_IN = frozenset({"configuration_version", "display_name", "id_perms", "name", "perms2"})
"""Fields of the flat form that a manifest has no place for: the server's own."""


class Body(NamedTuple):
    """A body in stored form. ``whole``: it was a manifest, which describes the whole resource: other fields are
    cleared."""

    fields: Any
    whole: bool


def flat_body(kind: Kind, body: Any) -> Body:
    """Flatten ``body``. Raises ``BadRequest`` for a manifest that is none of ``kind``."""
    where = kebab(kind.name)
    if not isinstance(body, dict):
        raise BadRequest(f"{where} must be a JSON object")
    if not (kind.written_as_manifests and is_manifest(body)):
        if kind.written_as_manifests and is_half_manifest(body):
            # An opaque kind would take them for fields that nobody reads.
            raise BadRequest(f"{where}: this is half a manifest; take out fq_name, or what only manifests have")
        return Body(pruned(kind, body), False)
    given = body.get("kind")
    if given is not None and str(given).lower() not in (kind.name.replace("_", ""), kind.manifests.kind.lower()):
        raise BadRequest(f"{where}: the manifest's kind is {given!r}")
    try:
        fields = flattened(body, kind.manifests)
    except msgspec.ValidationError as error:
        raise BadRequest(f"{where}: {error}") from None
    for name in body["metadata"]:
        if name not in METADATA_FIELDS:
            raise BadRequest(f"{where} has no field 'metadata.{name}'{did_you_mean(name, METADATA_FIELDS)}")
    for name in sorted(_FILLED_IN & fields.keys()):
        raise BadRequest(f"{where} has no field {name!r}")
    return Body(pruned(kind, fields), True)


def check_place(kind: Kind, document: Document) -> None:
    """Check that ``fq_name`` is [namespace, name], or [name] where there is no namespace, as Kubernetes allows them
    (RFC 1123). Raises ``BadRequest``.

    Names from annotations may also have the characters that people use there.
    """
    fq_name = document.get("fq_name") or []
    form = "[name]" if kind.manifests.cluster_scoped else "[namespace, name]"
    if len(fq_name) != form.count(",") + 1:
        raise BadRequest(f"{kebab(kind.name)}: fq_name must be {form}")
    pairs = (document.get("annotations") or {}).get("key_value_pair") or ()
    allowed = DESCRIBED_NAME if any(pair["key"] == MARK_KEY for pair in pairs) else NAME
    for part in fq_name:
        if not allowed.fullmatch(part) or len(part) > LONGEST_NAME:
            raise BadRequest(f"{kebab(kind.name)}: {no_name(part)}")


def is_name(text: str) -> bool:
    """Whether Kubernetes allows a name or a namespace (RFC 1123)."""
    return len(text) <= LONGEST_NAME and NAME.fullmatch(text) is not None


def no_name(text: str) -> str:
    """What to say about a name that is not allowed."""
    return (
        f"{shortened(text)!r} is no name; give at most {LONGEST_NAME} lower-case letters, digits, - and ., with a "
        "letter or digit at both ends"
    )
