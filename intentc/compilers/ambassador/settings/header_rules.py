"""Rules for single headers: which ones can be added to messages, and which removed, so that Envoy accepts it.

The readers decide what happens to the others: Mappings, the Module, AuthServices, health checks.

Pure functions of values.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .substitution import HEADER_COMMANDS, mistake
from .traffic import HeaderAddition, HeaderName

MOST_ADDITIONS = 999
"""Envoy accepts a thousand in one place, and one may be added that no user wrote (``add_linkerd_headers``)."""


def addition(name: str, value: Any) -> HeaderAddition:
    """The header ``name`` with its ``value``, or with ``{value, append}``. Raises ``ValueError`` if Envoy would reject
    it."""
    # v2 has only the value where v3alpha1 has {value, append}.
    said = value if isinstance(value, dict) else {"value": value}
    try:
        found = msgspec.convert({**said, "name": name}, HeaderAddition)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    if wrong := _untouchable(name) or _mistaken_value(found.value):
        raise ValueError(wrong)
    return found


def unremovable(name: str) -> str:
    """Why Envoy would reject the removal of the header ``name``; empty if it would not."""
    try:
        msgspec.convert(name, HeaderName)
    except msgspec.ValidationError:
        return "this is not a header name"
    return _untouchable(name)


def _untouchable(name: str) -> str:
    if name.startswith(":") or name.lower() == "host":
        return "Envoy lets nobody add or remove this header; see host_rewrite and rewrite"
    return ""


def _mistaken_value(value: str) -> str:
    if not value.isprintable():
        return "the value has characters that no header can have"
    return mistake(value, HEADER_COMMANDS)
