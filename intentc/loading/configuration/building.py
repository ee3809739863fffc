"""Builds sections from plain values, key by key, so that each error names a place and a remedy.

Converting a whole file at once would name a path inside a value; a person needs the file's line, or the environment
variable, and the key that was probably meant. A key with ``_file`` behind its name gives the value in that file.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from intentc.loading.convert import did_you_mean, in_words
from intentc.model import InvalidInput

from .sections import Section
from .setting_types import AtLeast, FilePath, PrefixInEtcd, Secret, Settings, decode_setting

KeyPath = tuple[str | int, ...]
_Section = TypeVar("_Section", bound=Section)
FILE_SUFFIX = "_file"

_MISSPELT = 0.75
"""The similarity at which an unknown key of a shared section counts as a misspelling of ours: two letters of four
exchanged."""

_BOOLEANS = {"yes": True, "on": True, "y": True, "no": False, "off": False, "n": False}


def dotted(path: KeyPath) -> str:
    """``("etcd", "endpoints", 0)`` → ``etcd.endpoints.0``."""
    return ".".join(map(str, path))


class Builder:
    """Builds sections and collects findings.

    ``passed_over``: keys of other programs; ``unknown``: keys of the file that no program is known to read;
    ``literal_secrets``: keys of secrets that the file contains; ``secret_files``: key → the file with its secret.

    ``source(path)`` returns the origin of a value: ``file:line``, or an environment variable. ``variables``: the paths
    that the environment sets; all of them are meant for intentc, so that an unknown one is an error.
    """

    def __init__(self, source: Callable[[KeyPath], str], variables: Container[KeyPath] = ()) -> None:
        self._source = source
        self._variables = variables
        self.passed_over: list[str] = []
        self.unknown: list[KeyPath] = []
        self.literal_secrets: list[KeyPath] = []
        self.secret_files: dict[KeyPath, Path] = {}

    def section(self, wanted: type[_Section], raw: Any, path: KeyPath = ()) -> _Section:
        """Build a section from a mapping. Raises ``InvalidInput`` naming source, key, and what to do."""
        if not isinstance(raw, Mapping):
            raise self._error(path, f"{dotted(path) or 'the file'} must be a mapping of keys to values")
        fields = typing.get_type_hints(wanted, include_extras=True)
        known = {field.name: fields[field.name] for field in msgspec.structs.fields(wanted)}
        given: dict[str, Any] = {}
        for key, value in raw.items():
            where = (*path, str(key))
            if key in known:
                if value is not None:
                    given[key] = self._value(known[key], value, where)
            elif self._is_file_of(key, known):
                base = key.removesuffix(FILE_SUFFIX)
                if raw.get(base) not in (None, ""):
                    raise self._error(where, f"both {dotted((*path, base))} and {dotted(where)} are set; keep one")
                if value is not None:
                    given[base] = self._from_file(known[base], value, where)
            else:
                self._unknown(wanted, known, key, where)
        return wanted(**given)

    def _value(self, wanted: Any, value: Any, path: KeyPath) -> Any:
        origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
        if isinstance(wanted, type) and issubclass(wanted, Section):
            return self.section(wanted, value, path)
        if origin is tuple and isinstance(value, str):
            value = value.replace(",", " ").split()
        if origin is tuple and isinstance(value, list) and _is_section(arguments[0]):
            return tuple(self._value(arguments[0], item, (*path, index)) for index, item in enumerate(value))
        if origin is dict and isinstance(value, Mapping) and _is_section(arguments[1]):
            return {str(key): self._value(arguments[1], item, (*path, str(key))) for key, item in value.items()}
        if wanted is bool and isinstance(value, str):
            value = _BOOLEANS.get(value.lower(), value)
        try:
            converted = msgspec.convert(value, wanted, strict=False, dec_hook=decode_setting)
        except (msgspec.ValidationError, ValueError) as error:
            inner, words = in_words(error, wanted)
            at = dotted(path) + (inner if inner.startswith("[") else f".{inner}" if inner else "")
            raise self._error(path, f"{at}: {words}") from None
        if wanted is Secret and converted:
            self.literal_secrets.append(path)
        for bound in arguments[1:] if origin is Annotated else ():
            if isinstance(bound, AtLeast | PrefixInEtcd) and (lack := bound.lack(converted)):
                raise self._error(path, f"{dotted(path)}: {lack}")
        if isinstance(converted, FilePath):
            converted.key, converted.source = dotted(path), self._source(path)
        if isinstance(converted, Settings):
            converted.sources = {name: self._source((*path, name)) for name in converted}
        return converted

    def _from_file(self, wanted: Any, name: Any, path: KeyPath) -> Any:
        """Read a value from a file of its own. A secret stays bound to the file; others are read once."""
        try:
            secret = Secret.of_file(Path(str(name)))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise self._error(path, f"{dotted(path)}: {name} can't be read: {reason}") from None
        if wanted is Secret:
            self.secret_files[path] = Path(str(name))
            return secret
        return self._value(wanted, secret.reveal(), path)

    @staticmethod
    def _is_file_of(key: Any, known: Mapping[str, Any]) -> bool:
        return (
            isinstance(key, str)
            and key.endswith(FILE_SUFFIX)
            and key.removesuffix(FILE_SUFFIX) in known
            and not _is_section(known[key.removesuffix(FILE_SUFFIX)])
        )

    def _unknown(self, wanted: type[Section], known: Mapping[str, Any], key: Any, path: KeyPath) -> None:
        if key not in wanted.passed_over:
            misspelt = difflib.get_close_matches(str(key).lower(), known, 1, cutoff=_MISSPELT)
            if wanted.closed or misspelt or path in self._variables:
                hint = f"; did you mean {misspelt[0]}?" if misspelt else did_you_mean(str(key), known)
                raise self._error(path, f"unknown key {dotted(path)}{hint}")
            self.unknown.append(path)
            return
        self.passed_over.append(dotted(path))

    def _error(self, path: KeyPath, message: str) -> InvalidInput:
        return InvalidInput(message, source=self._source(path), reason="InvalidConfiguration")


def secrets_in(value: Any) -> Iterator[Secret]:
    """All secrets in a section, for the filter that keeps them out of logs."""
    if isinstance(value, Secret):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from secrets_in(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from secrets_in(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from secrets_in(item)


def _is_section(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, Section)
