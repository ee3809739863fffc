"""Converts values of resources to plain JSON, and to typed values with their checks (``settings/traffic.py``).

The schema's structs hold what users wrote. Whether it makes sense (a policy without its header, an invalid duration) is
checked by the types of the intermediate representation, in one place for all readers of such a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_BOOLEAN = bool | None


def plain(value: Any) -> Any:
    """Converts the value of a resource's field to plain JSON: structs without unset fields, maps, and opaque values.

    None for an opaque value that is not set.
    """
    if isinstance(value, Mapping) and not value:
        return {}
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_plain))


def typed(value: Any, wanted: type[T]) -> T:
    """The value of a resource's field as a ``wanted``. Raises ``ValueError`` with the path and the mistake."""
    return converted(plain(value), wanted)  # type: ignore[no-any-return]


def converted(value: Any, wanted: Any) -> Any:
    """Plain JSON as a ``wanted``. Raises ``ValueError`` with the path inside it and the mistake."""
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def mistake_in(value: Any, wanted: Any) -> str:
    """What is wrong with plain JSON as a ``wanted``; empty if nothing is."""
    try:
        converted(value, wanted)
    except ValueError as error:
        return str(error)
    return ""


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts that may also be one text with commas. Raises ``ValueError``."""
    found = plain(value)
    if found is None:
        return ()
    if isinstance(found, str):
        return tuple(one.strip() for one in found.split(",") if one.strip())
    return typed(value, tuple[str, ...])


def boolean(value: Any) -> bool | None:
    """A boolean that may be missing. Raises ``ValueError``."""
    return typed(value, _BOOLEAN) if value else None  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return msgspec.json.decode(value.text) if value.text else None
