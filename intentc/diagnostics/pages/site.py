"""Maps addresses to pages: asks the question, shapes the answer, renders it.

Why it exists: one place defines which page asks which question, and what a page shows without an answer. ``listings``,
``one_object`` and ``summary`` shape the answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from intentc.diagnostics.pages import listings, one_object, summary
from intentc.diagnostics.pages.assets import asset_route
from intentc.diagnostics.pages.rendering import link, object_link, page
from intentc.diagnostics.questions import BadQuery, NamedAs, Process, Reactions, Reader, Unanswerable, object_query


def wants_page(request: Request) -> bool:
    """Return whether the client is a browser: its ``Accept`` begins with HTML."""
    return request.headers.get("accept", "").lower().lstrip().startswith("text/html")


def page_routes(process: Process, reader: Reader) -> list[Route]:
    """Return the routes of ``/pages/…``: objects, object, reactions, quarantine, journal, and the static files."""

    async def objects(given: Mapping[str, str]) -> Response:
        query = object_query(given)
        return await _page(process, "objects.html", **listings.object_list(query, await reader.ask(query)))

    async def single(given: Mapping[str, str]) -> Response:
        return await _page(process, "object.html", **await one_object.about(reader, one_object.wanted_of(given)))

    async def reactions(given: Mapping[str, str]) -> Response:
        return await _page(process, "reactions.html", **listings.reaction_list(await reader.ask(Reactions())))

    async def quarantine(given: Mapping[str, str]) -> Response:
        answer = await reader.ask(listings.quarantine_query(given))
        return await _page(process, "quarantine.html", **listings.quarantine_list(answer))

    async def journal(given: Mapping[str, str]) -> Response:
        query = listings.journal_query(given)
        return await _page(process, "journal.html", **listings.line_list(query, await reader.ask(query)))

    def route(path: str, answer: Callable[[Mapping[str, str]], Awaitable[Response]]) -> Route:
        async def answering(request: Request) -> Response:
            try:
                return await answer(request.query_params)
            except BadQuery as error:
                return await no_answer_page(process, request, Unanswerable(400, str(error), "correct the address"))
            except Unanswerable as error:
                return await no_answer_page(process, request, error)

        return Route(path, answering)

    return [
        route("/pages/objects", objects),
        route("/pages/object", single),
        route("/pages/reactions", reactions),
        route("/pages/quarantine", quarantine),
        route("/pages/journal", journal),
        asset_route(),
    ]


async def overview_page(process: Process) -> Response:
    """Return the page for a browser at ``/``."""
    status = process.status()
    return await page(
        "overview.html", strip=summary.strip(status), here="overview", **summary.overview(status, process.ready())
    )


async def no_answer_page(process: Process, request: Request, error: Unanswerable) -> Response:
    """Return a page that says why there is no answer, with links to the candidates."""
    candidates = [_candidate(request, error.named_as, text) for text in error.candidates]
    return await _page(process, "unanswerable.html", code=error.status, error=error, candidates=candidates)


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


async def _page(process: Process, template: str, *, code: int = 200, **values: Any) -> Response:
    strip = summary.strip(process.status())
    return await page(template, code=code, strip=strip, here=template.partition(".")[0], **values)
