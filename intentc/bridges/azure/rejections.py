"""Finds the resources that a rejected document is about: by the ids and names in Azure's words, or by halving.

``guilty`` reads what Azure said. ``Search`` finds a guilty owner when Azure named nobody: it says which owners to leave
out of the next document, and learns from the answer, so that few documents are sent (docs/appgw.md, publisher). Who is
found is left out by the compiler, which reads the record ``appgw_rejection``.

Touches: nothing outside memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ID = re.compile(r"/applicationGateways/[^/\s]+/(\w+)/([\w.\-]+)(?:/pathRules/([\w.\-]+))?", re.IGNORECASE)


class Rejection(NamedTuple):
    """Why Azure rejected a document. ``code``, ``message``: Azure's own; ``details``: further ones, each with both."""

    code: str
    message: str
    details: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """All that was said, on one line."""
        return " ".join([f"{self.code}: {self.message}", *(f"{code}: {text}" for code, text in self.details)])


def rejection_of(body: Any) -> Rejection:
    """The rejection in the body of an answer, ``{"error": {code, message, details}}``; whatever else becomes words."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return Rejection("Unknown", str(body)[:500])
    details = error.get("details")
    listed = [item for item in details if isinstance(item, Mapping)] if isinstance(details, list) else []
    further = tuple((str(item.get("code", "")), str(item.get("message", ""))) for item in listed)
    return Rejection(str(error.get("code", "Unknown")), str(error.get("message", "")), further)


def guilty(rejection: Rejection, document: Mapping[str, Any]) -> list[str]:
    """The sub-resources of ``document`` that a rejection names (``httpListeners/fl-…``), sorted.

    Ids count first. Without any, the names of sub-resources count that stand in the message as words; a name that
    several collections have counts for each."""
    known = {
        f"{collection}/{item['name']}".lower(): f"{collection}/{item['name']}"
        for collection, items in (document.get("properties") or {}).items()
        if isinstance(items, list)
        for item in items
        if isinstance(item, Mapping) and "name" in item
    }
    named = {f"{collection}/{name}".rstrip(".").lower() for collection, name, _ in _ID.findall(rejection.words)}
    if found := sorted(known[place] for place in named if place in known):
        return found
    words = set(re.findall(r"[\w\-]+(?:\.[\w\-]+)*", rejection.words.lower()))
    return sorted(place for folded, place in known.items() if folded.partition("/")[2] in words)


class Search:
    """Finds the owner that is the reason of a rejection, among those whose parts are new.

    ``owners``: in precedence; the document with all of them was rejected. Until ``found`` or ``is_none_guilty`` is set,
    send a document without ``left_out``, and call ``learn``. The owner found is the first with which it is rejected,
    though those before it are in."""

    def __init__(self, owners: Sequence[str]) -> None:
        if not owners:
            raise ValueError("a search needs owners")
        self._owners = tuple(owners)
        self._accepted, self._rejected = -1, len(self._owners)
        self.is_none_guilty = False
        """Whether the document is rejected without any of them, too."""

    @property
    def found(self) -> str | None:
        """The guilty owner, None while the search goes on."""
        return self._owners[self._accepted] if 0 <= self._accepted == self._rejected - 1 else None

    @property
    def left_out(self) -> frozenset[str]:
        """The owners to leave out of the next document."""
        return frozenset(self._owners[self._middle :])

    @property
    def _middle(self) -> int:
        return 0 if self._accepted < 0 else (self._accepted + self._rejected) // 2

    def learn(self, was_accepted: bool) -> None:
        """Take note of the answer to the document without ``left_out``."""
        if was_accepted:
            self._accepted = self._middle
        else:
            self.is_none_guilty = self._accepted < 0
            self._rejected = self._middle
