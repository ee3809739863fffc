"""Maps addresses to pages: asks the question, shapes the answer, renders it.

Why it exists: one place defines which page asks which question, and what a page shows without an answer. The modules
named after the pages shape the answers.

It asks ``Asked`` and ``Observed``, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..observed import Asked, NamedAs, Observed, Unanswerable
from ..parameters import BadQuery
from . import journal, objects, overview, quarantine, reactions
from .assets import asset_route
from .rendering import link, object_link, page

Answer = Callable[[Request], Awaitable[Response]]


def wants_page(request: Request) -> bool:
    """Return whether the client is a browser: its ``Accept`` begins with HTML."""
    return request.headers.get("accept", "").lower().lstrip().startswith("text/html")


def page_routes(observed: Observed, asked: Asked) -> list[Route]:
    """Return the routes of ``/pages/…``: objects, object, reactions, quarantine, journal, and the static files."""

    async def objects_page(request: Request) -> Response:
        query = objects.query_of(request.query_params)
        answer = await asked.objects(query)
        return await _page(observed, "objects.html", **objects.listing(query, answer))

    async def object_page(request: Request) -> Response:
        wanted = objects.wanted_of(request.query_params)
        return await _page(observed, "object.html", **await objects.about(asked, wanted))

    async def reactions_page(request: Request) -> Response:
        return await _page(observed, "reactions.html", **reactions.shown(await asked.reactions(), request.query_params))

    async def quarantine_page(request: Request) -> Response:
        answer = await asked.quarantine(quarantine.offset_of(request.query_params), quarantine.ROWS)
        return await _page(observed, "quarantine.html", **quarantine.shown(answer))

    async def journal_page(request: Request) -> Response:
        query = journal.query_of(request.query_params)
        return await _page(observed, "journal.html", **journal.shown(query, await asked.journal(query)))

    return [
        Route("/pages/objects", _answering(observed, objects_page)),
        Route("/pages/object", _answering(observed, object_page)),
        Route("/pages/reactions", _answering(observed, reactions_page)),
        Route("/pages/quarantine", _answering(observed, quarantine_page)),
        Route("/pages/journal", _answering(observed, journal_page)),
        asset_route(),
    ]


async def overview_page(observed: Observed) -> Response:
    """Return the page for a browser at ``/``."""
    status = observed.status()
    return await page(
        "overview.html", strip=overview.strip(status), here="overview", **overview.overview(status, observed.ready())
    )


def _answering(observed: Observed, answer: Answer) -> Answer:
    """Wrap ``answer`` so that a question without an answer gets a page that says why."""

    async def answering(request: Request) -> Response:
        try:
            return await answer(request)
        except BadQuery as error:
            return await rejected(request, Unanswerable(400, str(error), "correct the address"))
        except Unanswerable as error:
            return await rejected(request, error)

    async def rejected(request: Request, error: Unanswerable) -> Response:
        return await no_answer_page(observed, request, error)

    return answering


async def no_answer_page(observed: Observed, request: Request, error: Unanswerable) -> Response:
    """Return a page that says why there is no answer, with links to the candidates."""
    candidates = [_candidate(request, error.named_as, text) for text in error.candidates]
    return await _page(observed, "unanswerable.html", code=error.status, error=error, candidates=candidates)


def _candidate(request: Request, named_as: NamedAs, text: str) -> dict[str, str]:
    """Return ``{"text", "href"}``; a kind links to the same page for that kind."""
    given = dict(request.query_params)
    match named_as:
        case NamedAs.KINDS:
            return {"text": text, "href": link(request.url.path, **{**given, "kind": text})}
        case NamedAs.KINDS_AND_NAMES:
            kind, _, name = text.partition(" ")
            return {"text": text, "href": object_link({"kind": kind, "name": name})}
        case NamedAs.NAMES:
            kind = given.get("kind", "")
            return {"text": text, "href": object_link({"kind": kind, "name": text}) if kind else ""}


async def _page(observed: Observed, template: str, *, code: int = 200, **values: Any) -> Response:
    strip = overview.strip(observed.status())
    return await page(template, code=code, strip=strip, here=template.partition(".")[0], **values)
