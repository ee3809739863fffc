"""Finds out what in a document Azure rejects: from the message the sub-resources, or by halving the Ingress.

``rejection_of`` reads an answer, ``named_parts`` the ids and names in its message. ``OwnerSearch`` is for messages that
name nothing: it says which owners to leave out of the next document, and learns from Azure's answer (docs/appgw.md
§11). Nothing here sends anything, or decides what is left out: ``publisher`` and ``rejected_ingresses`` do.

State: what one search has learned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_ID = re.compile(r"/applicationGateways/[^/\s]+/(\w+)/([\w.\-]+)(?:/pathRules/([\w.\-]+))?", re.IGNORECASE)


class Rejection(NamedTuple):
    """Why Azure rejected a document. ``code`` and ``message`` are Azure's; ``details`` are further pairs of the two."""

    code: str
    message: str
    details: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        """The codes and messages, on one line."""
        return " ".join([f"{self.code}: {self.message}", *(f"{code}: {text}" for code, text in self.details)])


def rejection_of(body: Any) -> Rejection:
    """The rejection in an answer's body, ``{"error": {code, message, details}}``.

    A body of another form becomes the message, cut to 500 characters, with the code ``Unknown``."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return Rejection("Unknown", str(body)[:500])
    details = error.get("details")
    listed = [item for item in details if isinstance(item, Mapping)] if isinstance(details, list) else []
    further = tuple((str(item.get("code", "")), str(item.get("message", ""))) for item in listed)
    return Rejection(str(error.get("code", "Unknown")), str(error.get("message", "")), further)


def named_parts(rejection: Rejection, document: Mapping[str, Any]) -> list[str]:
    """The sub-resources of ``document`` that the rejection names, sorted, as ``httpListeners/fl-…``.

    If the message contains ids of sub-resources, it names those. Otherwise it names each sub-resource whose name is a
    word of the message, in every collection that has one of that name."""
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


class OwnerSearch:
    """Finds the owner because of which Azure rejects a document, by halving.

    ``owners`` are in order of precedence; the document with all of them was rejected. Until ``found`` or ``has_failed``
    is set, send a document without ``left_out``, and report the answer to ``learn``. The owner found is the first
    one in this order with which the document is rejected."""

    def __init__(self, owners: Sequence[str]) -> None:
        if not owners:
            raise ValueError("a search needs owners")
        self._owners = tuple(owners)
        self._accepted, self._rejected = -1, len(self._owners)
        self.has_failed = False
        """Whether the search ended without an owner: the document is rejected even without all of them."""

    @property
    def found(self) -> str | None:
        """The owner found; None until then."""
        return self._owners[self._accepted] if 0 <= self._accepted == self._rejected - 1 else None

    @property
    def left_out(self) -> frozenset[str]:
        """The owners to leave out of the next document."""
        return frozenset(self._owners[self._middle :])

    @property
    def _middle(self) -> int:
        return 0 if self._accepted < 0 else (self._accepted + self._rejected) // 2

    def learn(self, was_accepted: bool) -> None:
        """Record Azure's answer to the document without ``left_out``."""
        if was_accepted:
            self._accepted = self._middle
        else:
            self.has_failed = self._accepted < 0
            self._rejected = self._middle
