"""Checks the declarations in a schema file while file and line are known: a kind, or the types that kinds share.

``model`` would reject most faults as well, but can only name the kind. Here each check names the line and what was
probably meant. ``schemas`` checks what needs all kinds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from intentc.model.kind import Writer
from intentc.model.metadata import METADATA
from intentc.model.metadata import TYPES as METADATA_TYPES
from intentc.model.names import RESOLVERS
from intentc.model.schema import KindSpec
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.stored_versions import STORED_VERSION
from intentc.model.types import SCALARS, FieldSpec
from intentc.model.values import decode_hook, split_path

from .convert import did_you_mean, explained, in_words
from .yaml import Located, Steps

Types = Mapping[str, Mapping[str, Any]]
"""Structured types as declared: name → field → type's name or mapping."""

_FIELD_KEYS = frozenset(FieldSpec.__struct_fields__)
_PROPERTY_KEYS = _FIELD_KEYS | {
    "writer", "required", "collection", "map_key", "annotation", "compiler_parts", "writer_if_made",
}  # fmt: skip
_NUMBERS = ("integer", "number")
_WRITERS = tuple(writer.value for writer in Writer)
_WRITERS_IF_MADE = ("", Writer.COMPILER.value)
_WRITERS_OF_LISTS_IF_MADE = (*_WRITERS_IF_MADE, Writer.SHARED.value)
_COMMON = {"uuid": "string", "fq_name": {"list": "string"}, "parent_type": "string", "parent_uuid": "string"}
_OF_MANIFESTS = {METADATA: "ObjectMeta", "api_version": "string"}
_RESERVED = frozenset({*_COMMON, *_OF_MANIFESTS, "annotations", "name", "display_name", "id_perms", "perms2"})
"""Fields of every Kubernetes-shaped kind; no property can have these names."""
_RESERVED_EVERYWHERE = frozenset({
    "annotations", "configuration_version", "fq_name", "href", "key", "kind", "name", "parent_type", "parent_uuid",
    "perms2", "status", STATUS_CLAIMS, "uuid",
})  # fmt: skip
"""Fields of every resource, or names by which evaluations and programs read something else of it."""


def check_types(located: Located, types: Types) -> None:
    """Check that every field of every structured type has a known type."""
    for name, fields in types.items():
        for field, declared in fields.items():
            _check_field(located, ("types", name, field), declared, types, _FIELD_KEYS)


def check_kind(located: Located, spec: KindSpec, types: Types) -> None:
    """Check a kind's fields, references, mentions and indexes. Raises ``InvalidInput``.

    ``schemas.py`` checks that the kinds to which it refers exist, once all are read.
    """
    _check_choice(located, ("shape",), spec.shape, ("contrail", "kubernetes"))
    _check_choice(located, ("scope",), spec.scope, ("namespaced", "cluster"))
    _check_pattern(located, ("ours",), spec.ours)
    _check_pattern(located, ("only_claimed",), spec.only_claimed)
    if spec.only_claimed and not (spec.system and spec.ours):
        raise located.error(
            "only_claimed is about names that only compilers give; declare `system: true` and `ours`, too",
            ("only_claimed",),
        )
    for name, declared in spec.properties.items():
        if name in _RESERVED_EVERYWHERE and not (spec.shape == "kubernetes" and name in _RESERVED):
            raise located.error(
                f"the name {name!r} is reserved: of every resource it means something else; choose another one",
                ("properties", name),
            )
        if spec.shape == "kubernetes" and name in _RESERVED:
            raise located.error(
                f"every resource has a field {name!r}; call this one otherwise, and move it there in `versions`",
                ("properties", name),
            )
        _check_field(located, ("properties", name), declared, types, _PROPERTY_KEYS)
        if spec.shape == "kubernetes" and isinstance(declared, dict) and "annotation" in declared:
            raise located.error(
                "evaluations read the annotations of a manifest themselves: view.metadata.annotations.get(KEY)",
                ("properties", name, "annotation"),
            )
    if spec.status is not None:
        _check_status(located, spec, types)
    for name, reference in spec.references.items():
        if reference is not None:
            _check_choice(located, ("references", name, "writer"), reference.writer, _WRITERS)
            if_made = reference.writer_if_made
            _check_choice(located, ("references", name, "writer_if_made"), if_made, _WRITERS_OF_LISTS_IF_MADE)
            _check_pattern(located, ("references", name, "ours"), reference.ours)
            if reference.attribute:
                _check_choice(located, ("references", name, "attribute"), reference.attribute, types)
    _check_versions(located, spec)
    for version in spec.converted:
        _check_choice(located, ("converted", version), version, spec.versions)
    fields: dict[str, Any] = {**_COMMON, **spec.properties}
    if spec.shape == "kubernetes":
        fields |= _OF_MANIFESTS
        types = {**types, **METADATA_TYPES}
    if spec.status is not None:
        fields[STATUS] = spec.status.type
    for name, mention in spec.mentions.items():
        _check_choice(located, ("mentions", name, "resolver"), mention.resolver, RESOLVERS)
        _check_pattern(located, ("mentions", name, "only"), mention.only)
        for position, path in enumerate(mention.paths):
            _check_path(located, ("mentions", name, "paths", position), path, fields, types)
    for name, path in spec.columns.items():
        _check_path(located, ("columns", name), path, fields, types)
    for name, index in spec.indexes.items():
        for position, path in enumerate(index.paths):
            _check_path(located, ("indexes", name, "paths", position), path, fields, types)


