"""Keys and names: a key identifies one life of an object, a name its place in the world; and how kinds and keys are
spelled in URLs and in etcd.

A key (kind and uuid) changes when an object is deleted and created again; a name (kind and fq_name) does not. Intents
are identified by key, desired objects by name. ``ownership.py`` has the uuids and marks of our own objects.

Values and pure functions.
"""

from __future__ import annotations

import re
import string
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

_PLAIN = re.compile(r"[\w.:-]+", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_KEPT = string.punctuation.replace("%", "").replace("/", "")


class Key(NamedTuple):
    """One object for its whole life. Facts have keys as well: their uuid is the fact's name."""

    kind: str
    uuid: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.uuid}"


class Name(NamedTuple):
    """The place of an object: unique per kind at any moment.

    >>> str(Name("farm", ("valley", "north")))
    'farm valley:north'
    """

    kind: str
    fq_name: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind} {':'.join(self.fq_name)}"


def kebab(kind: str) -> str:
    """``virtual_x`` as URLs and ``parent_type`` spell it: ``virtual-x``."""
    return kind.replace("_", "-")


def snake(kind: str) -> str:
    """The way back from ``kebab``."""
    return kind.replace("-", "_")


def is_uuid(text: str) -> bool:
    """Whether a text is a uuid in the form in which uuids are stored."""
    return _UUID.fullmatch(text) is not None


def escaped_segment(stored: str) -> str:
    """A part of an etcd key as printable ASCII without slashes: every other byte, and ``%``, becomes ``%XX``.

    ``stored``: as ``watch`` reads it, bytes that are not UTF-8 as surrogates. A uuid stays as it is."""
    if _PLAIN.fullmatch(stored):
        return stored
    return quote(stored.encode("utf-8", "surrogateescape"), safe=_KEPT)


def stored_segment(escaped: str) -> str:
    """The inverse of ``escaped_segment``."""
    return unquote_to_bytes(escaped).decode("utf-8", "surrogateescape") if "%" in escaped else escaped


def is_escaped(segment: str) -> bool:
    """Whether a part of an etcd key holds what no uuid and no kind holds."""
    return "%" in segment
