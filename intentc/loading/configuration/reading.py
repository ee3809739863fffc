"""Reads the configuration from its file and the environment, with notes about it.

Why it exists: commands need one call that returns a checked configuration, or raises one error with a line number.
A file of resources, or without any known section, is an error, too. ``environment``, ``building`` and ``risks`` do
parts of the work. The notes are about keys that are not read, secrets in the file, and risks. Nothing is logged here,
since the configuration says how to log: callers log the notes once they can.

``Loaded`` keeps the secrets to redact.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from intentc.loading.yaml import Limits, Located, load_documents, read_text, single

from .building import Builder, KeyPath, dotted, secrets_in
from .environment import PREFIX, overlay
from .risks import Note, reject_open_diagnostics, reject_two_modes, reject_unchecked_certificates, risks
from .sections import Configuration, Intentc
from .values import Secret

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
    """Whether a document has one of the forms that ``intentc apply`` takes (``loading.resources``)."""
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
