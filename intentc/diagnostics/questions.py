"""Defines what the diagnostics read: a process with a status, and the reader that answers questions about a compiler.

Why protocols: a bridge serves the diagnostics without an engine. It is a ``Process`` and has no ``Reader``.
``inspection.Reader`` is the one of a compiler.

A question is a value, which the functions below read from the parameters of a request. They reject unknown and
out-of-range parameters by name: if a misspelt one were ignored, the answer would be to another question. Pure.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from enum import Enum, StrEnum
from typing import Any, NamedTuple, Protocol


class ObjectState(StrEnum):
    """The state of an object or an intent; docs/why.md explains them."""

    AS_DESIRED = "as desired"
    WAITING = "waiting"
    HELD = "held"
    REJECTED = "rejected"
    DELAYED = "delayed"
    CONTENDED = "contended"
    PAUSED = "paused"
    PLANNED = "planned"
    QUEUED = "queued"
    WITHHELD = "withheld"
    ABSENT = "absent"


STATES = tuple(map(str, ObjectState))

MOST_OFFSET = 10**9
NEWEST = 10**15
"""Larger than any sequence of a journal: ``before`` in a query for the last lines."""
DEFAULT_ROWS = 100
MOST_ROWS = 500

Row = dict[str, Any]


class Process(Protocol):
    """A running compiler or bridge."""

    def healthy(self) -> bool:
        """Return whether the process works; if not, it should be restarted."""
        ...

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Return whether the first list was applied and the store answers; and the reasons if not."""
        ...

    def status(self) -> dict[str, Any]:
        """Return the JSON values of ``/status``. Readers ignore missing keys, among them: ``converged``, ``healthy``,
        ``applied_revision``, ``role``, ``queue`` {name: depth}, ``counts`` and ``counters`` {name: number}, ``held``
        [text], ``pending_work`` [text: what it waits for; empty if converged and etcd answers], ``attention`` [text:
        what a person must do]. ``metrics`` names those with figures."""
        ...

    def pending(self) -> list[dict[str, str]]:
        """Return the references whose target does not exist: ``{"holder", "relation", "target"}`` each."""
        ...


class Reader(Protocol):
    """Answers questions about a running compiler. No answer contains a secret, and none changes anything."""

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        """Name → ``{"description": text, "columns": [text]}``, as in ``/views``."""
        ...

    async def rows(self, view: str, wanted: Callable[[Row], bool], /) -> list[Row]:
        """Return the ``wanted`` rows of ``view`` in their order: column → JSON value. ``wanted`` is called in any
        thread. Raises ``KeyError`` if there is no such view."""
        ...

    async def ask(self, question: Question, /) -> dict[str, Any]:
        """Return the JSON values of the answer; docs/diagnostics.md has the keys of each. Raises ``Unanswerable``."""
        ...

    def follow(self, after: int, /) -> AsyncIterator[dict[str, Any]]:
        """Yield the journal's lines after this sequence, then each new line. A slow follower misses some. Raises
        ``Unanswerable``."""
        ...


class NamedAs(Enum):
    """What the candidates of an answer are: fq_names, kinds, or both (``KIND NAME``)."""

    NAMES = "names"
    KINDS = "kinds"
    KINDS_AND_NAMES = "kinds and names"


