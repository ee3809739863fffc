"""Frozen values of resources' fields, and their conversion from and to JSON.

A kind's structured types become ``msgspec`` structs (``types.py``) derived from ``Value``: every field has a default,
so that missing, null, ``{}``, ``[]`` and zero are equal unless the schema declares another default (docs/engine.md
§2.3), and two values are equal exactly if they mean the same. Nothing here knows a kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec


class Value(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The base of all structured types. False if every field has its default."""

    def __bool__(self) -> bool:
        return self != type(self)()


_FROZEN = frozenset({str, int, bool, float, type(None)})
"""The types of JSON's scalars, which most values are; whether one is a ``Mapping`` takes longer to find out."""


class FrozenMap(Mapping[str, Any]):
    """A JSON object with free keys (labels): a mapping that can't be changed, with a hash."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | None = None) -> None:
        self._items = {key: freeze(value) for key, value in sorted((items or {}).items())}

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenMap) and self._items == other._items

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


class Opaque:
    """JSON that a schema does not describe: kept as canonical text, compared by it, never looked into."""

    __slots__ = ("text",)

    def __init__(self, value: Any = None) -> None:
        self.text = "" if value in (None, {}, []) else _SORTED.encode(value).decode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __repr__(self) -> str:
        return f"Opaque({self.text})"


def freeze(value: Any) -> Any:
    """Lists to tuples, dicts to ``FrozenMap``, at every depth. A named tuple stays one."""
    if type(value) in _FROZEN:
        return value
    if isinstance(value, list | tuple):
        items = [freeze(item) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    return FrozenMap(value) if isinstance(value, Mapping) else value


def thaw(value: Any) -> Any:
    """The inverse of ``freeze``, structs included: plain JSON values."""
    return msgspec.json.decode(ENCODER.encode(value))


def decode_hook(wanted: type, value: Any) -> Any:
    """For ``msgspec`` decoders: how our own two types are made from plain JSON."""
    if wanted is FrozenMap:
        if not isinstance(value, dict):
            raise ValueError(f"Expected `object`, got `{type(value).__name__}`")
        return FrozenMap(value)
    if wanted is Opaque:
        return Opaque(value)
    raise NotImplementedError(wanted)


def encode_hook(value: Any) -> Any:
    """For ``msgspec`` encoders: the way back."""
    if isinstance(value, FrozenMap):
        return value._items
    if isinstance(value, Opaque):
        return msgspec.Raw(value.text.encode()) if value.text else {}
    raise NotImplementedError(type(value))


ENCODER = msgspec.json.Encoder(enc_hook=encode_hook)
"""Encodes any value of this module to JSON."""

_SORTED = msgspec.json.Encoder(enc_hook=encode_hook, order="sorted")


def without_nulls(value: Any) -> Any:
    """Plain JSON without nulls at any depth: null means "not set"."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def values_at(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The strings found under ``path`` (field names; ``[]`` flattens a list), empty ones left out.

    >>> farm = FrozenMap({"crops": ("barley", "", "rye")})
    >>> list(values_at(farm, ("crops", "[]")))
    ['barley', 'rye']
    """
    # Level by level: this is done for every arriving resource, and a generator per step and element costs more than
    # decoding it.
    level = [value]
    for step in path:
        if step == "[]":
            level = [item for one in level for item in one or ()]
        else:
            level = [one.get(step) if type(one) is FrozenMap else getattr(one, step, None) for one in level]
            level = [one for one in level if one is not None]
        if not level:
            return
    for one in level:
        if type(one) is FrozenMap:
            yield from (f"{key}={item}" for key, item in one.items())
        elif one not in (None, ""):
            yield str(one)


def split_path(text: str) -> tuple[str, ...]:
    """``a.b[].c`` → ``("a", "b", "[]", "c")``."""
    return tuple(part for part in text.replace("[]", ".[]").split(".") if part)
