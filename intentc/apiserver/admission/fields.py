"""Flattens and checks what clients send, before any other code reads it: fields, types, manifests, the status.

Why it exists: a misspelt field must not be dropped silently, and rules may rely on the form of their input. The schema
defines types, enums and bounds. Decoding elsewhere is lenient (an old value must not hide a resource); admission is
strict. Clients may send Kubernetes-shaped kinds as manifests, or flat; only the flat form is stored.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from intentc.loading import did_you_mean, in_words, unknown_field
from intentc.loading.checking import DESCRIBED_NAME, NAME, checked_kind, checked_status
from intentc.loading.checking import LONGEST_NAME as LONGEST_NAME
from intentc.model import MARK_KEY, Kind, Schema, kebab
from intentc.model.manifest import flattened, is_half_manifest, is_manifest
from intentc.model.matching import suggestion
from intentc.model.metadata import METADATA
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.stored_versions import STORED_VERSION
from intentc.model.structural_schema import pruned
from intentc.model.values import decode_hook, without_nulls

from ..documents import Document
from ..errors import BadRequest, shortened

IDENTITY = frozenset({"uuid", "name", "fq_name", "parent_type", "parent_uuid"})
COMMON = IDENTITY | {"display_name", "id_perms", "perms2", "annotations", "configuration_version", STORED_VERSION}
"""Fields of every kind (docs/contrail.md A.1)."""

_OF_MANIFESTS = (COMMON | {METADATA, "api_version"}) - {"parent_type", "parent_uuid"}
"""Fields of every kind that people write as manifests."""

_COMPUTED = frozenset({"href", "parent_href", "to"})
"""Fields of answers of Contrail's server next to those of the kind; a kind may declare one of these names."""
_OF_STATUS = frozenset({STATUS, STATUS_CLAIMS})
"""Fields that ``statuses.py`` alone writes; in other bodies they have no effect, as in Kubernetes."""


def accept(schema: Schema, kind: Kind, body: Any) -> tuple[Document, frozenset[str]]:
    """Check the fields that a client sent; returns them without computed ones and nulls, and the names of all.

    The names include null fields, which are cleared. Raises ``BadRequest`` for unknown fields and wrong types.
    """
    if not isinstance(body, dict):
        raise BadRequest(f"{kebab(kind.name)} must be a JSON object")
    computed = _computed_fields(schema, kind)
    given = frozenset(
        name
        for name in body
        if name not in computed
        and not name.endswith("_back_refs")
        and (name not in _COMPUTED or name in kind.properties)
    )
    for name in given:
        if name not in common_fields(kind) and not _declared(kind, name):
            raise BadRequest(_unknown(kind, name)).of(name)
    document = {name: body[name] for name in given}
    if b"null" in msgspec.json.encode(document):
        document = without_nulls(document)
    checked = checked_kind(kind)
    try:
        msgspec.convert(document, checked, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        unknown = unknown_field(error, checked)
        if unknown is not None:
            message = f"{kebab(kind.name)} has no field {unknown[0]!r}{unknown[1]}"
            raise BadRequest(message).of(unknown[0]) from None
        field, words = in_words(error, checked)
        message = f"{kebab(kind.name)}: {field}: {words}" if field else f"{kebab(kind.name)}: {words}"
        raise BadRequest(message).of(field) from None
    return document, given


def accept_status(kind: Kind, status: Document) -> Any:
    """Check a status, and return it as a struct. Unknown fields of an opaque kind's status are dropped.

    Raises ``BadRequest`` for other unknown fields, wrong types, and a kind without a status."""
    if kind.status is None:
        raise BadRequest(f"{kebab(kind.name)} has no status")
    checked = checked_status(kind)
    try:
        msgspec.convert(status, checked, dec_hook=decode_hook)
        return msgspec.convert(status, kind.status.struct, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        unknown = unknown_field(error, checked)
        if unknown is not None:
            raise BadRequest(f"{kebab(kind.name)}: status has no field {unknown[0]!r}{unknown[1]}") from None
        field, words = in_words(error, checked)
        raise BadRequest(f"{kebab(kind.name)}: status{f'.{field}' if field else ''}: {words}") from None


def common_fields(kind: Kind) -> frozenset[str]:
    """The fields that resources of ``kind`` have independent of its schema."""
    common = _OF_MANIFESTS if kind.written_as_manifests else COMMON
    return common if kind.status is None else common | _OF_STATUS


def missing_fields(kind: Kind, document: Document) -> list[str]:
    """The required fields that ``document``, a whole resource, lacks."""
    return [field for field, declared in kind.properties.items() if declared.required and field not in document]


def children_of(schema: Schema, kind: Kind) -> dict[str, Kind]:
    """Field under which children are shown (the plural) → their kind."""
    return {child.plural: child for child, relation in schema.referring.get(kind.name, ()) if relation == "parent"}


@lru_cache(maxsize=1024)
def _computed_fields(schema: Schema, kind: Kind) -> frozenset[str]:
    status = _OF_STATUS if kind.status is not None else frozenset()
    return frozenset(children_of(schema, kind)) | status | {STORED_VERSION}


def _declared(kind: Kind, name: str) -> bool:
    if name in kind.properties or kind.opaque:
        return True
    return name.endswith("_refs") and name.removesuffix("_refs") in kind.relations


def _unknown(kind: Kind, name: str) -> str:
    known = [*common_fields(kind), *kind.properties, *(f"{relation}_refs" for relation in kind.relations)]
    return f"{kebab(kind.name)} has no field {name!r}{suggestion(name, known, 2)}"


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
