"""Writes JSON Schemas of the files that users write, for their editors: configuration, reaction maps, kinds, types.

``intentc check --schemas DIR`` writes them; the repository has them in ``config/json-schemas``. Editors complete and
check with them. They know less than ``intentc check``, which also checks, for example, that a map leads only to related
kinds. Descriptions of fields are taken from docstrings of structs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec import inspect as types

from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Section
from intentc.loading.configuration.setting_types import Secret
from intentc.logic.dependencies.reactions import ROOT, SELF
from intentc.model import Kind
from intentc.model.kind import Writer
from intentc.model.names import RESOLVERS, kebab, snake
from intentc.model.schema import IndexSpec, KindSpec, MentionSpec, ReferenceSpec, relations_of
from intentc.model.types import SCALARS, FieldSpec
from intentc.plugins import Loaded

DRAFT = "https://json-schema.org/draft/2020-12/schema"
CONFIGURATION = "configuration"
REACTION_MAP = "reaction-map"
KIND = "kind"
TYPES = "types"
_NAME = "^[A-Za-z][A-Za-z0-9_-]*$"


def write(directory: Path, compilers: Loaded) -> list[Path]:
    """Write all schemas, and return their files."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, schema in documents({one.name: _of_map(one.name, compilers) for one in compilers.compilers}).items():
        path = directory / f"{name}.schema.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n")
        written.append(path)
    return written


def _of_map(compiler: str, compilers: Loaded) -> list[Kind]:
    """The kinds that the map of a compiler may name: its own, and those of others that are related to them."""
    own = [kind for kind in compilers.schema if compilers.compiler_of_kind.get(kind.name) == compiler]
    tied = {target for kind in own for target, _ in relations_of(kind)}
    tied |= {source.name for kind in own for source, _ in compilers.schema.referring.get(kind.name, ())}
    known = tied | {kind.name for kind in own}
    return [kind for kind in compilers.schema if kind.name in known and kind.stored]


def documents(kinds: Mapping[str, Iterable[Kind]]) -> dict[str, Schema]:
    """Name → schema: of the configuration, of any map and of each compiler's, of a kind's file and of ``types.yml``.
    ``kinds``: compiler → the kinds that its map may name."""
    return {
        CONFIGURATION: configuration(),
        REACTION_MAP: reaction_map(),
        **{f"{REACTION_MAP}-{compiler}": reaction_map(named, compiler) for compiler, named in kinds.items()},
        KIND: kind_file(),
        TYPES: types_file(),
    }


def configuration() -> Schema:
    """The configuration: our own section is closed, the others are shared with unknown programs."""
    definitions = Definitions(settings=True)
    whole = definitions.of(msgspec.inspect.type_info(Configuration))
    for section in _sections(Section):
        found = definitions.found.get(section.__name__)
        if found is not None:
            _complete_section(section, found)
    return _document("Configuration of intentc, in the form of Contrail's contrail.yml", whole, definitions.found)


def reaction_map(kinds: Iterable[Kind] | None = None, compiler: str = "") -> Schema:
    """A reaction map, with these kinds if any are given; kebab-case is accepted, and not proposed."""
    known = None if kinds is None else {kind.name: kind.description for kind in kinds}
    names = None if known is None else sorted(known)
    visit: Schema = {
        "anyOf": [
            {"description": "the related ones of this kind", **_one_of(names)},
            {
                "description": "every one of this kind, related or not",
                "type": "object",
                "properties": {"all": _one_of(names)},
                "required": ["all"],
                "additionalProperties": False,
            },
        ]
    }
    definitions: dict[str, Schema] = {
        "visits": {
            "description": "the kinds to go on to; [] ends the walk here",
            "anyOf": [{"type": "array", "items": visit}, {"type": "null"}],
        },
        "causes": {
            "description": f"the kind through which the walk came; {SELF}: the resource itself has changed",
            **_keyed(None if names is None else dict.fromkeys([SELF, *names], ""), "visits"),
        },
    }
    whole = {
        "type": ["object", "null"],
        "properties": {ROOT: _keyed(known, "causes")},
        "patternProperties": {f"^{snake(ROOT)}$": _keyed(known, "causes")},
        "additionalProperties": False,
    }
    of = f"the compiler {compiler}" if compiler else "a compiler of intentc"
    return _document(f"Reaction map of {of}: who is looked at again when something changes", whole, definitions)


