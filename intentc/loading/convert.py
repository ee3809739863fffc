"""Converts plain values with line numbers to typed values, with errors that a person can act on.

``msgspec`` reports a path in the value (``$.routes[3].prefix``) and the expected types. Here that becomes ``file:line``
and words for people, and an unknown key gets the nearest known ones. ``in_words``, ``unknown_field`` and
``did_you_mean`` do the same for values and names without lines, also for other packages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from intentc.model.matching import suggestion
from intentc.model.problem import InvalidInput

from .yaml import Located, Steps

T = TypeVar("T")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`")
_ENUM = re.compile(r"Invalid enum value (?P<given>.*)")
_TYPE = re.compile(r"Expected `(?P<wanted>[^`]*)`(?P<bounds>[^,`]*)(?:, got `(?P<given>[^`]*)`)?(?P<rest>.*)")
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_TYPE_WORDS = {
    "object": "an object", "array": "a list", "str": "a string", "int": "an integer", "float": "a number",
    "bool": "true or false", "null": "empty", "list": "a list",
}  # fmt: skip


def convert(located: Located, wanted: type[T], path: Steps = ()) -> T:
    """Convert the value at ``path`` to ``wanted``, strictly. Raises ``InvalidInput`` naming file, line and key."""
    value = located.value
    for step in path:
        value = value[step]
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise explained(located, path, error, wanted) from None


def in_words(error: Exception, wanted: Any = None) -> tuple[str, str]:
    """Describe a failed conversion for people: (path of the field, what is wrong with it).

    The path is as in ``a.b[0].c``, empty for the whole value; the description may follow it: ``must be a list, is an
    integer``. ``wanted``: the target type, whose allowed values are listed then.
    """
    message, _, inner = str(error).partition(" - at `")
    path = inner.removesuffix("`")
    return path.removeprefix("$").removeprefix("."), _in_words(message, wanted, _steps(path))


def _in_words(message: str, wanted_type: Any, steps: Steps) -> str:
    enum = _ENUM.fullmatch(message)
    values = _values(_type_at(wanted_type, steps)) if enum and wanted_type is not None else []
    if enum and values:
        return f"must be {' or '.join(filter(None, (', '.join(values[:-1]), values[-1])))}, is {enum['given']}"
    missing = _MISSING.fullmatch(message)
    if missing:
        return f"`{missing['name']}` is missing"
    found = _TYPE.fullmatch(message)
    if not found or found["rest"]:
        return message
    bounds = found["bounds"]
    for sign, words in _BOUNDS.items():
        bounds = bounds.replace(f" {sign} ", f" {words} ")
    wanted = " or ".join(_TYPE_WORDS.get(part, part) for part in found["wanted"].split(" | ") if part != "null")
    given = found["given"]
    return f"must be {wanted}{bounds}" + (f", is {_TYPE_WORDS.get(given, given)}" if given else "")


def unknown_field(error: msgspec.ValidationError, wanted: Any) -> tuple[str, str] | None:
    """The path and hint (``did_you_mean``) of an unknown field, if a conversion to ``wanted`` failed at one."""
    message, _, inner = str(error).partition(" - at `")
    unknown = _UNKNOWN.fullmatch(message)
    if unknown is None:
        return None
    path = inner.removesuffix("`").removeprefix("$").removeprefix(".")
    known = fields_at(wanted, _steps(inner.removesuffix("`")))
    return ".".join(filter(None, (path, unknown["name"]))), did_you_mean(unknown["name"], known)


def explained(located: Located, path: Steps, error: msgspec.ValidationError, wanted: Any = None) -> InvalidInput:
    """The ``InvalidInput`` for ``error``, raised for the value at ``path``, with file and line."""
    message, _, inner = str(error).partition(" - at `")
    inner_steps = steps = _steps(inner.removesuffix("`"))
    unknown = _UNKNOWN.fullmatch(message)
    name = unknown["name"] if unknown else None
    known = fields_at(wanted, steps) if name is not None and wanted is not None else []
    value = located.value
    for step in path:
        value = value[step]
    pinned = _pinned(value, steps, name)
    is_exact, steps = len(pinned) == len(steps), (*path, *pinned)
    if name is None:
        at = ".".join(map(str, steps))
        words = _in_words(message, wanted, inner_steps)
        words = words if is_exact else f"something in it: {words}"
        return located.error(f"{at}: {words}" if at else words, steps)
    steps = (*steps, name)
    at = ".".join(map(str, steps))
    return located.error(f"unknown key {at!r}{did_you_mean(name, known)}", steps, "UnknownKey")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to append to an error: the nearest known names, or all of at most 20."""
    names = sorted(known)
    return suggestion(name, names, 2) or (f"; known are {', '.join(names)}" if 0 < len(names) <= 20 else "")


def fields_at(wanted: Any, steps: Steps) -> list[str]:
    """The field names of the struct type at ``steps`` in the type ``wanted``; [] if it is no struct."""
    found = _struct(_type_at(wanted, steps))
    return [field.encode_name for field in found.fields] if found else []


def _type_at(wanted: Any, steps: Steps) -> msgspec.inspect.Type | None:
    kind: msgspec.inspect.Type | None = msgspec.inspect.type_info(wanted)
    for step in steps:
        kind = _below(kind, step)
    return kind


def _values(kind: msgspec.inspect.Type | None) -> list[str]:
    """The values of an enumeration without the empty one, which means unset."""
    parts = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    literals = (part.values for part in parts if isinstance(part, msgspec.inspect.LiteralType))
    return [str(value) for values in literals for value in values if value != ""]


def _struct(kind: msgspec.inspect.Type | None) -> msgspec.inspect.StructType | None:
    if isinstance(kind, msgspec.inspect.UnionType):
        return next((part for part in kind.types if isinstance(part, msgspec.inspect.StructType)), None)
    return kind if isinstance(kind, msgspec.inspect.StructType) else None


def _below(kind: msgspec.inspect.Type | None, step: str | int) -> msgspec.inspect.Type | None:
    parts = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
    for part in parts:
        if isinstance(part, msgspec.inspect.StructType):
            return next((field.type for field in part.fields if field.encode_name == step), None)
        if isinstance(part, msgspec.inspect.DictType):
            return part.value_type
        if isinstance(part, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
            return part.item_type
    return None


def _steps(text: str) -> Steps:
    """``$.a[3].b`` → ("a", 3, "b"); a key of a mapping, which msgspec does not report, is ``...``."""
    return tuple(name or (index if index == "..." else int(index)) for name, index in _STEP.findall(text))


def _pinned(value: Any, steps: Steps, name: str | None) -> Steps:
    """``steps`` with each ``...`` replaced by the key that leads to a mapping with ``name``.

    Truncated at the first one that can't be determined.
    """
    if not steps:
        return ()
    step, rest = steps[0], steps[1:]
    if step != "...":
        return (step, *_pinned(value[step], rest, name))
    for key, below in value.items():
        if name is not None and _holds(below, rest, name):
            return (key, *_pinned(below, rest, name))
    return ()


def _holds(value: Any, steps: Steps, name: str) -> bool:
    if not steps:
        return isinstance(value, dict) and name in value
    if steps[0] == "...":
        return isinstance(value, dict) and any(_holds(below, steps[1:], name) for below in value.values())
    try:
        return _holds(value[steps[0]], steps[1:], name)
    except (KeyError, IndexError, TypeError):
        return False
