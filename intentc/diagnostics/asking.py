"""Answers questions about resources and their history as JSON: ``/why``, ``/objects``, ``/journal`` …

Why it exists: commands, pages and people with ``curl`` ask the same questions. This module checks the parameters, such
as a page's ``limit`` (at most 500) and a neighbourhood's ``depth`` (at most 4), and answers 400 where one is wrong. An
``Asked`` computes the answers within these limits; for ``/quarantine`` and ``/pending`` an ``Observed`` does, where
there is no ``Asked``. Both only read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .answering import json_answer
from .observed import Asked, JournalQuery, ObjectQuery, Observed, Unanswerable
from .parameters import BadQuery, choice, needed, number, only

QUESTIONS = {
    "/why": "why an object exists or doesn't: /why?kind=K&name=N, and part=TEXT&offset=N&limit=N",
    "/objects": "all resources: /objects?kind=K&filter=TEXT&state=S&offset=N&limit=N",
    "/object": "one object, actual and desired: /object?kind=K&name=N",
    "/neighbourhood": "the objects around an object: /neighbourhood?kind=K&name=N&depth=1..4&kinds=A,B",
    "/reactions": "the reaction map, the use of each edge, and its findings",
    "/journal": "evaluations and writes: /journal?after=N&before=N&limit=N&kind=K&name=N&sort=evaluation|write",
}
"""Path → description, as ``/`` lists them; served if there is an ``Asked``."""

LISTS = {
    "/quarantine": "what is held, rejected or paused, each with its reason: /quarantine?offset=N&limit=N",
    "/pending": "the references whose target does not exist: /pending?offset=N&limit=N",
}
"""Path → description; always served."""

STATES = (
    "as desired",
    "waiting",
    "held",
    "rejected",
    "delayed",
    "contended",
    "paused",
    "planned",
    "queued",
    "withheld",
    "absent",
)
"""The states of an object or an intent; docs/why.md explains them."""

MOST_OFFSET = 10**9
_Question = Callable[[Mapping[str, str]], Awaitable[dict[str, Any]]]


def questions(asked: Asked) -> list[Route]:
    """Return the routes of ``QUESTIONS``. Wrong parameters get 400, ``Unanswerable`` its own status; both with
    ``{"error", "next_step", "candidates"}``."""

    async def why(given: Mapping[str, str]) -> dict[str, Any]:
        only(given, ("kind", "name", "part", "offset", "limit"))
        kind, name = named(given, "/why")
        return await asked.why(kind, name, given.get("part", ""), *paged(given, default=100, most=500))

    async def objects(given: Mapping[str, str]) -> dict[str, Any]:
        return await asked.objects(object_query(given))

    async def single(given: Mapping[str, str]) -> dict[str, Any]:
        only(given, ("kind", "name"))
        return await asked.object(*named(given, "/object"))

    async def neighbourhood(given: Mapping[str, str]) -> dict[str, Any]:
        only(given, ("kind", "name", "depth", "kinds"))
        kinds = tuple(kind.strip() for kind in given.get("kinds", "").split(",") if kind.strip())
        return await asked.neighbourhood(*named(given, "/neighbourhood"), number(given, "depth", 1, 1, 4), kinds)

    async def reactions(given: Mapping[str, str]) -> dict[str, Any]:
        only(given, ())
        return await asked.reactions()

    async def journal(given: Mapping[str, str]) -> dict[str, Any]:
        return await asked.journal(journal_query(given))

    return [
        _route("/why", why),
        _route("/objects", objects),
        _route("/object", single),
        _route("/neighbourhood", neighbourhood),
        _route("/reactions", reactions),
        _route("/journal", journal),
    ]


def lists(observed: Observed, asked: Asked | None) -> list[Route]:
    """Return the routes of ``LISTS``. ``/quarantine``: ``{"total", "offset", "limit", "quarantine": [entry]}``, with
    the entries of the status; ``/pending``: ``{"total", "offset", "limit", "pending_references"}``; both a page at a
    time."""

    async def quarantine(given: Mapping[str, str]) -> dict[str, Any]:
        only(given, ("offset", "limit"))
        offset, limit = paged(given, default=100, most=500)
        if asked is not None:
            return await asked.quarantine(offset, limit)
        status = observed.status()
        entries = status.get("quarantine", [])
        total = max(len(entries), status.get("counts", {}).get("quarantined", 0))
        return {"total": total, "offset": offset, "limit": limit, "quarantine": entries[offset : offset + limit]}

    async def pending(given: Mapping[str, str]) -> dict[str, Any]:
        only(given, ("offset", "limit"))
        offset, limit = paged(given, default=100, most=500)
        if asked is not None:
            return await asked.pending(offset, limit)
        every = observed.pending()
        page = every[offset : offset + limit]
        return {"total": len(every), "offset": offset, "limit": limit, "pending_references": page}

    return [_route("/quarantine", quarantine), _route("/pending", pending)]


def object_query(given: Mapping[str, str]) -> ObjectQuery:
    """Read ``kind``, ``filter``, ``state``, ``offset``, ``limit``. Raises ``BadQuery``."""
    only(given, ("kind", "filter", "state", "offset", "limit"))
    state = choice(given, "state", STATES)
    offset, limit = paged(given, default=50, most=500)
    return ObjectQuery(given.get("kind", "").strip(), given.get("filter", "").strip(), state, offset, limit)


def journal_query(given: Mapping[str, str]) -> JournalQuery:
    """Read ``after`` or ``before``, ``limit``, ``kind``, ``name``, ``sort``. Raises ``BadQuery``."""
    only(given, ("after", "before", "limit", "kind", "name", "sort"))
    if given.get("after") and given.get("before"):
        raise BadQuery("both after and before are given; ask for one of them")
    if given.get("name") and not given.get("kind"):
        raise BadQuery("a name is given without its kind; ask as in /journal?kind=K&name=N")
    return JournalQuery(
        after=number(given, "after", 0, 0, 10**15),
        limit=number(given, "limit", 100, 1, 500),
        kind=given.get("kind", "").strip(),
        name=given.get("name", "").strip(),
        sort=choice(given, "sort", ("evaluation", "write")),
        before=number(given, "before", 0, 0, 10**15),
    )


def paged(given: Mapping[str, str], *, default: int, most: int) -> tuple[int, int]:
    """Read ``offset`` and ``limit``. Raises ``BadQuery``."""
    return number(given, "offset", 0, 0, MOST_OFFSET), number(given, "limit", default, 1, most)


def named(given: Mapping[str, str], path: str) -> tuple[str, str]:
    """Read ``kind`` and ``name``. Raises ``BadQuery``."""
    example = f"{path}?kind=KIND&name=NAME (a name: fq_name joined by ':', its end, or a uuid)"
    return needed(given, "kind", example), needed(given, "name", example)


def _route(path: str, question: _Question) -> Route:
    async def answer(request: Request) -> Response:
        try:
            found = await question(request.query_params)
        except BadQuery as error:
            return rejection(request, Unanswerable(400, str(error), "`/` lists the paths and their parameters"))
        except Unanswerable as error:
            return rejection(request, error)
        # An absent object also has an answer: why it is absent.
        return json_answer(request, found, 404 if found.get("exists") is False else 200)

    return Route(path, answer)


def rejection(request: Request, error: Unanswerable) -> Response:
    """Answer ``{"error", "next_step", "candidates"}`` with the status of ``error``."""
    content = {"error": error.error, "next_step": error.next_step, "candidates": list(error.candidates)}
    return json_answer(request, content, error.status)
