"""Checks resources and statuses against their kind's schema: types, enums and bounds, at every depth.

The API server rejects invalid resources (``checked_kind``, ``checked_status``, both for the flat form), and compilers
that extract resources from annotations report the same faults beforehand (``manifest_fields``). Fields that all kinds
have are checked, too, such as ``perms2``. Unknown fields at the top are rejected by ``manifest_fields``, and left to
the callers of ``checked_kind``. Deeper ones are rejected in kinds with a manifest, and those of a status in all kinds;
opaque kinds may have them. The model decodes stored values leniently.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from intentc.model import InvalidInput, Kind, Schema
from intentc.model.manifest import flattened
from intentc.model.matching import suggestion
from intentc.model.metadata import CLAIMED, METADATA, METADATA_SPEC, TYPES
from intentc.model.types import SCALARS, FieldSpec, TypeTable
from intentc.model.values import decode_hook

from .convert import in_words, unknown_field

NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""The names and namespaces that Kubernetes allows (RFC 1123)."""
DESCRIBED_NAME = re.compile(r"[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?")
"""The names of resources in annotations: Emissary's users write ``quote_mapping``."""
LONGEST_NAME = 253
_COMMON = frozenset({"fq_name", "api_version", METADATA, "uuid"})


def manifest_fields(schema: Schema, manifest: Any) -> tuple[Kind, tuple[str, ...], dict[str, Any]]:
    """(kind, fq_name, fields) of a manifest as plain JSON, checked as by the API server.

    The fields are its properties, ``metadata`` (labels and annotations) and ``api_version``. Raises ``InvalidInput``
    saying how to correct it.
    """
    if not isinstance(manifest, dict) or not isinstance(manifest.get("kind"), str):
        raise InvalidInput("a manifest with apiVersion, kind and metadata.name is expected")
    kind = schema.of_manifest(str(manifest.get("apiVersion", "")), manifest["kind"])
    if kind is None or not kind.written_as_manifests:
        raise InvalidInput(f"kind {manifest['kind']!r} is unknown")
    try:
        flat = flattened(manifest, kind.manifests)
    except msgspec.ValidationError as error:
        raise InvalidInput(str(error)) from None
    fq_name = tuple(flat["fq_name"])
    for part in fq_name:
        if not DESCRIBED_NAME.fullmatch(part) or len(part) > LONGEST_NAME:
            raise InvalidInput(f"{part!r} is no name; give at most {LONGEST_NAME} letters, digits, - _ and .")
    fields = {name: value for name, value in flat.items() if name not in ("fq_name", "uuid", "annotations")}
    for name in fields:
        if name not in kind.properties and name not in _COMMON:
            raise InvalidInput(f"it has no field {name!r}{suggestion(name, kind.properties, 2)}")
    for name, declared in kind.properties.items():
        if declared.required and name not in fields:
            raise InvalidInput(f"{name} must be given")
    _check_types(kind, fields)
    if METADATA in fields:
        fields[METADATA] = {part: value for part, value in fields[METADATA].items() if part in CLAIMED}
    return kind, fq_name, fields


def _check_types(kind: Kind, fields: dict[str, Any]) -> None:
    checked = checked_kind(kind)
    try:
        msgspec.convert(fields, checked, dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        unknown = unknown_field(error, checked)
        if unknown is not None:
            raise InvalidInput(f"it has no field {unknown[0]!r}{unknown[1]}") from None
        field, words = in_words(error, checked)
        raise InvalidInput(f"{field}: {words}" if field else words) from None


@lru_cache(maxsize=1024)
def checked_kind(kind: Kind) -> type[msgspec.Struct]:
    """A struct type that accepts exactly what the schema allows.

    Callers check unknown fields at the top. Deeper ones are rejected in manifests; in Contrail's kinds they are
    accepted, since the schema's types leave out fields that no compiler reads.
    """
    strict = kind.written_as_manifests and not kind.opaque
    checked = _Checked(kind.types, strict)
    common: list[tuple[str, Any, Any]] = [
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
        metadata = _Metadata(TypeTable(TYPES, METADATA), strict=True).field(METADATA_SPEC)
        common += [("api_version", str, ""), (METADATA, metadata, msgspec.UNSET)]
    fields = [field for field in common if field[0] not in kind.properties]
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


@lru_cache(maxsize=1024)
def checked_status(kind: Kind) -> type[msgspec.Struct]:
    """A struct type that accepts exactly what the schema allows as status. Unknown fields of an opaque kind are
    accepted. Raises ``TypeError`` for a kind without a status."""
    if kind.status is None:
        raise TypeError(f"{kind.name} has no status")
    return _Checked(kind.types, not kind.opaque).struct(kind.status.type_name)


_Access = Annotated[int, msgspec.Meta(ge=0, le=7)]


class _Share(msgspec.Struct):
    tenant: str
    tenant_access: _Access


class _Permissions(msgspec.Struct):
    """``perms2``. It decides who may do what, so its form is checked."""

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
    """The structured types of a schema with their enums and bounds, at every depth. ``strict``: rejects unknown
    fields."""

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
        python_type = self._scalar(spec.type)
        if spec.enum:
            # "" and 0 mean the same as a missing field (docs/contrail.md A.1), so they are always allowed.
            return Literal[("", *spec.enum)]
        if spec.minimum is None and spec.maximum is None:
            return python_type
        lowest = None if spec.minimum is None else min(spec.minimum, 0)
        return Annotated[python_type, msgspec.Meta(ge=lowest, le=spec.maximum)]

    def _scalar(self, name: str) -> Any:
        return SCALARS[name][0]


class _Metadata(_Checked):
    """The types of ``metadata``, whose maps hold text."""

    def _scalar(self, name: str) -> Any:
        return dict[str, str] if name == "map" else super()._scalar(name)
