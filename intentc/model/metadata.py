"""The ``metadata`` of Kubernetes-shaped resources: its type, and which parts users, compilers and the server write.

Why it exists: decoding, admission, planning and evaluations must agree on what is stored of a manifest's ``metadata``.
Name, namespace and uid are not in it: they are the resource's ``fq_name`` and ``uuid``. ``manifest.py`` converts
manifests; ``apiserver/admission/server_fields.py`` fills in what the server owns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from intentc.model.types import FieldSpec, TypeTable
from intentc.model.values import FrozenMap

METADATA = "metadata"
"""The field of the stored form."""

TYPES: Mapping[str, Mapping[str, Any]] = {
    "ObjectMeta": {
        "labels": "map",
        "annotations": "map",
        "generation": "integer",
        "creationTimestamp": "string",
        "deletionTimestamp": "string",
        "finalizers": {"list": "string"},
        "ownerReferences": {"list": "OwnerReference"},
        "mirrored": "boolean",
    },
    "OwnerReference": {
        "apiVersion": "string",
        "kind": "string",
        "name": "string",
        "uid": "string",
        "controller": "boolean",
        "blockOwnerDeletion": "boolean",
    },
}
"""The structured types of ``metadata``, declared as in a schema file."""

METADATA_SPEC = FieldSpec(type="ObjectMeta")
_TABLE = TypeTable(TYPES, "metadata")
ObjectMeta: Any = _TABLE.struct("ObjectMeta")
"""The struct of ``metadata``."""

FIELDS = tuple(TYPES["ObjectMeta"])
"""What is stored of a manifest's ``metadata``."""
OF_SERVER = frozenset({"generation", "creationTimestamp", "deletionTimestamp", "mirrored"})
"""The parts that the API server writes."""
FINALIZERS = "metadata.finalizers"
"""The part that a plan sets like a property: all finalizers, in their order."""
CLAIMED = ("annotations", "labels")
"""The parts that a claim on a whole resource sets; an update that compilers send replaces both."""
BY_KEY = frozenset({"annotations", "labels"})
"""The parts that are maps, which evaluations read by key."""


def claimed_part(metadata: Any) -> Any:
    """``metadata`` (a struct) with only the parts that a claim sets."""
    return ObjectMeta(**{field: getattr(metadata, field) for field in CLAIMED})


def differing_parts(one: Any, other: Any) -> Iterator[tuple[str, ...]]:
    """The parts in which two structs of metadata differ: (field,), and (field, key) for each key of a map."""
    for field in FIELDS:
        before, after = getattr(one, field), getattr(other, field)
        if before == after:
            continue
        yield (field,)
        if field in BY_KEY:
            for key in sorted({*before, *after}):
                if before.get(key) != after.get(key):
                    yield (field, key)


def converted(value: Any) -> Any:
    """The struct of ``metadata`` as plain JSON. Raises ``msgspec.ValidationError``."""
    return msgspec.convert(value, ObjectMeta, dec_hook=lambda wanted, given: FrozenMap(given))
