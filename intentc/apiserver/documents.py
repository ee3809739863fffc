"""Encodes and decodes what is stored, and finds a resource's parent and references.

Why it exists: values in etcd must be canonical (equal content, equal bytes) and hold a resource's own references only;
everything else in an answer is computed from the index (``queries``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec

from intentc.model import Key, Kind, is_escaped, snake
from intentc.model.values import without_nulls

from .errors import BrokenEntry, Malformed
from .layout import CHILD, REFERENCE

Entry = TypeVar("Entry")
Document = dict[str, Any]
"""A resource as JSON: field → value."""

_DECODER = msgspec.json.Decoder(Document)


class Relationship(NamedTuple):
    """A resource is the child of ``target``, or refers to it."""

    target: Key
    sort: str


class Header(msgspec.Struct, frozen=True):
    """The part of a stored resource that has its name; decoded faster than the whole."""

    fq_name: tuple[str, ...]


_HEADER = msgspec.json.Decoder(Header)


def encode(document: Any) -> bytes:
    """Canonical JSON: keys sorted at every depth."""
    return msgspec.json.encode(document, order="sorted")


def encode_list(body: Mapping[str, Any], field: str, items: Iterable[Any]) -> bytes:
    """The answer ``body`` with ``items`` as ``field``, encoded one by one: other threads may run in between."""
    rest = msgspec.json.encode(body).removesuffix(b"}")
    parts = [msgspec.json.encode(item) for item in items]
    return b'%s%s"%s":[%s]}' % (rest, b"," if len(rest) > 1 else b"", field.encode(), b",".join(parts))


def decode(kind: Kind, raw: bytes, where: str, uuid: str) -> Document:
    """Decode a stored value and check it against the kind's schema, so that other code may rely on its shape.

    A null means "not set" and is left out at any depth. Common fields (``id_perms``, ``perms2``) are not checked.
    ``where``: the key in etcd; ``uuid``: the uuid in that key, which a value without one gets. Raises ``Malformed``
    naming ``where``.
    """
    try:
        values = kind.decode_values(raw)
        document = kind.stored_form(_DECODER.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(where, str(error)) from None
    if not values.fq_name:
        raise _unreadable(where, "it has no fq_name")
    if values.uuid and values.uuid != uuid:
        raise _unreadable(where, f"it has uuid {values.uuid}")
    if is_escaped(uuid):
        raise _unreadable(where, "its key ends in no uuid")
    if b"null" in raw:
        document = without_nulls(document)
    return document if values.uuid else {**document, "uuid": uuid}


def _unreadable(where: str, reason: str) -> Malformed:
    shown = where.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return Malformed(f"the value of {shown} can't be read: {reason}")


def decode_fq_name(kind: Kind, raw: bytes, where: str, uuid: str) -> tuple[str, ...]:
    """Decode only the fq_name of a stored value. Raises ``Malformed``."""
    if kind.written_as_manifests:
        return tuple(decode(kind, raw, where, uuid)["fq_name"])
    try:
        return _HEADER.decode(raw).fq_name
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(where, str(error)) from None


def decode_entry(raw: bytes, wanted: type[Entry], where: str) -> Entry:
    """Decode an entry of the index or of a pool, which only API servers write. Raises ``BrokenEntry``."""
    try:
        return msgspec.json.decode(raw, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenEntry.at(where, str(error)) from None


def decode_text(raw: bytes, where: str) -> str:
    """The text of an entry: a uuid, or an owner of a number. Raises ``BrokenEntry``."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise BrokenEntry.at(where, str(error)) from None


def relationships(kind: Kind, document: Document) -> Iterator[tuple[Relationship, bool]]:
    """The parent and references of a resource, each with whether it is derived and so never blocks a deletion."""
    parent_uuid = document.get("parent_uuid")
    if parent_uuid:
        parent_kind = snake(document.get("parent_type", ""))
        derived = any(parent.kind == parent_kind and parent.derived for parent in kind.parents)
        yield Relationship(Key(parent_kind, parent_uuid), CHILD), derived
    for relation in kind.relations.values():
        for entry in document.get(f"{relation.name}_refs") or ():
            if entry.get("uuid"):
                yield Relationship(Key(relation.name, entry["uuid"]), REFERENCE), relation.derived


def referred(kind: Kind, document: Document) -> frozenset[str]:
    """The uuids of the resources to which a resource refers."""
    return frozenset(other.target.uuid for other, _ in relationships(kind, document) if other.sort == REFERENCE)


def without_reference(document: Document, target: Key) -> Document:
    """``document`` without its reference to ``target``; an emptied list is removed."""
    field = f"{target.kind}_refs"
    entries = [entry for entry in document.get(field) or () if entry.get("uuid") != target.uuid]
    changed = {name: value for name, value in document.items() if name != field}
    if entries:
        changed[field] = entries
    return changed
