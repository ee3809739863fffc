"""Builds the diagnostics' HTTP application: all paths, for programs and browsers, and ``/``, which lists them.

No path changes anything in the process: the paths ask a ``Process`` and, if there is one, a ``Reader``.

Why the strict headers: pages show names from a control plane, so no browser may frame, sniff, cache or embed them, and
a host name that resolves to our address (DNS rebinding) gets no answer. ``access`` rejects requests without the token;
``serving`` listens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from intentc.diagnostics import questions as ask
from intentc.diagnostics.access import EVERYBODY, KNOWN, Access, Guard
from intentc.diagnostics.event_streams import EVENTS, Events
from intentc.diagnostics.json_answers import json_answer, rejection
from intentc.diagnostics.metrics import compiler_metrics, registry_of
from intentc.diagnostics.pages import no_answer_page, overview_page, page_routes, wants_page
from intentc.diagnostics.questions import BadQuery, Process, Reader, Row, Unanswerable
from intentc.listening.origin import ANY_HOST, Checks, OriginGuard, Rejection

PATHS = {
    "/healthz": "whether the process works; if not (503), restart it",
    "/readyz": "whether the first list was applied, and etcd and the API server answer; if not (503), why",
    "/status": "converged, healthy, queues, counts, and what is held, waiting, rejected or a problem",
    "/quarantine": "what is held, rejected or paused, each with its reason: /quarantine?offset=N&limit=N",
    "/pending": "the references whose target does not exist: /pending?offset=N&limit=N",
    "/metrics": "the figures, for Prometheus",
    **EVENTS,
}
"""Path → description, as ``/`` lists them; always served."""

QUESTIONS = {
    "/why": "why an object exists or doesn't: /why?kind=K&name=N, and part=TEXT&offset=N&limit=N",
    "/objects": "all resources: /objects?kind=K&filter=TEXT&state=S&offset=N&limit=N",
    "/object": "one object, actual and desired: /object?kind=K&name=N",
    "/neighbourhood": "the objects around an object: /neighbourhood?kind=K&name=N&depth=1..4&kinds=A,B",
    "/reactions": "the reaction map and its findings",
    "/journal": "evaluations and writes: /journal?after=N&before=N&limit=N&kind=K&name=N&sort=evaluation|write",
    "/views": "outputs as tables: /views/NAME?filter=TEXT&offset=N&limit=N, or any column=VALUE",
}
"""Path → description, as ``/`` lists them; served if there is a ``Reader``."""

_QUERIES: Mapping[str, Callable[[Mapping[str, str]], ask.Question]] = {
    "/why": ask.why_query,
    "/objects": ask.object_query,
    "/object": ask.comparison_query,
    "/neighbourhood": ask.neighbourhood_query,
    "/reactions": ask.reactions_query,
    "/journal": ask.journal_query,
    "/quarantine": ask.quarantine_query,
    "/pending": ask.pending_query,
}

MOST_ENTRIES = 100
"""Most entries of a list in a row of a view."""

_SHOWN = 200
"""Most characters of an unknown path in the answer."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Sent with every answer that doesn't set them itself: a page needs its own style, and a file with its hash in its name
may be cached."""


class StrictHeaders:
    """ASGI middleware that adds ``HEADERS``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


class Served(NamedTuple):
    """The application, and its event streams, which must end before it can."""

    app: Starlette
    events: Events


