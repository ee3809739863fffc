"""Checks the fields and the status that clients send, and their types, before any other code reads them.

Why it exists: a misspelt field must not be dropped silently, and rules may rely on the form of their input. The schema
defines types, enums and bounds. Decoding elsewhere is lenient (an old value must not hide a resource); admission is
strict. It also knows the fields that all kinds have, those under which children are shown, and those that are required.

It changes nothing that it gets. State: a cache of the fields of answers by kind.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Any

import msgspec

from intentc.loading import in_words, unknown_field
from intentc.loading.checking import checked_kind, checked_status
from intentc.model import Kind, Schema, kebab
from intentc.model.metadata import METADATA
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.stored_versions import STORED_VERSION
from intentc.model.values import decode_hook, without_nulls

from ..errors import BadRequest
from .rules import Document

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
    near = difflib.get_close_matches(name, known, 2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{kebab(kind.name)} has no field {name!r}{hint}"
