"""The pages under their addresses: asks, has the answer shaped, renders.

Why it exists: which page asks which question stands here in one place, and so does what is said when there is no
answer. How answers are shaped is left to the modules named after the pages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..observed import Asked, Observed, Unanswerable
from ..parameters import BadQuery
from . import journal, objects, overview, quarantine, reactions
from .assets import asset_route
from .rendering import page

Answer = Callable[[Request], Awaitable[Response]]


def wants_page(request: Request) -> bool:
    """Whether who asks is a browser: it names HTML before anything that JSON could be."""
    return request.headers.get("accept", "").lower().lstrip().startswith("text/html")


def page_routes(observed: Observed, asked: Asked) -> list[Route]:
    """``/pages/…``: objects, object, reactions, quarantine, journal, and the static files."""

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
        shown = quarantine.shown(observed.status(), request.query_params)
        return await _page(observed, "quarantine.html", **shown)

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
    """What a browser gets at ``/``."""
    status = observed.status()
    return await page(
        "overview.html", strip=overview.strip(status), here="overview", **overview.overview(status, observed.ready())
    )


def _answering(observed: Observed, answer: Answer) -> Answer:
    """``answer``, with a page that says so where there is none."""

    async def answering(request: Request) -> Response:
        try:
            return await answer(request)
        except BadQuery as error:
            return await refused(request, Unanswerable(400, str(error), "correct the address"))
        except Unanswerable as error:
            return await refused(request, error)

    async def refused(request: Request, error: Unanswerable) -> Response:
        kind = request.query_params.get("kind", "")
        return await _page(observed, "unanswerable.html", code=error.status, error=error, kind=kind)

    return answering


async def _page(observed: Observed, template: str, *, code: int = 200, **values: Any) -> Response:
    strip = overview.strip(observed.status())
    return await page(template, code=code, strip=strip, here=template.partition(".")[0], **values)
