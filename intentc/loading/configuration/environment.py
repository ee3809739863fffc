"""Applies settings from the environment: ``INTENTC_ETCD__PASSWORD`` sets ``etcd.password``.

Why it exists: containers get their secrets and addresses this way. A variable names a key by its path in capitals with
two underscores between the parts; it overrides the file. A variable that is meant for intentc and sets nothing is an
error. ``building`` checks the values, and the keys below the first part.

``overlay`` reads the environment that it gets, and writes settings into the mapping that it gets. State: the known
keys, listed once.
"""

from __future__ import annotations

import difflib
import functools
import typing
from collections.abc import Mapping
from typing import Any

import msgspec

from intentc.model import InvalidInput

from .sections import Configuration, Intentc, Section

PREFIX = "INTENTC_"
_SEPARATOR = "__"
_FILE_SUFFIX = "_file"
_OWN = "intentc"
_MISSPELT = 0.8


def overlay(raw: dict[str, Any], environ: Mapping[str, str]) -> dict[tuple[str, ...], str]:
    """Write the settings in ``environ`` into ``raw`` (in place) and return key path → variable.

    A variable without two underscores counts only if it names a single value of the top level: orchestrators set
    variables such as ``INTENTC_PORT`` in every container next to a service of that name. Raises ``InvalidInput`` naming
    a variable that is meant for intentc and sets nothing, and the one that was probably meant.
    """
    known = {path[0] for path in _keys(Configuration)}
    scalars = {path[0] for path in _keys(Configuration) if len(path) == 1}
    found: dict[tuple[str, ...], str] = {}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX):
            continue
        path = tuple(part.lower() for part in variable.removeprefix(PREFIX).split(_SEPARATOR))
        if len(path) == 1 and path[0] not in scalars:
            _check_single(variable, path[0], scalars)
            continue
        if path[0] not in known:
            raise _unknown(variable, path, known)
        holder = raw
        for part in path[:-1]:
            below = holder.get(part)
            if not isinstance(below, dict):
                below = holder[part] = {}
            holder = below
        # The file's value under the other spelling of the key is overridden as well.
        key = path[-1]
        holder.pop(key.removesuffix(_FILE_SUFFIX) if key.endswith(_FILE_SUFFIX) else key + _FILE_SUFFIX, None)
        holder[key] = environ[variable]
        found[path] = variable
    return found


def _variable(*path: str) -> str:
    return PREFIX + _SEPARATOR.join(path).upper()


def _check_single(variable: str, name: str, scalars: set[str]) -> None:
    """Raise for a single underscore where two are needed, and for a misspelt single value."""
    for path in _keys(Configuration):
        for spelling in (path, path[1:] if path[0] == _OWN else path):
            if name.removesuffix(_FILE_SUFFIX) == "_".join(spelling) and len(path) > 1:
                suffix = _FILE_SUFFIX if name.endswith(_FILE_SUFFIX) and not path[-1].endswith(_FILE_SUFFIX) else ""
                raise _without_effect(variable, _variable(*path[:-1], path[-1] + suffix))
    if meant := difflib.get_close_matches(name, scalars, 1, cutoff=_MISSPELT):
        raise _without_effect(variable, _variable(meant[0]))


def _unknown(variable: str, path: tuple[str, ...], known: set[str]) -> InvalidInput:
    if path[0] in {field.name for field in msgspec.structs.fields(Intentc)}:
        return _without_effect(variable, _variable(_OWN, *path))
    meant = difflib.get_close_matches(path[0], known, 1, cutoff=0.6)
    return _without_effect(variable, _variable(meant[0], *path[1:]) if meant else "")


def _without_effect(variable: str, meant: str) -> InvalidInput:
    hint = f"did you mean {meant}?" if meant else "see sample/contrail.yml for what can be set"
    return InvalidInput(f"{variable} sets nothing; {hint}", source=variable, reason="InvalidConfiguration")


@functools.cache
def _keys(section: type[Section]) -> tuple[tuple[str, ...], ...]:
    """The paths of all single settings below a section."""
    found: list[tuple[str, ...]] = []
    hints = typing.get_type_hints(section)
    for field in msgspec.structs.fields(section):
        wanted = hints[field.name]
        if isinstance(wanted, type) and issubclass(wanted, Section):
            found += ((field.name, *path) for path in _keys(wanted))
        else:
            found.append((field.name,))
    return tuple(found)
