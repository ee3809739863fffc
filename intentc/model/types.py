"""Builds frozen structs from a schema's type declarations.

A schema file declares structured types by name; kinds use them for properties and reference attributes. Each becomes a
``msgspec`` struct type here, so that decoding validates and freezes in one step. ``loading`` reads the declarations
(YAML, with lines); ``kind.py`` uses the types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from intentc.model.problem import InvalidInput
from intentc.model.values import FrozenMap, Opaque, Value, decode_hook

SCALARS: Mapping[str, tuple[Any, Any]] = {
    "string": (str, ""),
    "integer": (int, 0),
    "number": (float, 0.0),
    "integer_or_string": (int | str, ""),
    "boolean": (bool, False),
    "map": (FrozenMap, FrozenMap()),
    "opaque": (Opaque, Opaque()),
}
"""Type name → (Python type, zero)."""


class FieldSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a schema file describes one field.

    ``type``: a scalar of ``SCALARS`` or a structured type's name; ``list`` instead of it: the type of the elements.
    ``enum``: the values that admission allows (decoding doesn't reject others: an old value must not hide a resource).
    ``required``: admission rejects the structured type without this field (of a property: the resource without it).
    ``default``: what a missing field means, if not zero. ``optional``: a missing field is None, so that one that is
    given and empty differs from it. ``sensitive``: never shown.
    ``sensitive_at``: places in an opaque field that are never shown: ``a.b[].c``, with ``**`` for any depth.
    """

    type: str = ""
    list: str = ""
    enum: tuple[str, ...] = ()
    default: Any = None
    optional: bool = False
    minimum: int | None = None
    maximum: int | None = None
    sensitive: bool = False
    sensitive_at: tuple[str, ...] = ()
    required: bool = False
    description: str = ""

    @classmethod
    def parse(cls, declared: Any, where: str) -> FieldSpec:
        """A field is declared by its type's name alone, or by a mapping. Raises ``InvalidInput``."""
        if isinstance(declared, str):
            return cls(type=declared)
        try:
            spec = msgspec.convert(declared, cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(str(error), source=where) from None
        if bool(spec.type) == bool(spec.list):
            raise InvalidInput("a field has either `type` or `list`", source=where)
        return spec


class TypeTable:
    """The structured types of one compiler's schema, by name."""

    def __init__(self, declared: Mapping[str, Mapping[str, Any]], where: str = "types") -> None:
        self._fields = {
            name: {field: FieldSpec.parse(spec, f"{where}: {name}.{field}") for field, spec in fields.items()}
            for name, fields in declared.items()
        }
        self._built: dict[str, type[Value]] = {}
        self._where = where
        for name in self._fields:
            self.struct(name)

    def struct(self, name: str, _open: tuple[str, ...] = ()) -> type[Value]:
        """The struct type of a declared type. Raises ``InvalidInput`` if it is not declared, or contains itself."""
        if name not in self._built:
            if name not in self._fields:
                raise InvalidInput(f"type {name!r} is not declared; declare it, or use one of {', '.join(SCALARS)}",
                                   source=self._where)  # fmt: skip
            if name in _open:
                raise InvalidInput(f"type {name!r} contains itself", source=self._where)
            fields = [(field, *self.field(spec, (*_open, name))) for field, spec in self._fields[name].items()]
            self._built[name] = build_struct(name, fields)
        return self._built[name]

    def fields(self, name: str) -> Mapping[str, FieldSpec]:
        """The declared fields of a structured type."""
        return self._fields[name]

    def field(self, spec: FieldSpec, _open: tuple[str, ...] = ()) -> tuple[Any, Any]:
        """The Python type and the default of a field."""
        python_type, default = self._given(spec, _open)
        return (python_type | None, None) if spec.optional else (python_type, default)

    def _given(self, spec: FieldSpec, _open: tuple[str, ...]) -> tuple[Any, Any]:
        """The type of a field that is there, and what it means if it isn't."""
        if spec.list:
            element = SCALARS[spec.list][0] if spec.list in SCALARS else self.struct(spec.list, _open)
            return tuple[element, ...], ()  # type: ignore[valid-type]
        if spec.type in SCALARS:
            python_type, zero = SCALARS[spec.type]
        else:
            python_type = self.struct(spec.type, _open)
            zero = python_type()
        if spec.default is None:
            return python_type, zero
        return python_type, msgspec.convert(spec.default, python_type, dec_hook=decode_hook)

    def checked(self, spec: FieldSpec) -> Any:
        """The type with the enum and bounds of the declaration, for admission."""
        python_type, _ = self.field(spec)
        if spec.enum:
            return Literal[spec.enum]
        if spec.minimum is not None or spec.maximum is not None:
            return Annotated[python_type, msgspec.Meta(ge=spec.minimum, le=spec.maximum)]
        return python_type


def build_struct(name: str, fields: list[tuple[str, Any, Any]]) -> type[Value]:
    """A frozen struct type with these (name, type, default) fields."""
    return msgspec.defstruct(name, fields, bases=(Value,), frozen=True, omit_defaults=True, gc=False)  # type: ignore[return-value]
