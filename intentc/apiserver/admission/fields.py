"""Which fields a kind takes, and of which types: what clients send is checked before anything else looks at it.

Why it exists: a misspelt field must not vanish in silence, and rules may rely on the shape of what they look at.
Types, enums and bounds come from the schema. Decoding elsewhere is lenient (an old value must not hide a resource);
admission is not.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from intentc.loading import in_words, unknown_field
from intentc.model import Kind, Schema, kebab
from intentc.model.types import SCALARS, FieldSpec, TypeTable
from intentc.model.values import decode_hook, without_nulls

from ..errors import BadRequest
from .rules import Document

IDENTITY = frozenset({"uuid", "name", "fq_name", "parent_type", "parent_uuid"})
COMMON = IDENTITY | {"display_name", "id_perms", "perms2", "annotations", "configuration_version"}
"""Fields of every kind (spec A.1)."""

_OF_MANIFESTS = (COMMON | {"labels", "api_version"}) - {"parent_type", "parent_uuid"}
"""Fields of every kind that people write as manifests."""

_COMPUTED = frozenset({"href", "parent_href", "to"})


def accept(schema: Schema, kind: Kind, body: Any) -> tuple[Document, frozenset[str]]:
    """What a client sent, without what is computed and without nulls, and the names of all fields that it gave (null
    ones, too: they clear). Raises ``BadRequest`` for unknown fields and wrong types."""
    if not isinstance(body, dict):
        raise BadRequest(f"{kebab(kind.name)} must be a JSON object")
    computed = _computed_fields(schema, kind)
    given = frozenset(
        name for name in body if name not in computed and not (name.endswith("_back_refs") or name in _COMPUTED)
    )
    for name in given:
        if name not in common_fields(kind) and not _declared(kind, name):
            raise BadRequest(_unknown(kind, name))
    document = {name: body[name] for name in given}
    if b"null" in msgspec.json.encode(document):
        document = without_nulls(document)
    checked = _checked_kind(kind)
    try:
        msgspec.convert(document, checked, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        unknown = unknown_field(error, checked)
        if unknown is not None:
            raise BadRequest(f"{kebab(kind.name)} has no field {unknown[0]!r}{unknown[1]}") from None
        field, words = in_words(error, checked)
        raise BadRequest(f"{kebab(kind.name)}: {field}: {words}" if field else f"{kebab(kind.name)}: {words}") from None
    return document, given


def common_fields(kind: Kind) -> frozenset[str]:
    """The fields that resources of ``kind`` have whatever its schema says."""
    return _OF_MANIFESTS if kind.written_as_manifests else COMMON


def missing_fields(kind: Kind, document: Document) -> list[str]:
    """The required fields that ``document``, a whole resource, doesn't have."""
    return [field for field, declared in kind.properties.items() if declared.required and field not in document]


def children_of(schema: Schema, kind: Kind) -> dict[str, Kind]:
    """Field under which children are shown (the plural) → their kind."""
    return {child.plural: child for child, relation in schema.referring.get(kind.name, ()) if relation == "parent"}


@lru_cache(maxsize=1024)
def _computed_fields(schema: Schema, kind: Kind) -> frozenset[str]:
    return frozenset(children_of(schema, kind))


def _declared(kind: Kind, name: str) -> bool:
    if name in kind.properties or kind.opaque:
        return True
    return name.endswith("_refs") and name.removesuffix("_refs") in kind.relations


def _unknown(kind: Kind, name: str) -> str:
    known = [*common_fields(kind), *kind.properties, *(f"{relation}_refs" for relation in kind.relations)]
    near = difflib.get_close_matches(name, known, 2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{kebab(kind.name)} has no field {name!r}{hint}"


@lru_cache(maxsize=1024)
def _checked_kind(kind: Kind) -> type[msgspec.Struct]:
    """A struct that accepts exactly what the schema allows. Fields at the top that it doesn't know are ``accept``'s
    business; further down they are refused where people write manifests: in Contrail's kinds the schema's types leave
    out what no compiler reads."""
    strict = kind.written_as_manifests and not kind.opaque
    checked = _Checked(kind.types, strict)
    fields: list[tuple[str, Any, Any]] = [
        ("uuid", str, ""),
        ("name", str, ""),
        ("fq_name", list[str], msgspec.field(default_factory=list)),
        ("parent_type", str, ""),
        ("parent_uuid", str, ""),
        ("display_name", str, ""),
        ("id_perms", dict[str, Any], msgspec.field(default_factory=dict)),
        ("perms2", _Permissions, msgspec.UNSET),
        ("annotations", _Annotations, msgspec.UNSET),
    ]
    if kind.written_as_manifests:
        fields += [("api_version", str, ""), ("labels", dict[str, str], msgspec.UNSET)]
    fields += [(name, checked.field(declared.spec), msgspec.UNSET) for name, declared in kind.properties.items()]
    for relation in kind.relations.values():
        entry: list[tuple[str, Any, Any]] = [("uuid", str, ""), ("to", list[str], msgspec.UNSET)]
        if relation.attribute:
            entry.append(("attr", checked.struct(relation.attribute), msgspec.UNSET))
        else:
            entry.append(("attr", dict[str, Any], msgspec.UNSET))
        reference = msgspec.defstruct(f"{relation.name}_ref", entry)
        fields.append((f"{relation.name}_refs", list[reference], msgspec.UNSET))  # type: ignore[valid-type]
    return msgspec.defstruct(kind.name, fields)


_Access = Annotated[int, msgspec.Meta(ge=0, le=7)]


class _Share(msgspec.Struct):
    tenant: str
    tenant_access: _Access


class _Permissions(msgspec.Struct):
    """``perms2``; it decides who may do what, so its shape is checked."""

    owner: str = ""
    owner_access: _Access = 0
    global_access: _Access = 0
    share: list[_Share] = []


class _Annotation(msgspec.Struct):
    key: str
    value: str = ""


class _Annotations(msgspec.Struct):
    key_value_pair: list[_Annotation] = []


class _Checked:
    """The structured types of a schema with their enums and bounds, at every depth. ``strict``: unknown fields are
    refused."""

    def __init__(self, types: TypeTable, strict: bool) -> None:
        self._types = types
        self._strict = strict
        self._built: dict[str, type[msgspec.Struct]] = {}

    def struct(self, name: str) -> type[msgspec.Struct]:
        if name not in self._built:
            fields = [
                (field, self.field(spec)) if spec.required else (field, self.field(spec), msgspec.UNSET)
                for field, spec in self._types.fields(name).items()
            ]
            self._built[name] = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=self._strict)
        return self._built[name]

    def field(self, spec: FieldSpec) -> Any:
        if spec.list:
            element = SCALARS[spec.list][0] if spec.list in SCALARS else self.struct(spec.list)
            return list[element]  # type: ignore[valid-type]
        if spec.type not in SCALARS:
            return self.struct(spec.type)
        python_type = SCALARS[spec.type][0]
        if spec.enum:
            # "" and 0 mean the same as a missing field (spec A.1), so they are always allowed.
            return Literal[("", *spec.enum)]
        if spec.minimum is None and spec.maximum is None:
            return python_type
        lowest = None if spec.minimum is None else min(spec.minimum, 0)
        return Annotated[python_type, msgspec.Meta(ge=lowest, le=spec.maximum)]