class Unanswerable(Exception):
    """A question without an answer. ``status``: as in HTTP (400: a wrong question; 404: nothing of that name; 409:
    several). ``next_step``: what to do; ``candidates``: possible meanings: names of the requested kind, or other
    ``NamedAs``."""

    def __init__(
        self,
        status: int,
        error: str,
        next_step: str = "",
        candidates: tuple[str, ...] = (),
        named_as: NamedAs = NamedAs.NAMES,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.next_step = next_step
        self.candidates = candidates
        self.named_as = named_as


class Why(NamedTuple):
    """Why an object exists or doesn't. ``name``: an fq_name joined by ``:``, a uuid, or a unique end of an fq_name.
    ``part``: only parts with this text in their name or value; of those ``limit`` from ``offset`` on."""

    kind: str
    name: str
    part: str = ""
    offset: int = 0
    limit: int = 100


class ObjectQuery(NamedTuple):
    """Selects resources of ``kind`` (empty: any) with ``text`` in their name or uuid, in ``state`` (empty: any); of
    these, ``limit`` from ``offset`` on."""

    kind: str = ""
    text: str = ""
    state: str = ""
    offset: int = 0
    limit: int = 50


class Comparison(NamedTuple):
    """One object, actual and desired, and the fields that differ."""

    kind: str
    name: str


class Neighbourhood(NamedTuple):
    """The objects within ``depth`` relations of an object; only of ``kinds``, if there are any."""

    kind: str
    name: str
    depth: int = 1
    kinds: tuple[str, ...] = ()


class Pending(NamedTuple):
    """A page of the references whose target does not exist."""

    offset: int = 0
    limit: int = 100


class Quarantine(NamedTuple):
    """A page of what is held, rejected or paused."""

    offset: int = 0
    limit: int = 100


class Reactions(NamedTuple):
    """The reaction map and its findings."""


class JournalQuery(NamedTuple):
    """Selects at most ``limit`` lines after the sequence ``after``, about one object or intent (``kind``, ``name``), of
    one ``sort`` (``evaluation``, ``write``); empty: any. ``before``: the last ``limit`` lines before this sequence."""

    after: int = 0
    limit: int = 100
    kind: str = ""
    name: str = ""
    sort: str = ""
    before: int = 0


Question = Why | ObjectQuery | Comparison | Neighbourhood | Pending | Quarantine | Reactions | JournalQuery


class RowQuery(NamedTuple):
    """Selects rows of a view. ``text``: occurs in the row, regardless of case; ``equal``: column → its value, or an
    entry of its list; of the selected rows, ``limit`` from ``offset`` on."""

    offset: int = 0
    limit: int = DEFAULT_ROWS
    text: str = ""
    equal: tuple[tuple[str, str], ...] = ()

    def wants(self, row: Row) -> bool:
        return all(value in _texts(row.get(column)) for column, value in self.equal) and (
            not self.text or any(self.text in text.lower() for value in row.values() for text in _texts(value))
        )


def _texts(value: Any) -> set[str]:
    """Return every text and number in a value, also within lists and objects."""
    if isinstance(value, dict):
        return {text for inner in value.values() for text in _texts(inner)}
    if isinstance(value, list | tuple):
        return {text for inner in value for text in _texts(inner)}
    return {str(value).lower() if isinstance(value, bool) else str(value)}


class BadQuery(ValueError):
    """An invalid query; the message says what is wrong and what is valid."""


def only(parameters: Mapping[str, str], *known: str) -> None:
    """Raise ``BadQuery`` for parameters other than the ``known`` ones and ``pretty``, which every path takes."""
    for name in parameters:
        if name not in known and name != "pretty":
            there = f"there are {', '.join(known)}" if known else "there are none"
            raise BadQuery(f"no parameter {name!r}; {there}")


def number(parameters: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Read a whole number in its range; ``default`` if it isn't given. Raises ``BadQuery``."""
    text = parameters.get(name, "")
    if not text:
        return default
    if text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most:
        return int(text)
    raise BadQuery(f"{name} is {text!r}; it is a number from {least} to {most}")


def offset_of(parameters: Mapping[str, str]) -> int:
    """Read the offset of a page. Raises ``BadQuery``."""
    return number(parameters, "offset", 0, 0, MOST_OFFSET)


def choice(parameters: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """Read one of ``choices``; empty if it isn't given. Raises ``BadQuery``."""
    text = parameters.get(name, "")
    if not text or text in choices:
        return text
    raise BadQuery(f"{name} is {text!r}; there are {', '.join(choices)}")


def named(parameters: Mapping[str, str], path: str) -> tuple[str, str]:
    """Read ``kind`` and ``name``. Raises ``BadQuery``."""
    found = []
    for name in ("kind", "name"):
        text = parameters.get(name, "").strip()
        if not text:
            example = f"{path}?kind=KIND&name=NAME (a name: fq_name joined by ':', its end, or a uuid)"
            raise BadQuery(f"{name} is missing; ask as in {example}")
        found.append(text)
    return found[0], found[1]


def why_query(given: Mapping[str, str]) -> Why:
    only(given, "kind", "name", "part", "offset", "limit")
    return Why(*named(given, "/why"), given.get("part", ""), *_paged(given))


def object_query(given: Mapping[str, str]) -> ObjectQuery:
    only(given, "kind", "filter", "state", "offset", "limit")
    state = choice(given, "state", STATES)
    kind, text = given.get("kind", "").strip(), given.get("filter", "").strip()
    return ObjectQuery(kind, text, state, *_paged(given, 50))


def comparison_query(given: Mapping[str, str]) -> Comparison:
    only(given, "kind", "name")
    return Comparison(*named(given, "/object"))


def neighbourhood_query(given: Mapping[str, str]) -> Neighbourhood:
    only(given, "kind", "name", "depth", "kinds")
    depth = number(given, "depth", 1, 1, 4)
    return Neighbourhood(*named(given, "/neighbourhood"), depth, kinds_of(given.get("kinds", "")))


def kinds_of(text: str) -> tuple[str, ...]:
    """Return the kinds in a text that separates them by commas."""
    return tuple(kind.strip() for kind in text.split(",") if kind.strip())


def pending_query(given: Mapping[str, str]) -> Pending:
    only(given, "offset", "limit")
    return Pending(*_paged(given))


def quarantine_query(given: Mapping[str, str]) -> Quarantine:
    only(given, "offset", "limit")
    return Quarantine(*_paged(given))


def reactions_query(given: Mapping[str, str]) -> Reactions:
    only(given)
    return Reactions()


def journal_query(given: Mapping[str, str]) -> JournalQuery:
    only(given, "after", "before", "limit", "kind", "name", "sort")
    if given.get("after") and given.get("before"):
        raise BadQuery("both after and before are given; ask for one of them")
    if given.get("name") and not given.get("kind"):
        raise BadQuery("a name is given without its kind; ask as in /journal?kind=K&name=N")
    return JournalQuery(
        after=number(given, "after", 0, 0, NEWEST),
        limit=number(given, "limit", 100, 1, 500),
        kind=given.get("kind", "").strip(),
        name=given.get("name", "").strip(),
        sort=choice(given, "sort", ("evaluation", "write")),
        before=number(given, "before", 0, 0, NEWEST),
    )


def row_query(given: Mapping[str, str], columns: Collection[str]) -> RowQuery:
    """Read ``offset``, ``limit``, ``filter``, and column names. Raises ``BadQuery``."""
    equal = {name: value for name, value in given.items() if name not in ("offset", "limit", "filter", "pretty")}
    for name in equal:
        if name not in columns:
            raise BadQuery(f"no parameter {name!r}; there are offset, limit, filter, and columns: {', '.join(columns)}")
    return RowQuery(*_paged(given), given.get("filter", "").lower(), tuple(sorted(equal.items())))


def _paged(given: Mapping[str, str], default: int = DEFAULT_ROWS) -> tuple[int, int]:
    return offset_of(given), number(given, "limit", default, 1, MOST_ROWS)