def _check_versions(located: Located, spec: KindSpec) -> None:
    """Check that the first version can be the stored one, and that fields move to fields of the kind."""
    if STORED_VERSION in spec.properties:
        raise located.error(f"every stored resource has a field {STORED_VERSION!r}; call this one otherwise",
                            ("properties", STORED_VERSION))  # fmt: skip
    first = next(iter(spec.versions), "")
    if first in spec.converted:
        raise located.error("converted: the first version is the stored one, and needs no conversion",
                            ("converted", first))  # fmt: skip
    for version, moves in spec.versions.items():
        if moves and version == first and spec.shape != "kubernetes":
            raise located.error("versions: the first version is the stored one, whose fields don't move; write `{}`",
                                ("versions", version))  # fmt: skip
        for old, new in moves.items():
            if new is not None:
                _check_choice(located, ("versions", version, old), new.partition(".")[0], spec.properties)
            if old.partition(".")[0].endswith("_refs"):
                raise located.error("versions: references can't move", ("versions", version, old))


def _check_status(located: Located, spec: KindSpec, types: Types) -> None:
    """Check that the status has a structured type, with the conditions and fields that compilers claim."""
    declared = spec.status
    assert declared is not None
    for name in (STATUS, STATUS_CLAIMS):
        if name in spec.properties:
            raise located.error(f"a kind with a status has no property {name!r}; call this one otherwise",
                                ("properties", name))  # fmt: skip
    _check_choice(located, ("status", "type"), declared.type, types)
    for position, path in enumerate(declared.paths):
        _check_part(located, ("status", "paths", position), path, declared.type, types)


def _check_field(located: Located, path: Steps, declared: Any, types: Types, keys: frozenset[str]) -> None:
    """Check a field of a type or a property of a kind, declared by its type's name or as a mapping."""
    if isinstance(declared, str):
        _check_choice(located, path, declared, [*SCALARS, *types])
        return
    if not isinstance(declared, dict):
        raise located.error("a field is declared by its type's name, or by a mapping", path)
    for key in declared:
        if key not in keys:
            raise located.error(f"unknown key {key!r}{did_you_mean(key, keys)}", (*path, key), "UnknownKey")
    try:
        spec = msgspec.convert({key: value for key, value in declared.items() if key in _FIELD_KEYS}, FieldSpec)
    except msgspec.ValidationError as error:
        raise explained(located, path, error) from None
    if bool(spec.type) == bool(spec.list):
        raise located.error("a field has either `type` or `list`", path)
    _check_choice(located, (*path, "list" if spec.list else "type"), spec.list or spec.type, [*SCALARS, *types])
    _check_choice(located, (*path, "writer"), declared.get("writer", "user"), _WRITERS)
    _check_choice(located, (*path, "writer_if_made"), declared.get("writer_if_made", ""), _WRITERS_IF_MADE)
    _check_choice(located, (*path, "collection"), declared.get("collection", ""), ("", "map", "list"))
    if declared.get("collection"):
        _check_collection(located, path, declared, types)
    for part in declared.get("compiler_parts", ()):
        _check_part(located, (*path, "compiler_parts"), part, spec.type, types)
    if spec.default is not None and spec.type in SCALARS:
        try:
            msgspec.convert(spec.default, SCALARS[spec.type][0], dec_hook=decode_hook)
        except msgspec.ValidationError as error:
            raise located.error(f"default: {in_words(error)[1]}", (*path, "default")) from None
    _check_values(located, path, spec)


