"""Reads the configuration from its file and from variables, with notes about it.

``INTENTC_ETCD__PASSWORD`` sets ``etcd.password``: a variable names a key by its path in capitals with two underscores
between the parts, and overrides the file. A variable that is meant for intentc and sets nothing is an error, and so is
a file of resources, or one without any known section. The notes are about keys that are not read, secrets in the file,
and risks; callers log them, since the configuration says how to log.
"""

from __future__ import annotations

import copy
import difflib
import functools
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from intentc.loading.yaml import Limits, Located, load_documents, read_text, single
from intentc.model import InvalidInput

from .building import Builder, KeyPath, dotted, secrets_in
from .risks import Note, reject_open_diagnostics, reject_two_modes, reject_unchecked_certificates, risks
from .sections import Configuration, Intentc, Section
from .setting_types import Secret

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


_LIMITS = Limits(size=4 * 1024 * 1024)
"""The size limit of a configuration; a larger file is not one."""
_KNOWN = frozenset({*Configuration.__struct_fields__, *Configuration.passed_over})
_OF_RESOURCES = frozenset({"resources", "kind", "apiVersion"})
"""Keys at the top of a file of resources; no section of any program's configuration has such a name."""
RESOURCES = "Resources"
"""The reason of the error for a file that holds resources in place of a configuration."""


class Loaded(NamedTuple):
    """A configuration, the notes about it, its secrets, and the file that it was read from."""

    configuration: Configuration
    notes: tuple[Note, ...]
    kept: tuple[Secret, ...]
    file: Path | None = None

    def secrets(self) -> frozenset[str]:
        """The texts that must never be shown: the current secrets, and those before a rotation."""
        return frozenset(text for secret in self.kept for text in secret.texts if text)


def load(path: Path | None, environ: Mapping[str, str]) -> Loaded:
    """Load the configuration from the file ``path`` (None: defaults only), overridden by ``environ``.

    Raises ``InvalidInput`` naming ``file:line`` or the variable, the key, and what was probably meant.
    """
    located = _document(path) if path is not None else Located(None, "<defaults>")
    raw: Any = copy.deepcopy(located.value) if located.value is not None else {}
    if not isinstance(raw, dict):
        raise located.error("the file must be a mapping of sections; see sample/contrail.yml", reason="Malformed")
    variables = overlay(raw, environ)

    def source(where: KeyPath) -> str:
        named = tuple(map(str, where))
        while named:
            if named in variables:
                return variables[named]
            named = named[:-1]
        return located.where(where)

    builder = Builder(source, variables)
    configuration = builder.section(Configuration, raw)
    _reject_without_a_section(located)
    reject_unchecked_certificates(configuration, source)
    reject_open_diagnostics(configuration, source)
    reject_two_modes(configuration, source)
    notes = [*_notes(builder, variables, located), *risks(configuration, builder.secret_files)]
    return Loaded(configuration, tuple(notes), tuple(secrets_in(configuration)), path)


def _document(path: Path) -> Located:
    """The document in a file. Raises ``InvalidInput``, also if the file holds resources."""
    source = str(path)
    documents = load_documents(read_text(path, _LIMITS, regular=True), source=source, limits=_LIMITS)
    for document in documents:
        if _holds_resources(document.value):
            raise document.error("these are resources, not a configuration", reason=RESOURCES)
    return single(documents, source)


def _holds_resources(value: Any) -> bool:
    """Whether a document has one of the forms that ``intentc apply`` takes (``loading.resource_files``)."""
    if isinstance(value, list):
        return any(isinstance(entry, dict) and "kind" in entry for entry in value)
    return isinstance(value, dict) and not _OF_RESOURCES.isdisjoint(value)


def _reject_without_a_section(located: Located) -> None:
    """Raise ``InvalidInput`` for a file without any known key: the service would run with the defaults."""
    raw = located.value or {}
    if not raw or any(key in _KNOWN or key.removesuffix("_file") in _KNOWN for key in raw):
        return
    own = [key for key in raw if key in Intentc.__struct_fields__]
    hint = f"; {', '.join(own)} belongs below `intentc:`" if own else ""
    keys = ", ".join(sorted(map(str, raw)))
    raise located.error(
        f"this is no configuration: unknown are {keys}{hint}; see sample/contrail.yml", reason="Malformed"
    )


def _notes(builder: Builder, variables: Mapping[tuple[str, ...], str], located: Located) -> list[Note]:
    notes = []
    if builder.passed_over:
        keys = ", ".join(sorted(builder.passed_over))
        notes.append(Note(False, f"{located.source}: ignored keys of other programs: {keys}"))
    if builder.unknown:
        keys = ", ".join(f"{dotted(path)} (line {located.line(path)})" for path in builder.unknown)
        own = [dotted(path) for path in builder.unknown if path[0] in Intentc.__struct_fields__]
        hint = f"; below intentc there are keys of these names: {', '.join(own)}" if own else ""
        notes.append(Note(True, f"{located.source}: unknown keys, which change nothing here: {keys}{hint}"))
    literal = [path for path in builder.literal_secrets if tuple(map(str, path)) not in variables]
    if literal:
        keys = ", ".join(f"{dotted(path)} (line {located.line(path)})" for path in literal)
        last = literal[0][-1]
        variable = PREFIX + "__".join(str(part).upper() for part in literal[0])
        notes.append(
            Note(True, f"{located.source}: the file contains secrets: {keys}; use {last}_file or {variable} instead")
        )
    return notes
