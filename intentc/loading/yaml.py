"""Reads untrusted YAML (and so JSON) into plain values with line numbers.

Why not ``yaml.safe_load``: it lets a kilobyte of aliases grow into gigabytes, silently takes the last of two equal
keys, turns the key ``on`` into ``True`` and ``1:1`` into 61, and forgets line numbers. Here the parser's events become
values in one pass, within limits, by YAML 1.2's rules for plain scalars.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from intentc.model.files import read_regular
from intentc.model.problem import InvalidInput

Steps = tuple[str | int, ...]
"""The position of a value in a document: keys and list positions from its root."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_STRING_TAGS = ("!", "tag:yaml.org,2002:str")
_COLLECTION_TAGS = ("!", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")
_MAXIMUM_DIGITS = 300
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)
"""Surrogate pairs: JSON writes rare characters as two escapes, which YAML rejects."""


class Limits(NamedTuple):
    """The limits of one text.

    ``size`` in bytes, ``depth`` of nesting, number of ``aliases``, number of ``copies`` that they make (each node
    counts once per alias), and number of all ``nodes``. ``json_keys``: keys must read as texts, as those of JSON are.
    """

    size: int = 256 * 1024 * 1024
    depth: int = 64
    aliases: int = 1_000
    copies: int = 200_000
    nodes: int = 20_000_000
    json_keys: bool = False


class Located:
    """One document: ``value`` (dicts with string keys, lists, scalars; None if it is empty) and ``source``, the file's
    name as errors show it."""

    def __init__(self, value: Any, source: str, first_line: int = 1, lines: dict[int, Any] | None = None) -> None:
        self.value = value
        self.source = source
        self.first_line = first_line
        self._lines = lines or {}

    def line(self, path: Steps = ()) -> int:
        """The line (from 1) of the value at ``path``; for an absent one that of the nearest value around it."""
        line, value = self.first_line, self.value
        for step in path:
            try:
                line = self._lines[id(value)][step]
                value = value[step]
            except (KeyError, IndexError, TypeError):
                break
        return line

    def where(self, path: Steps = ()) -> str:
        """``file:line`` of the value at ``path``."""
        return f"{self.source}:{self.line(path)}"

    def error(self, message: str, path: Steps = (), reason: str = "InvalidInput") -> InvalidInput:
        """An error about the value at ``path``, ready to be raised."""
        return InvalidInput(message, source=self.where(path), reason=reason)


def load_yaml(text: str | Path, *, source: str = "", limits: Limits = Limits()) -> Located:  # noqa: B008
    """Read the one document in ``text``, or in the file if it is a ``Path``. ``source``: the file's name for errors.

    The file must be regular: services read such files again, when a pipe would be empty or never answer. Raises
    ``InvalidInput`` naming file and line if it can't be read, exceeds a limit, or holds several documents.
    """
    if isinstance(text, Path):
        source = source or str(text)
        text = read_text(text, limits, regular=True)
    documents = parse_documents(text, source=source, limits=limits)
    return single(documents, source)


def single(documents: list[Located], source: str) -> Located:
    """The only one of ``documents``; an empty one if there are none. Raises ``InvalidInput`` if there are several."""
    if len(documents) > 1:
        raise documents[1].error("one document is expected here; take the `---` out, or split the file")
    return documents[0] if documents else Located(None, source or "<text>")


def load_documents(text: str | Path, *, source: str = "", limits: Limits = Limits()) -> list[Located]:  # noqa: B008
    """Read all documents in ``text``, or in the file if it is a ``Path``; empty ones are left out."""
    if isinstance(text, Path):
        source = source or str(text)
        text = read_text(text, limits)
    return parse_documents(text, source=source, limits=limits)


def parse_documents(text: str, *, source: str = "", limits: Limits = Limits()) -> list[Located]:  # noqa: B008
    """All documents in ``text``; empty ones are left out. Raises ``InvalidInput``."""
    if len(text) > limits.size:
        raise InvalidInput(f"text is larger than {limits.size} bytes", source=source)
    source = source or "<text>"
    if text.lstrip()[:1] in ("{", "["):
        text = _SURROGATES.sub(_as_one_character, text)
    return [document for document in _Events(text, source, limits).documents() if document.value is not None]


def read_text(path: Path, limits: Limits = Limits(), *, regular: bool = False) -> str:  # noqa: B008
    """The text of a file. ``regular``: a pipe or a device won't do. Raises ``InvalidInput`` if it isn't there, is too
    large, or is no UTF-8."""
    try:
        if regular:
            raw = read_regular(path, limits.size + 1)
        else:
            with path.open("rb") as file:
                raw = file.read(limits.size + 1)
        if len(raw) > limits.size:
            raise InvalidInput(f"file is larger than {limits.size} bytes; split it", source=str(path))
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"can't be read: {error.strerror}", source=str(path), reason="NotReadable") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InvalidInput("is not UTF-8; save it as UTF-8", source=f"{path}:{line}") from None


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _as_one_character(match: re.Match[str]) -> str:
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


class _Anchor(NamedTuple):
    """A value that aliases repeat; the number of nodes in it, and of levels below it."""

    value: Any
    size: int
    height: int