def _check_values(located: Located, path: Steps, spec: FieldSpec) -> None:
    """Check that enum, bounds and default of a field go together. A default may be outside the bounds: that is how a
    schema says *not set*."""
    if spec.enum and spec.type != "string":
        raise located.error("enum is for texts: declare `type: string`, or take the enum out", (*path, "enum"))
    if spec.enum and spec.default is not None and spec.default not in spec.enum:
        raise located.error(
            f"default: {spec.default!r} is not in the enum: {', '.join(spec.enum)}",
            (*path, "default"),
        )
    for bound in ("minimum", "maximum"):
        if getattr(spec, bound) is not None and spec.type not in _NUMBERS:
            raise located.error(f"{bound} is for numbers: declare `type: integer`, or take it out", (*path, bound))
    if spec.minimum is not None and spec.maximum is not None and spec.minimum > spec.maximum:
        raise located.error(
            f"no value fits: the minimum {spec.minimum} is over the maximum {spec.maximum}", (*path, "minimum")
        )


def _check_collection(located: Located, path: Steps, declared: Mapping[str, Any], types: Types) -> None:
    """Check that a collection has elements, and those of a map a field that is the key."""
    element, name = declared.get("list", ""), declared.get("type", "")
    if not element:
        lists = [field["list"] for field in types.get(name, {}).values() if isinstance(field, dict) and "list" in field]
        if not lists:
            raise located.error(
                f"collection: {name} has no list, whose elements could be changed", (*path, "collection")
            )
        element = lists[0]
    if declared["collection"] == "map":
        if "map_key" not in declared:
            raise located.error("collection: a map needs map_key, the field of its elements that is the key",
                                (*path, "collection"))  # fmt: skip
        _check_choice(located, (*path, "map_key"), declared["map_key"], types.get(element, {}))


def _check_part(located: Located, at: Steps, part: str, type_name: str, types: Types) -> None:
    """Check that ``part`` is a path of fields inside the structured type: ``a.b``."""
    for step in part.split("."):
        fields = types.get(type_name, {})
        _check_choice(located, (*at, part), step, fields)
        declared = fields[step]
        type_name = declared if isinstance(declared, str) else declared.get("type", "")


def _check_choice(located: Located, path: Steps, value: Any, known: Iterable[str]) -> None:
    names = set(known)
    if value not in names:
        raise located.error(f"{path[-1]}: {value!r} is unknown{did_you_mean(str(value), names - {''})}", path)


def _check_pattern(located: Located, path: Steps, pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise located.error(f"{path[-1]}: {pattern!r} is no regular expression: {error}", path) from None


def _check_path(located: Located, at: Steps, path: str, fields: Mapping[str, Any], types: Types) -> None:
    """Check that ``path`` leads through the kind's fields: ``a.b[].c``, with ``[]`` exactly at lists."""
    steps = split_path(path)
    declared: Any = None
    known: Mapping[str, Any] = fields
    for position, step in enumerate(steps):
        if step == "[]":
            if not isinstance(declared, dict) or "list" not in declared:
                raise located.error(f"path {path}: `{steps[position - 1]}` is no list; take the [] out", at)
            declared = declared["list"]
            known = types.get(declared, {})
            continue
        if isinstance(declared, dict) and "list" in declared:
            before = steps[position - 1]
            raise located.error(f"path {path}: `{before}` is a list; write {before}[]", at)
        if step not in known:
            raise located.error(f"path {path}: nothing is called {step!r} there{did_you_mean(step, known)}", at)
        declared = known[step]
        name = declared if isinstance(declared, str) else declared.get("type", "")
        if name == "map":
            return
        known = types.get(name, {})
