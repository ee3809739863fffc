"""Converts structs to JSON Schema, so that editors propose what the program accepts.

The structs are those into which ``loading`` reads the configuration and kinds' files.

Descriptions come from docstrings: the text after ``name``: describes that field. ``json_schemas`` knows the files and
adds to their schemas.

State: ``Definitions`` collects the schemas of the structs that it converted.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import NODEFAULT
from msgspec import inspect as types

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
"""The settings' own types (``configuration.values``)."""


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
