"""Lines as they are stored in files: JSON, one per line, with the names by which people know the resources.

The next process, people and `jq` read a file, so it must be complete in itself: it also says whose lines they are, and
which of them a restored store made void. ``ring`` finds lines by the bytes that the functions here return.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from intentc.journal.journal import Entry, Line, Write
from intentc.model import Key, Name

FORMAT = "intentc-journal/v1"


class Called(NamedTuple):
    """A resource by its key, with its name (fq_name joined by ``:``) when the line was kept."""

    kind: str
    uuid: str
    name: str

    @property
    def key(self) -> Key:
        return Key(self.kind, self.uuid)


class Process(msgspec.Struct, frozen=True, tag_field="sort", tag="process"):
    """The process whose lines follow. ``started``: seconds since 1970."""

    format: str
    installation: str
    process: str
    started: float

    @property
    def writer(self) -> str:
        return f"{self.installation}/{self.process}"


class Evaluation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="evaluation"):
    """An ``Entry``. ``at_start``: only the start of its process triggered it."""

    at: float
    revision: int
    intent: Called
    status: str
    claims: int
    path: tuple[Called, ...] = ()
    source_revision: int = 0
    objects: tuple[Name, ...] = ()
    at_start: bool = False

    def line(self) -> Entry:
        """The line as it was in memory."""
        path = tuple(called.key for called in self.path)
        return Entry(
            self.revision,
            self.intent.key,
            path,
            self.status,
            self.claims,
            self.objects,
            self.at,
            self.source_revision,
        )

    def names(self) -> dict[Key, str]:
        """The names of the resources in it."""
        return {called.key: called.name for called in (self.intent, *self.path)}


class Written(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="write"):
    """A ``Write``."""

    at: float
    revision: int
    object: Name
    operation: str
    written: int | None = None
    drift: bool = False
    uuid: str = ""
    fields: tuple[str, ...] = ()

    def line(self) -> Write:
        """The line as it was in memory."""
        return Write(
            self.revision, self.object, self.operation, self.written, self.drift, self.at, self.uuid, self.fields
        )

    def names(self) -> dict[Key, str]:
        """Empty: it names only objects."""
        return {}


class Voided(msgspec.Struct, frozen=True, tag_field="sort", tag="void"):
    """The store was restored to ``revision``: preceding lines of a later revision are void."""

    at: float
    revision: int


Record = Evaluation | Written
PROCESS, VOID = b'{"sort":"process"', b'{"sort":"void"'
"""The first bytes of the lines of these sorts."""

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Process | Evaluation | Written | Voided] = msgspec.json.Decoder(
    Process | Evaluation | Written | Voided
)


def record(line: Line, name_of: Callable[[Key], str], at_start: Callable[[int], bool]) -> Record:
    """The stored form of a line. ``name_of``: the name of a resource, its uuid if none is known."""
    if isinstance(line, Write):
        return Written(
            line.at, line.revision, line.name, line.operation, line.written, line.drift, line.uuid, line.fields
        )
    path = tuple(Called(*key, name_of(key)) for key in line.path)
    origin = path[-1] if path else Called(*line.origin, name_of(line.origin))
    return Evaluation(
        line.at,
        line.revision,
        origin,
        line.status,
        line.claims,
        path,
        line.source_revision,
        line.objects,
        at_start(line.source_revision),
    )


def encoded(item: Process | Record | Voided) -> bytes:
    """One line of a file, with its line end."""
    return _ENCODER.encode(item) + b"\n"


def decoded(text: bytes) -> Process | Record | Voided | None:
    """The inverse; None for an incomplete line or an unknown sort."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return None


def mark_of_object(name: Name) -> bytes:
    """The bytes that every line about an object contains, and no other line."""
    return _ENCODER.encode(name)


def mark_of_resource(key: Key) -> bytes:
    """The bytes that every line contains that names a resource as intent or in a path."""
    return _ENCODER.encode(key)[:-1] + b","