class _Events:
    """One pass over the parser's events. Lines are kept per container (by ``id``, the values keep them alive)."""

    def __init__(self, text: str, source: str, limits: Limits) -> None:
        self._text = text
        self._source = source
        self._limits = limits
        self._anchors: dict[str, _Anchor] = {}
        self._aliases = 0
        self._copies = 0
        self._nodes = 0
        self._deepest = 0
        self._lines: dict[int, Any] = {}

    def documents(self) -> Iterator[Located]:
        events = yaml.parse(self._text, Loader=_LOADER)
        try:
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    self._anchors, self._lines = {}, {}
                    root = next(events)
                    value = self._value(root, events, 1)
                    yield Located(value, self._source, _line(root), self._lines)
        except yaml.MarkedYAMLError as error:
            mark, begun = error.problem_mark or error.context_mark, error.context_mark
            line = min(mark.line, self._text.count("\n")) + 1 if mark else 1
            if self._is_indented_with_a_tab(line):
                source = f"{self._source}:{line}"
                raise InvalidInput("is no valid YAML: a tab; indent with spaces", source=source) from None
            context = f" {error.context}" if error.context else ""
            if context and begun and begun.line + 1 != line:
                context += f" that begins in line {begun.line + 1}"
            raise InvalidInput(f"is no valid YAML: {error.problem}{context}", source=f"{self._source}:{line}") from None
        except yaml.YAMLError as error:
            # The reader's error: a forbidden character; it has a position only.
            line = self._text.count("\n", 0, getattr(error, "position", 0) or 0) + 1
            raise InvalidInput(
                f"is no valid YAML: {getattr(error, 'reason', error)}", source=f"{self._source}:{line}"
            ) from None

    def _is_indented_with_a_tab(self, line: int) -> bool:
        """Whether a line (from 1) begins with a tab, or with blanks and a tab."""
        text = self._text.split("\n")[line - 1]
        return "\t" in text[: len(text) - len(text.lstrip())]

    def _error(self, event: yaml.Event, message: str) -> InvalidInput:
        return InvalidInput(message, source=f"{self._source}:{_line(event)}")

    def _unsupported(self, event: Any) -> InvalidInput:
        return self._error(event, f"tag {event.tag} is not supported; write the value plainly")

    def _count(self, event: yaml.Event, number: int) -> None:
        self._nodes += number
        if self._nodes > self._limits.nodes:
            raise self._error(event, f"has more than {self._limits.nodes} values with aliases expanded")

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, depth)
        self._reach(event, depth)
        before, deepest = self._nodes, self._deepest
        self._deepest = depth
        self._count(event, 1)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif event.tag not in (None, *_COLLECTION_TAGS):  # type: ignore[attr-defined]
            raise self._unsupported(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(events, depth)
        else:
            value = self._mapping(events, depth)
        if event.anchor:  # type: ignore[attr-defined]
            found = _Anchor(value, self._nodes - before, self._deepest - depth)
            self._anchors[event.anchor] = found  # type: ignore[attr-defined]
        self._deepest = max(self._deepest, deepest)
        return value

    def _reach(self, event: yaml.Event, depth: int) -> None:
        """Note that a value is at this depth. Raises ``InvalidInput`` if that is too deep."""
        if depth > self._limits.depth:
            raise self._error(event, f"is nested deeper than {self._limits.depth} levels")
        self._deepest = max(self._deepest, depth)

    def _alias(self, event: yaml.AliasEvent, depth: int) -> Any:
        if event.anchor not in self._anchors:
            raise self._error(event, f"alias *{event.anchor} names no earlier anchor, or the one that contains it")
        self._aliases += 1
        if self._aliases > self._limits.aliases:
            raise self._error(event, f"has more than {self._limits.aliases} aliases")
        value, size, height = self._anchors[event.anchor]
        self._reach(event, depth + height)
        self._copies += size
        if self._copies > self._limits.copies:
            raise self._error(event, f"has more than {self._limits.copies} values from aliases")
        self._count(event, size)
        return copy.deepcopy(value)

    def _sequence(self, events: Iterator[yaml.Event], depth: int) -> list[Any]:
        found: list[Any] = []
        lines: list[int] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            lines.append(_line(event))
            found.append(self._value(event, events, depth + 1))
        self._lines[id(found)] = lines
        return found

    def _mapping(self, events: Iterator[yaml.Event], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lines: dict[str, int] = {}
        merged: list[Any] = []
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise self._error(event, "a key must be a plain text")
            if event.tag not in (None, *_STRING_TAGS):
                raise self._unsupported(event)
            key = event.value
            if self._limits.json_keys and not isinstance(self._scalar(event), str):
                raise self._error(event, f"the key {key} is no text; write it in quotes")
            if key in lines:
                raise self._error(event, f"duplicate key {key!r}, first in line {lines[key]}; keep one of them")
            lines[key] = _line(event)
            value = self._value(next(events), events, depth + 1)
            if key == "<<" and event.implicit[0]:
                merged += value if isinstance(value, list) else [value]
                if not all(isinstance(part, dict) for part in merged):
                    raise self._error(event, "<< takes a mapping or a list of mappings")
                continue
            found[key] = value
        for part in merged:
            for key, value in part.items():
                found.setdefault(key, value)
        self._lines[id(found)] = lines
        return found

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text: str = event.value
        if event.tag is not None and event.tag not in _STRING_TAGS:
            raise self._unsupported(event)
        if event.tag or not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if text[0] in "+-.0123456789":
            if _INTEGER.fullmatch(text):
                if len(text) > _MAXIMUM_DIGITS:
                    raise self._error(event, "number is too long")
                return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
            if _FLOAT.fullmatch(text):
                number = float(text)
                if math.isinf(number):
                    raise self._error(event, "number is too large")
                return number
        return text
