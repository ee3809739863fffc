"""Diagnostics without an engine: the two sides that the application asks, with answers in the shapes of the real ones.

Use it for tests of pages, JSON and commands that ask a compiler. The answers are plain dictionaries and lists, which a
test changes where it is about them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

from intentc.diagnostics.questions import (
    Comparison,
    JournalQuery,
    Neighbourhood,
    ObjectQuery,
    Pending,
    Quarantine,
    Question,
    Reactions,
    Row,
    Unanswerable,
    Why,
)

NOW = 1_790_000_000.0


def resource(kind: str, name: str) -> dict[str, Any]:
    """``RESOURCE``: the uuid follows from the name."""
    return {"kind": kind, "name": name, "uuid": f"uuid-of-{name}"}


WEB = resource("security_group", "d:shop:web")
DATABASE = resource("security_group", "d:shop:database")
INGRESS = resource("access_control_list", "d:shop:web:ingress-access-control-list")


def line(sequence: int, **changed: Any) -> dict[str, Any]:
    """``LINE`` of an evaluation of ``WEB``, which a change of ``DATABASE`` led to."""
    return {
        "sequence": sequence,
        "at": NOW + sequence,
        "sort": "evaluation",
        "revision": 40 + sequence,
        "intent": WEB,
        "path": [DATABASE, WEB],
        "source": DATABASE,
        "status": "done",
        "claims": 2,
        "objects": [INGRESS],
        "object": None,
        "operation": None,
        "written": None,
        "drift": False,
        "fields": [],
        "by": None,
        **changed,
    }


def write(sequence: int, **changed: Any) -> dict[str, Any]:
    """``LINE`` of a write of ``INGRESS``."""
    return line(
        sequence,
        **{
            "sort": "write",
            "intent": None,
            "path": [],
            "source": None,
            "status": "",
            "claims": 0,
            "objects": [],
            "object": INGRESS,
            "operation": "update",
            "written": 50 + sequence,
            **changed,
        },
    )


def why_of(subject: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """The answer about a lower-level object that is as desired."""
    reason = {"intent": WEB, "sources": [{**WEB, "revision": 41, "field": "security_group_entries.policy_rule[0]"}]}
    return {
        "apiVersion": "intentc/v1",
        **subject,
        "exists": True,
        "revision": 52,
        "role": "output",
        "summary": "It exists because of security_group d:shop:web.",
        "state": "as desired",
        "waiting_for": [],
        "problems": [],
        "ownership": "ours",
        "owners": [WEB],
        "parts": [
            {"part": "", "reasons": [{"intent": WEB, "sources": [{**WEB, "revision": 41, "field": ""}]}]},
            {"part": "access_control_list_entries.acl_rule[0]", "reasons": [reason]},
        ],
        "parts_total": 2,
        "reads": [{**WEB, "revision": 41}, {**DATABASE, "revision": 42}],
        "reads_total": 2,
        "evaluations": [
            {
                "intent": WEB,
                "status": "done",
                "revision": 42,
                "at": NOW,
                "path": [DATABASE, WEB],
                "recorded_in": "journal",
            }
        ],
        "written": {"operation": "update", "revision": 52, "at": NOW, "by": "intentc/host-1"},
        "history": [line(1), write(2)],
        "outputs": [],
        "outputs_total": 0,
        "missing": [],
        "concerns": [],
        **changed,
    }


class Answered:
    """A ``Reader``: every answer is an attribute; ``queries`` are those for objects, neighbourhoods and the journal;
    ``rejections``: type of question → the error that it gets."""

    def __init__(self) -> None:
        self.quarantined: list[dict[str, Any]] = []
        self.listed: list[dict[str, Any]] = [
            {**WEB, "revision": 41, "role": "input", "ours": False, "state": "as desired", "problems": 0},
            {**DATABASE, "revision": 42, "role": "input", "ours": False, "state": "held", "problems": 1},
            {**INGRESS, "revision": 52, "role": "output", "ours": True, "state": "as desired", "problems": 0},
        ]
        self.reasons: dict[tuple[str, str], dict[str, Any]] = {
            (subject["kind"], subject["name"]): why_of(subject) for subject in (WEB, DATABASE, INGRESS)
        }
        self.compared: dict[str, Any] = {
            "revision": 52,
            "actual": {"display_name": "ingress", "access_control_list_entries": {"dynamic": False}},
            "desired": {"access_control_list_entries": {"dynamic": True}},
            "differences": [{"field": "access_control_list_entries.dynamic", "actual": False, "desired": True}],
        }
        self.around: dict[str, Any] = {
            "center": "access_control_list/uuid-of-" + INGRESS["name"],
            "nodes": [
                {"id": f"{one['kind']}/{one['uuid']}", **one, "role": role, "depth": depth}
                for one, role, depth in ((INGRESS, "output", 0), (WEB, "input", 1))
            ],
            "edges": [
                {
                    "from": f"{WEB['kind']}/{WEB['uuid']}",
                    "to": f"{INGRESS['kind']}/{INGRESS['uuid']}",
                    "relation": "child",
                    "made": True,
                }
            ],
            "cut": False,
        }
        self.map: dict[str, Any] = {
            "kinds": ["access_control_list", "project", "security_group"],
            "compiled": ["security_group"],
            "edges": [
                {
                    "kind": "security_group",
                    "cause": "self",
                    "to": "security_group",
                    "everyone": False,
                    "source": "reactions/contrail.yml:12",
                },
                {
                    "kind": "project",
                    "cause": "self",
                    "to": "security_group",
                    "everyone": True,
                    "source": "reactions/contrail.yml:15",
                },
            ],
            "findings": [
                {
                    "severity": "note",
                    "source": "reactions/contrail.yml:15",
                    "reason": "UnreachableCause",
                    "message": "no change reaches a project through itself",
                }
            ],
            "missing": [{"reader": "security_group", "read": "project", "count": 3}],
            "loaded_at": NOW,
            "reloads": 1,
            "last_error": None,
        }
        self.lines: list[dict[str, Any]] = [line(1), write(2), line(3, intent=DATABASE, path=[DATABASE])]
        self.rejections: dict[type, Unanswerable] = {}
        self.queries: list[ObjectQuery | JournalQuery | Neighbourhood] = []

    @property
    def views(self) -> dict[str, dict[str, Any]]:
        return {}

    async def rows(self, view: str, wanted: Callable[[Row], bool], /) -> list[Row]:
        raise KeyError(view)

    async def ask(self, question: Question, /) -> dict[str, Any]:
        if rejection := self.rejections.get(type(question)):
            raise rejection
        match question:
            case Why():
                return self._why(question)
            case ObjectQuery():
                self.queries.append(question)
                return self._objects(question)
            case JournalQuery():
                self.queries.append(question)
                return self._journal(question)
            case Comparison(kind, name):
                return {**resource(kind, name), **self.compared}
            case Neighbourhood():
                self.queries.append(question)
                return self.around
            case Reactions():
                return self.map
            case Pending(offset, limit):
                return {"total": 0, "offset": offset, "limit": limit, "pending_references": []}
            case Quarantine(offset, limit):
                page = self.quarantined[offset : offset + limit]
                return {"total": len(self.quarantined), "offset": offset, "limit": limit, "quarantine": page}

    def _why(self, query: Why) -> dict[str, Any]:
        found = self.reasons.get((query.kind, query.name))
        if found is None:
            raise Unanswerable(
                404, f"there is no {query.kind} {query.name!r}", "look for it: /objects?filter=", (WEB["name"],)
            )
        parts = [one for one in found["parts"] if query.part in one["part"]]
        return {**found, "parts": parts[query.offset : query.offset + query.limit], "parts_total": len(parts)}

    def _objects(self, query: ObjectQuery) -> dict[str, Any]:
        kinds: dict[str, int] = {}
        for row in self.listed:
            kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
        wanted = [
            row
            for row in self.listed
            if query.kind in ("", row["kind"]) and query.state in ("", row["state"]) and query.text in row["name"]
        ]
        shown = wanted[query.offset : query.offset + query.limit]
        return {"kinds": kinds, "total": len(wanted), "offset": query.offset, "rows": shown}

    def _journal(self, query: JournalQuery) -> dict[str, Any]:
        kept = [
            one
            for one in self.lines
            if one["sequence"] > query.after
            and (not query.before or one["sequence"] < query.before)
            and query.sort in ("", one["sort"])
            and query.name in str((one["intent"] or one["object"])["name"])
        ]
        chosen = kept[-query.limit :] if query.before else kept[: query.limit]
        numbers = [one["sequence"] for one in self.lines] or [0]
        return {"first": numbers[0], "last": numbers[-1], "lines": chosen}

    async def follow(self, after: int, /) -> AsyncIterator[dict[str, Any]]:
        for one in self.lines:
            if one["sequence"] > after:
                yield one


class ObservedCompiler:
    """A ``Process`` that is healthy and ready unless the test says otherwise."""

    def __init__(self) -> None:
        self.alive = True
        self.reasons: tuple[str, ...] = ()

    def healthy(self) -> bool:
        return self.alive

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        return not self.reasons, self.reasons

    def status(self) -> dict[str, Any]:
        return {
            "converged": True,
            "healthy": False,
            "applied_revision": 42,
            "queue": {"jobs": 3},
            "counts": {"held": 1},
            "counters": {"evaluations": 5, "writes": 2, "missing_reactions": {"a <- b": 1}},
        }

    def pending(self) -> list[dict[str, str]]:
        return [{"holder": "route/1", "relation": "gateway", "target": "gateway g"}]


HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


OBJECT = f"/pages/object?kind={INGRESS['kind']}&name={INGRESS['name']}"


def text_of(html: str) -> str:
    """What a reader sees."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))
