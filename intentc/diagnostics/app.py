"""Builds the diagnostics' HTTP application: all paths, for programs and browsers, and ``/``, which lists them.

No path changes anything in the process: the paths ask ``Observed``, ``Browsed`` and ``Asked``. ``Events`` keeps the
followers.

Why the strict headers: pages show names from a control plane, so no browser may frame, sniff, cache or embed them, and
a host name that resolves to our address (DNS rebinding) gets no answer. ``access`` rejects requests without the token;
``serving`` listens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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

from intentc.listening.origin import ANY_HOST, Checks, OriginGuard, Rejection

from .access import EVERYBODY, KNOWN, Access, Guard
from .answering import json_answer
from .asking import LISTS, QUESTIONS, lists, questions, rejection
from .browsing import page, query_of
from .events import EVENTS, Events
from .metrics import metrics as compiler_metrics
from .observed import Asked, Browsed, Observed, Unanswerable
from .pages import no_answer_page, overview_page, page_routes, wants_page
from .parameters import BadQuery
from .registry import registry_of

PATHS = {
    "/healthz": "whether the process works; if not (503), restart it",
    "/readyz": "whether the first list was applied, and etcd and the API server answer; if not (503), why",
    "/status": "converged, healthy, queues, counts, and what is held, waiting, rejected or a problem",
    **LISTS,
    "/metrics": "the figures, for Prometheus",
    **EVENTS,
}
"""Path → description, as ``/`` lists them; always served."""

VIEWS = {
    "/views": "outputs as tables: /views/NAME?filter=TEXT&offset=N&limit=N, or any column=VALUE",
}
"""Paths that are served if there are views."""

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
    observed: Observed,
    allowed_hosts: Sequence[str] | None = ANY_HOST,
    registry: CollectorRegistry | None = None,
    browsed: Browsed | None = None,
    asked: Asked | None = None,
    access: Access = EVERYBODY,
) -> Served:
    """Build the application. ``allowed_hosts``: accepted values of ``Host``, others get 400; requests of other sites'
    pages get 403, links from them are followed. ``registry``: the figures; None for those of a compiler. ``browsed``:
    views, ``asked``: answers to questions, if there are any. ``access``: who may ask.

    ``/``: ``PATHS``; a browser gets the page. ``/healthz`` and ``/readyz``: 200 or 503 with ``{"ok": bool, "reasons":
    [text]}``. ``/status``: ``Observed.status``; ``/pending``: ``{"total", "offset", "limit", "pending_references":
    Observed.pending}``; ``/views``: ``{"views": …}``, ``/views/NAME``: a page of one, 400 or 404 with ``{"error":
    text}``; ``asking`` and ``events`` define the others. ``?pretty`` indents all of them.
    """
    figures = registry if registry is not None else registry_of(lambda: compiler_metrics(observed))
    events = Events(observed, asked)
    paths = {
        **PATHS,
        **(VIEWS if browsed is not None else {}),
        **(QUESTIONS if asked is not None else {}),
    }

    async def healthz(request: Request) -> Response:
        healthy = observed.healthy()
        return _verdict(request, healthy, () if healthy else ("an essential task of the process has ended",))

    async def readyz(request: Request) -> Response:
        return _verdict(request, *observed.ready())

    async def status(request: Request) -> Response:
        return json_answer(request, observed.status())

    async def metrics(request: Request) -> Response:
        return Response(generate_latest(figures), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def unknown(request: Request, error: Exception) -> Response:
        text = f"there is nothing at {request.url.path[:_SHOWN]!r}"
        if asked is not None and wants_page(request):
            error = Unanswerable(404, text, "the pages are listed above")
            return await no_answer_page(observed, request, error)
        return rejection(request, Unanswerable(404, text, "`/` lists the paths"))

    async def root(request: Request) -> Response:
        if asked is not None and wants_page(request):
            return await overview_page(observed)
        return json_answer(request, {"paths": paths, "pretty": "?pretty indents"}, pretty=True)

    checks = Checks("intentc.diagnostics.hosts", allowed_hosts, pages=True)
    app = Starlette(
        routes=[
            Route("/", root),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/status", status),
            *lists(observed, asked),
            Route("/metrics", metrics),
            Route("/events", events.answer),
            *(_browsing(browsed) if browsed is not None else ()),
            *((*questions(asked), *page_routes(observed, asked)) if asked is not None else ()),
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


def _browsing(browsed: Browsed) -> list[Route]:
    async def views(request: Request) -> Response:
        return json_answer(request, {"views": browsed.views})

    async def view(request: Request) -> Response:
        name, there = request.path_params["name"], browsed.views
        if name not in there:
            text = f"there is no view {name!r}; there are {', '.join(there)}"
            return rejection(request, Unanswerable(404, text, "`/views` describes each view", tuple(there)))
        try:
            query = query_of(request.query_params, there[name]["columns"])
        except BadQuery as error:
            return rejection(request, Unanswerable(400, str(error), "`/views` lists the views and their columns"))
        return json_answer(request, await page(browsed, name, query))

    return [Route("/views", views), Route("/views/{name}", view)]


def _rejected(rejection: Rejection) -> Response:
    content = {"error": rejection.problem, "next_step": rejection.advice, "candidates": []}
    return Response(msgspec.json.encode(content), rejection.status, media_type="application/json")


def _verdict(request: Request, ok: bool, reasons: Sequence[str]) -> Response:
    shown = list(reasons) if request.scope.get(KNOWN, True) else []
    return json_answer(request, {"ok": ok, "reasons": shown}, 200 if ok else 503)
