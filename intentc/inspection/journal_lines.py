"""Renders the journal as JSON: pages of lines, new lines, and the evaluation or write that a ``/why`` answer cites.

``history`` finds the lines about one object.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec

from intentc.diagnostics.questions import JournalQuery, Unanswerable
from intentc.engine.live import Live
from intentc.inspection.finding import kind_of
from intentc.inspection.history import BEFORE, JOURNAL, RecordedLine
from intentc.inspection.identities import of_key, of_name
from intentc.journal import Entry, Line, TooManyFollowers, Write
from intentc.model import Key, Name
from intentc.model.matching import fits

DROPPED = "a line that the journal has dropped"
ELSEWHERE = "another process"

_OBJECTS = 10
"""Objects of one line that are shown; ``objects_total`` counts all."""
_FIELDS = 20
"""Of one write."""
_MOST_BYTES = 180_000
"""JSON of the lines in one answer; the next page has the rest."""
_IN_A_ROW = 500
"""Lines read before the loop gets its turn."""

Document = dict[str, Any]


async def journal(live: Live, query: JournalQuery) -> Document:
    """Answer ``GET /journal``: the matching lines, the oldest first, as many as fit into one answer. ``more``: whether
    further lines match. ``kind``: the requested kind in its declared spelling. Raises ``Unanswerable`` for an unknown
    kind."""
    if query.kind:
        query = query._replace(kind=kind_of(live, query.kind).name)
    kept = live.journal
    first, last, lines = kept.first, kept.last, tuple(kept)
    sequences = range(max(first, query.after + 1), min(last + 1, query.before or last + 1))
    wanted = _Wanted(live, query)
    found: list[Document] = []
    size, more = 0, False
    for number, sequence in enumerate(reversed(sequences) if query.before else sequences):
        if number % _IN_A_ROW == _IN_A_ROW - 1:
            await asyncio.sleep(0)
        line = lines[sequence - first]
        if not wanted(line):
            continue
        document = line_document(live, RecordedLine(line, JOURNAL, "", sequence))
        size += len(msgspec.json.encode(document))
        if len(found) >= query.limit or (found and size > _MOST_BYTES):
            more = True
            break
        found.append(document)
    found = found[::-1] if query.before else found
    return {"first": first, "last": last, "more": more, "kind": query.kind, "lines": found}


async def follow(live: Live, after: int) -> AsyncIterator[Document]:
    """Yield the lines after this sequence, then each new line. ``missed`` in a line: how many lines before it a slow
    follower has missed. Raises ``Unanswerable`` if there are too many followers."""
    try:
        async with aclosing(live.journal.follow(after)) as deliveries:
            async for missed, lines in deliveries:
                for place, one in enumerate(lines):
                    document = line_document(live, RecordedLine(one.line, JOURNAL, "", one.sequence))
                    yield document if place or not missed else {**document, "missed": missed}
    except TooManyFollowers as error:
        raise Unanswerable(503, str(error), "close a page that shows the journal, or ask /journal?after=") from None


def line_document(live: Live, recorded: RecordedLine) -> Document:
    """Return one line as JSON: ``LINE`` of ``docs/why.md``."""
    named = _Naming(live, recorded.names)
    line = recorded.line
    common: Document = {
        "sequence": recorded.sequence,
        "at": line.at,
        "revision": line.revision,
        "written": None,
        "drift": False,
        "fields": [],
        "by": recorded.by if recorded.by not in ("", live.journal.writer) else None,
    }
    if isinstance(line, Write):
        return {
            **common,
            "sort": "write",
            "intent": None,
            "path": [],
            "source": None,
            "status": None,
            "claims": None,
            "objects": [],
            "objects_total": 0,
            "object": named.object(line.name, line.uuid),
            "operation": line.operation,
            "written": line.written,
            "drift": line.drift,
            "fields": list(line.fields[:_FIELDS]),
        }
    source = {**named.key(line.path[0]), "revision": line.source_revision or None} if line.path else None
    return {
        **common,
        "sort": "evaluation",
        "intent": named.key(line.origin),
        "path": [named.key(key) for key in line.path],
        "source": source,
        "status": line.status,
        "claims": line.claims,
        "objects": [named.object(name) for name in line.objects[:_OBJECTS]],
        "objects_total": len(line.objects),
        "object": None,
        "operation": None,
    }


def evaluation_document(live: Live, intent: Key, recorded: RecordedLine | None) -> Document:
    """Return an entry of ``evaluations`` in ``GET /why``: ``{"intent", "status", "revision", "at", "path",
    "recorded_in"}``."""
    named = _Naming(live, recorded.names if recorded is not None else {})
    line = recorded.line if recorded is not None else None
    if recorded is None or not isinstance(line, Entry):
        return {
            "intent": named.key(intent),
            "status": None,
            "revision": None,
            "at": None,
            "path": None,
            "recorded_in": BEFORE if live.journal.first == 1 else DROPPED,
        }
    return {
        "intent": named.key(intent),
        "status": line.status,
        "revision": line.revision,
        "at": line.at,
        "path": None if recorded.recorded_in == BEFORE else [named.key(key) for key in line.path],
        "recorded_in": recorded.recorded_in,
    }


def written_document(recorded: RecordedLine | None) -> Document | None:
    """Return ``written`` in ``GET /why``: ``{"operation", "revision", "at", "by"}``."""
    if recorded is None or not isinstance(recorded.line, Write):
        return None
    line = recorded.line
    return {"operation": line.operation, "revision": line.written, "at": line.at, "by": recorded.by}


class _Naming:
    """Names resources by their present name, else by their former one, else by their uuid."""

    def __init__(self, live: Live, names: dict[Key, str]) -> None:
        self._world = live.world
        self._former = live.journal.names
        self._names = names

    def key(self, key: Key) -> Document:
        document = of_key(self._world, key)
        if document["name"] == key.uuid:
            document["name"] = self._names.get(key) or self._former.get(key) or key.uuid
        return document

    def object(self, name: Name, uuid: str = "") -> Document:
        document = of_name(self._world, name)
        document["uuid"] = document["uuid"] or uuid
        return document


class _Wanted:
    """Tests whether a line matches a query. Names are compared as texts, so deleted resources match as well."""

    def __init__(self, live: Live, query: JournalQuery) -> None:
        self._name_of = _Naming(live, {}).key
        self._sort = query.sort
        self._kind = query.kind
        self._name = query.name
        self._known: dict[Key, bool] = {}

    def __call__(self, line: Line) -> bool:
        if self._sort and (self._sort == "write") is not isinstance(line, Write):
            return False
        if not (self._kind or self._name):
            return True
        if isinstance(line, Write):
            return self._is_name(line.name, line.uuid)
        return any(map(self._is_key, (line.origin, *line.path))) or any(map(self._is_name, line.objects))

    def _is_key(self, key: Key) -> bool:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._fits(key.kind, self._name_of(key)["name"], key.uuid)
        return known

    def _is_name(self, name: Name, uuid: str = "") -> bool:
        return self._fits(name.kind, ":".join(name.fq_name), uuid)

    def _fits(self, kind: str, name: str, uuid: str) -> bool:
        if self._kind and kind != self._kind:
            return False
        wanted = self._name
        return not wanted or wanted == uuid or fits(name, wanted)