def diagnostics_app(
    process: Process,
    allowed_hosts: Sequence[str] | None = ANY_HOST,
    registry: CollectorRegistry | None = None,
    reader: Reader | None = None,
    access: Access = EVERYBODY,
) -> Served:
    """Build the application. ``allowed_hosts``: accepted values of ``Host``, others get 400; requests of other sites'
    pages get 403, links from them are followed. ``registry``: the figures; None for those of a compiler. ``reader``:
    answers questions; None: a bridge, which has no pages. ``access``: who may ask.

    docs/diagnostics.md has the answer of each path.
    """
    figures = registry if registry is not None else registry_of(lambda: compiler_metrics(process))
    events = Events(process, reader)
    paths = {**PATHS, **(QUESTIONS if reader is not None else {})}

    async def healthz(request: Request) -> Response:
        healthy = process.healthy()
        return _verdict(request, healthy, () if healthy else ("an essential task of the process has ended",))

    async def readyz(request: Request) -> Response:
        return _verdict(request, *process.ready())

    async def status(request: Request) -> Response:
        return json_answer(request, process.status())

    async def metrics(request: Request) -> Response:
        return Response(generate_latest(figures), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def unknown(request: Request, error: Exception) -> Response:
        text = f"there is nothing at {request.url.path[:_SHOWN]!r}"
        if reader is not None and wants_page(request):
            error = Unanswerable(404, text, "the pages are listed above")
            return await no_answer_page(process, request, error)
        return rejection(request, Unanswerable(404, text, "`/` lists the paths"))

    async def root(request: Request) -> Response:
        if reader is not None and wants_page(request):
            return await overview_page(process)
        return json_answer(request, {"paths": paths, "pretty": "?pretty indents"}, pretty=True)

    checks = Checks("intentc.diagnostics.hosts", allowed_hosts, pages=True)
    app = Starlette(
        routes=[
            Route("/", root),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/status", status),
            Route("/metrics", metrics),
            Route("/events", events.answer),
            *(_of_bridge(process) if reader is None else (*_questions(reader), *page_routes(process, reader))),
        ],
        exception_handlers={404: unknown},
        middleware=[
            Middleware(StrictHeaders),
            Middleware(OriginGuard, checks=checks, answer=_rejected),
            Middleware(Guard, token=access.token),
        ],
    )
    # A redirect would lead to any host that the client names.
    app.router.redirect_slashes = False
    return Served(app, events)


def _questions(reader: Reader) -> list[Route]:
    async def views(request: Request) -> Response:
        return json_answer(request, {"views": reader.views})

    async def view(request: Request) -> Response:
        name, there = request.path_params["name"], reader.views
        if name not in there:
            text = f"there is no view {name!r}; there are {', '.join(there)}"
            return rejection(request, Unanswerable(404, text, "`/views` describes each view", tuple(there)))
        columns = there[name]["columns"]
        try:
            query = ask.row_query(request.query_params, columns)
        except BadQuery as error:
            return rejection(request, Unanswerable(400, str(error), "`/views` lists the views and their columns"))
        rows = await reader.rows(name, query.wants)
        shown = [_cut_row(row) for row in rows[query.offset : query.offset + query.limit]]
        found = {"view": name, "columns": columns, "total": len(rows), "offset": query.offset, "rows": shown}
        return json_answer(request, found)

    def question(query: Callable[[Mapping[str, str]], ask.Question]) -> Callable[[Mapping[str, str]], _Answer]:
        return lambda given: reader.ask(query(given))

    asked = [_route(path, question(query)) for path, query in _QUERIES.items()]
    return [*asked, Route("/views", views), Route("/views/{name}", view)]


def _of_bridge(process: Process) -> list[Route]:
    """Return the routes of the two lists that a process without a reader has as well."""

    async def quarantine(given: Mapping[str, str]) -> dict[str, Any]:
        status, query = process.status(), ask.quarantine_query(given)
        entries = status.get("quarantine", [])
        total = max(len(entries), status.get("counts", {}).get("quarantined", 0))
        page = entries[query.offset : query.offset + query.limit]
        return {"total": total, "offset": query.offset, "limit": query.limit, "quarantine": page}

    async def pending(given: Mapping[str, str]) -> dict[str, Any]:
        every, query = process.pending(), ask.pending_query(given)
        page = every[query.offset : query.offset + query.limit]
        return {"total": len(every), "offset": query.offset, "limit": query.limit, "pending_references": page}

    return [_route("/quarantine", quarantine), _route("/pending", pending)]


_Answer = Awaitable[dict[str, Any]]


def _route(path: str, answer: Callable[[Mapping[str, str]], _Answer]) -> Route:
    """Answer with JSON; wrong parameters get 400, ``Unanswerable`` its own status."""

    async def answering(request: Request) -> Response:
        try:
            found = await answer(request.query_params)
        except BadQuery as error:
            return rejection(request, Unanswerable(400, str(error), "`/` lists the paths and their parameters"))
        except Unanswerable as error:
            return rejection(request, error)
        # An absent object also has an answer: why it is absent.
        return json_answer(request, found, 404 if found.get("exists") is False else 200)

    return Route(path, answering)


def _cut_row(row: Row) -> Row:
    return {
        column: [*value[:MOST_ENTRIES], f"… and {len(value) - MOST_ENTRIES} more"]
        if isinstance(value, list) and len(value) > MOST_ENTRIES
        else value
        for column, value in row.items()
    }


def _rejected(rejection: Rejection) -> Response:
    content = {"error": rejection.problem, "next_step": rejection.advice, "candidates": []}
    return Response(msgspec.json.encode(content), rejection.status, media_type="application/json")


def _verdict(request: Request, ok: bool, reasons: Sequence[str]) -> Response:
    shown = list(reasons) if request.scope.get(KNOWN, True) else []
    return json_answer(request, {"ok": ok, "reasons": shown}, 200 if ok else 503)
