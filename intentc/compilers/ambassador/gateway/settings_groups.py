"""Reads groups of settings in a Module (``gzip``, ``buffer``, ``keepalive`` …), key by key.

One odd key should not disable its group: Emissary's users write ``enabled`` in groups without such a setting, and keys
of other versions. An unknown key is a problem of its own, and the others apply. A wrong value is left out alone, unless
nothing else is set in the group and ``enabled`` is not true. A group with a required key (``buffer``,
``load_balancer``, ``retry_policy``) is left out as a whole, whichever value is wrong. ``settings/module_settings.py``
and ``settings/traffic.py`` define the groups.

Problems are added to the list that the caller passes; nothing else is changed.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from ..settings.traffic import Settings

ENABLED = "enabled"
"""Enables or disables a group, even one without this field: a group that is present is enabled."""
OFF = object()
"""Replaces a group that ``enabled: false`` disables."""

NO_EFFECT: Mapping[str, str] = {
    "config.diagnostics.allow_non_local": "who can reach the diagnostics follows from the address where they listen",
}
"""Keys of groups that Emissary reads and that have no effect here → where to set this instead."""


class Finding(NamedTuple):
    """A problem of one key: a CamelCase reason, and what is wrong and happens now."""

    reason: str
    message: str


def read_group(value: Any, wanted: Any, where: str, findings: list[Finding]) -> Any:
    """Returns ``value`` without what can't be used, with a finding for each; ``OFF`` if it is disabled.

    Returns it unchanged if ``wanted`` is not a group, or ``value`` not an object. Raises ``ValueError`` if the group
    can't be used at all.
    """
    group = _group(wanted)
    if group is None or not isinstance(value, dict):
        return value
    given = _known(value, group, where, findings)
    switched_on = value.get(ENABLED) is True
    if ENABLED in value and ENABLED not in group.__struct_fields__:
        if not isinstance(value[ENABLED], bool):
            raise ValueError(f"{ENABLED}: true or false is expected")
        if not value[ENABLED]:
            return OFF
    if any(field.required for field in msgspec.structs.fields(group)):
        return given
    fields = get_type_hints(group, include_extras=True)
    wrong: list[Finding] = []
    for key in sorted(given):
        message = _mistake(given[key], fields[key])
        if message:
            wrong.append(Finding("InvalidSetting", f"{where}.{key}: {message}; it is left out"))
            del given[key]
    if wrong and not given and not switched_on:
        raise ValueError(wrong[0].message.removeprefix(f"{where}.").removesuffix("; it is left out"))
    findings += wrong
    return given


def read_list(values: Iterable[Any], group: type[Settings], where: str, findings: list[Finding]) -> list[Any]:
    """A list of groups, each without unknown keys. The caller checks their values."""
    return [
        _known(value, group, f"{where}[{position}]", findings) if isinstance(value, dict) else value
        for position, value in enumerate(values)
    ]


def _known(value: dict[str, Any], group: type[Settings], where: str, findings: list[Finding]) -> dict[str, Any]:
    """The keys that ``group`` knows, including nested groups; a finding for each unknown one."""
    found: dict[str, Any] = {}
    fields = get_type_hints(group, include_extras=True)
    for key, item in value.items():
        path = f"{where}.{key}"
        if key in fields:
            inner = _group(fields[key])
            found[key] = _known(item, inner, path, findings) if inner and isinstance(item, dict) else item
        elif path in NO_EFFECT:
            findings.append(Finding("NoEffect", f"{path} has no effect: {NO_EFFECT[path]}"))
        elif key != ENABLED:
            findings.append(Finding("UnknownSetting", f"{path} is not a setting{_near(key, fields)}; it is left out"))
    return found


def _mistake(value: Any, wanted: Any) -> str:
    """What is wrong with ``value`` as a ``wanted``; empty if nothing is."""
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _group(wanted: Any) -> type[Settings] | None:
    """The struct among the alternatives of a type."""
    if get_origin(wanted) is Annotated:
        return _group(get_args(wanted)[0])
    alternatives = get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    return next((one for one in alternatives if isinstance(one, type) and issubclass(one, Settings)), None)


def _near(name: str, names: Iterable[str]) -> str:
    found = get_close_matches(name, list(names), 1)
    return f"; did you mean {found[0]}?" if found else ""
