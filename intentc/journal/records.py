"""Lines as they stand in files: JSON, one a line, with the names by which people know the resources.

A file is read by the next process, by people, and by `jq`; so it needs nothing but itself. Names and revisions are all
that it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from intentc.model import Key, Name

from .entries import Entry, Line, Write

FORMAT = "intentc-journal/v1"


class Called(NamedTuple):
    """A resource by its key, with its name (fq_name joined by ``:``) as it was when the line was kept."""

    kind: str
    uuid: str
    name: str

    @property
    def key(self) -> Key:
        return Key(self.kind, self.uuid)


class Process(msgspec.Struct, frozen=True, tag_field="sort", tag="process"):
    """Whose lines follow. ``started``: seconds since 1970."""

    format: str
    installation: str
    process: str
    started: float

    @property
    def writer(self) -> str:
        return f"{self.installation}/{self.process}"


class Evaluation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="sort", tag="evaluation"):
    """An ``Entry``. ``at_start``: nothing but the start of its process led to it."""

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
        """The same as it was in memory."""
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
        """What the resources in it were called."""
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
        """The same as it was in memory."""
        return Write(
            self.revision, self.object, self.operation, self.written, self.drift, self.at, self.uuid, self.fields
        )

    def names(self) -> dict[Key, str]:
        """It names objects only."""
        return {}


class Voided(msgspec.Struct, frozen=True, tag_field="sort", tag="void"):
    """The store was put back to ``revision``: what stands before this line and is of a later one never was."""

    at: float
    revision: int


Record = Evaluation | Written
PROCESS, VOID = b'{"sort":"process"', b'{"sort":"void"'
"""How the lines of these sorts begin."""

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Process | Evaluation | Written | Voided] = msgspec.json.Decoder(
    Process | Evaluation | Written | Voided
)


def record(line: Line, name_of: Callable[[Key], str], at_start: Callable[[Entry], bool]) -> Record:
    """A line as it is kept. ``name_of``: the name of a resource, its uuid if none is known."""
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
        at_start(line),
    )


def encoded(item: Process | Record | Voided) -> bytes:
    """One line of a file, with its end."""
    return _ENCODER.encode(item) + b"\n"


def decoded(text: bytes) -> Process | Record | Voided | None:
    """The way back; None for what is torn or of no known sort."""
    try:
        return _DECODER.decode(text)
    except msgspec.MsgspecError:
        return None


def mark_of_object(name: Name) -> bytes:
    """What stands in every line that is about an object, and in no other."""
    return _ENCODER.encode(name)


def mark_of_resource(key: Key) -> bytes:
    """What stands in every line that names a resource as intent or in a path."""
    return _ENCODER.encode(key)[:-1] + b","