def kind_file() -> Schema:
    """One kind of resource: ``config/schemas/<compiler>/<kind>.yml``."""
    definitions = Definitions()
    whole = definitions.of(msgspec.inspect.type_info(KindSpec))
    found = definitions.found
    writer = {"enum": [one.value for one in Writer]}
    found["Property"] = _field(
        {
            "writer": writer,
            "collection": {"enum": ["map", "list"]},
            "map_key": _text(),
            "annotation": _text(),
            "compiler_parts": {"type": "array", "items": _text()},
            "writer_if_made": {"enum": [Writer.COMPILER.value]},
        }
    )
    properties = found[KindSpec.__name__]["properties"]
    properties["properties"] = {
        **_about(properties["properties"]),
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Property"},
    }
    properties["shape"] = {**_about(properties["shape"]), "enum": ["contrail", "kubernetes"], "default": "contrail"}
    found[ReferenceSpec.__name__]["properties"]["writer"] |= writer
    if_made = {"enum": ["", Writer.COMPILER.value, Writer.SHARED.value]}
    found[ReferenceSpec.__name__]["properties"]["writer_if_made"] |= if_made
    found[MentionSpec.__name__]["properties"]["resolver"] |= {"enum": list(RESOLVERS)}
    found[IndexSpec.__name__]["properties"]["paths"]["minItems"] = 1
    return _document("A kind of resource of intentc", whole, found)


def types_file() -> Schema:
    """The structured types of a compiler's kinds, and what every kind may refer to: ``types.yml``."""
    definitions = Definitions()
    definitions.of(msgspec.inspect.type_info(ReferenceSpec))
    reference = {"anyOf": [{"$ref": f"#/$defs/{ReferenceSpec.__name__}"}, {"type": "null"}]}
    whole = {
        "type": "object",
        "properties": {
            "types": {
                "description": "structured types by name: field → type",
                "type": "object",
                "additionalProperties": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Field"}},
            },
            "kubernetes": {
                "description": "the shared kinds of Kubernetes that the compiler reads",
                "type": "array",
                "items": {"type": "string"},
            },
            "every_kind": {
                "description": "what is added to each kind but the target itself",
                "type": "object",
                "properties": {"references": {"type": "object", "additionalProperties": reference}},
                "additionalProperties": False,
            },
        },
        "additionalProperties": False,
    }
    return _document("Structured types of the kinds of a compiler", whole, {**definitions.found, "Field": _field({})})


def _document(title: str, whole: Schema, definitions: Mapping[str, Schema]) -> Schema:
    return {"$schema": DRAFT, "title": title, **whole, "$defs": dict(sorted(definitions.items()))}


def _sections(base: type[Section]) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        yield section
        yield from _sections(section)


def _complete_section(section: type[Section], found: Schema) -> None:
    """Add ``NAME_file`` for every value, and the keys of other programs."""
    files: dict[str, Schema] = {}
    own = []
    for field in msgspec.structs.fields(section):
        if isinstance(field.type, type) and issubclass(field.type, Section):
            continue
        if field.type is Secret:
            about = f"path of a file with the {field.name} in it; read again when it changes"
            files[f"{field.name}_file"] = {"description": about, "type": ["string", "null"]}
        else:
            own.append(field.name)
    for name in sorted(section.passed_over):
        found["properties"].setdefault(name, {"description": "serves other programs; passed over"})
    found["properties"] |= files
    if own:
        found["patternProperties"] = {f"^({'|'.join(own)})_file$": {"type": ["string", "null"]}}
    found["additionalProperties"] = not section.closed


def _keyed(names: Mapping[str, str] | None, of: str) -> Schema:
    """A mapping from kinds to ``#/$defs/<of>``. ``names``: kind → description."""
    value: Schema = {"$ref": f"#/$defs/{of}"}
    if names is None:
        return {"type": ["object", "null"], "propertyNames": {"pattern": _NAME}, "additionalProperties": value}
    other = sorted(kebab(name) for name in names if kebab(name) != name)
    return {
        "type": ["object", "null"],
        "properties": {name: {"description": about, **value} if about else value for name, about in names.items()},
        "patternProperties": {f"^({'|'.join(other)})$": value} if other else {},
        "additionalProperties": False,
    }


def _one_of(names: list[str] | None) -> Schema:
    if names is None:
        return {"type": "string", "pattern": _NAME}
    other = sorted(kebab(name) for name in names if kebab(name) != name)
    return (
        {"anyOf": [{"enum": names}, {"type": "string", "pattern": f"^({'|'.join(other)})$"}]}
        if other
        else {"enum": names}
    )


def _field(further: Mapping[str, Schema]) -> Schema:
    """A field's type: its name alone, or a mapping with ``further`` keys."""
    definitions = Definitions()
    definitions.of(msgspec.inspect.type_info(FieldSpec))
    declared = definitions.found[FieldSpec.__name__]
    name = {"anyOf": [{"enum": list(SCALARS)}, _text()]}
    for key in ("type", "list"):
        declared["properties"][key] = {**_about(declared["properties"][key]), **name}
    declared["properties"] |= further
    declared["oneOf"] = [{"required": ["type"]}, {"required": ["list"]}]
    return {"anyOf": [name, declared]}


def _about(found: Schema) -> Schema:
    return {key: found[key] for key in ("description",) if key in found}


def _text() -> Schema:
    return {"type": "string"}


Schema = dict[str, Any]

YES_AND_NO = ("yes", "no", "on", "off", "y", "n")
_MARKED = re.compile(r"(?:^|(?<=[.)] )|(?<=\n\n)|(?<=[.)]\n))``(\w+)``(: )?")
_PATTERNS: Mapping[str, Schema] = {
    "Seconds": {
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h)?)+$"}]
    },
    "Address": {"type": "string", "pattern": r"^.*:\d{1,5}$"},
    "HostName": {"type": "string", "pattern": r"^[^*/@\s]+$"},
    "Url": {"type": "string", "pattern": "^(https?://[^@]+)?$"},
    "Secret": {"type": ["string", "number"]},
    "FilePath": {"type": "string"},
    "Settings": {"type": "object", "additionalProperties": {}},
}
"""The settings' own types (``configuration.setting_types``)."""


class Definitions:
    """Converts types to schemas; each struct is defined once, in ``found``, by its name. ``settings``: as in the
    configuration, where an empty value means the default, and words mean yes and no."""

    def __init__(self, *, settings: bool = False) -> None:
        self.found: dict[str, Schema] = {}
        self._settings = settings

    def of(self, wanted: types.Type) -> Schema:
        """The schema of a type."""
        match wanted:
            case types.Metadata():
                return self.of(wanted.type)
            case types.StructType():
                return self._reference(wanted)
            case types.BoolType():
                return (
                    {"anyOf": [{"type": "boolean"}, {"enum": list(YES_AND_NO)}]}
                    if self._settings
                    else {"type": "boolean"}
                )
            case types.IntType() | types.FloatType():
                return _number(wanted)
            case types.StrType():
                return {"type": "string", **({"pattern": _ecma(wanted.pattern)} if wanted.pattern else {})}
            case types.NoneType():
                return {"type": "null"}
            case types.LiteralType():
                return {"enum": list(wanted.values)}
            case types.VarTupleType() | types.ListType():
                listed = {"type": "array", "items": self.of(wanted.item_type)}
                text = self._settings and isinstance(wanted.item_type, types.StrType | types.CustomType)
                return {"anyOf": [listed, {"type": "string"}]} if text else listed
            case types.DictType():
                return {"type": "object", "additionalProperties": self.of(wanted.value_type)}
            case types.UnionType():
                return {"anyOf": [self.of(one) for one in wanted.types]}
            case types.CustomType():
                return dict(_PATTERNS[wanted.cls.__name__])
            case types.AnyType():
                return {}
        raise NotImplementedError(wanted)

    def _reference(self, wanted: types.StructType) -> Schema:
        name = wanted.cls.__name__
        if name not in self.found:
            self.found[name] = {}
            self.found[name] = self._struct(wanted)
        return {"$ref": f"#/$defs/{name}"}

    def _struct(self, wanted: types.StructType) -> Schema:
        about, texts = described(wanted.cls, [field.encode_name for field in wanted.fields])
        properties: dict[str, Schema] = {}
        for field in wanted.fields:
            found = self.of(field.type)
            if self._settings:
                found = {"anyOf": [found, {"type": "null"}]}
            elif texts.get(field.encode_name) and "$ref" in found:
                found = {"allOf": [found]}
            if texts.get(field.encode_name):
                found = {"description": texts[field.encode_name], **found}
            if isinstance(field.default, str | int | float | bool) and not isinstance(field.type, types.CustomType):
                found["default"] = field.default
            properties[field.encode_name] = found
        required = [field.encode_name for field in wanted.fields if field.required and field.default is NODEFAULT]
        return {
            **({"description": about} if about else {}),
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
            "additionalProperties": not wanted.forbid_unknown_fields,
        }


def described(cls: type, fields: Iterable[str]) -> tuple[str, Mapping[str, str]]:
    """The docstring's text about the class, and about each field that it describes."""
    text, known = inspect.getdoc(cls) or "", frozenset(fields)
    if cls.__doc__ is None:
        return "", {}
    marks = [mark for mark in _MARKED.finditer(text) if mark[1] in known]
    ends = [*(mark.start() for mark in marks[1:]), len(text)][: len(marks)]
    about = text[: marks[0].start()] if marks else text
    texts = {
        mark[1]: _plain(text[mark.end() if mark[2] else mark.start() : end])
        for mark, end in zip(marks, ends, strict=True)
    }
    return _plain(about), texts


def _plain(text: str) -> str:
    """One paragraph without reStructuredText's double quotes."""
    return " ".join(text.replace("``", "`").split()).rstrip(";")


def _number(wanted: types.IntType | types.FloatType) -> Schema:
    found: Schema = {"type": "integer" if isinstance(wanted, types.IntType) else "number"}
    if wanted.ge is not None:
        found["minimum"] = wanted.ge
    if wanted.le is not None:
        found["maximum"] = wanted.le
    return found


def _ecma(pattern: str) -> str:
    """A pattern for JSON Schema, which lacks Python's end of text."""
    return pattern.replace(r"\Z", "$")
