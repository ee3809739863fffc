"""The diagnostics over HTTP: what ``PATHS`` and ``VIEWS`` name, and ``/``, which shows that; everything read-only.

Why so strict with headers: the page shows names out of a control plane, so no browser may frame, sniff, cache or embed
it, and a name that resolves to our address (DNS rebinding) gets nothing. Who listens where is ``serving``'s business.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .browsing import BadQuery, page, query_of
from .metrics import registry_of
from .observed import Browsed, Observed

PATHS = {
    "/healthz": "whether the process does its work; if not (503), it should be started again",
    "/readyz": "whether the first list was applied, etcd is heard, and the API server answered last; if not (503), why",
    "/status": "converged, healthy, queues, counts, and what is held, waiting, refused or a problem",
    "/pending": "the references whose target has not arrived",
    "/metrics": "the figures, for Prometheus",
}
"""What is always served, as ``/`` tells it."""

VIEWS = {
    "/views": "what was compiled, as tables: /views/NAME?filter=TEXT&offset=N&limit=N, or any column=VALUE",
}
"""What is served of those who have results to look through."""

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Sent with every answer."""


class StrictHeaders:
    """ASGI middleware that adds ``HEADERS``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, with_headers)


def diagnostics_app(
    observed: Observed,
    allowed_hosts: Sequence[str] = ("*",),
    registry: CollectorRegistry | None = None,
    browsed: Browsed | None = None,
) -> Starlette:
    """The application. ``allowed_hosts``: values of ``Host`` that are answered, others get 400. ``registry``: the
    figures; None for those of a compiler. ``browsed``: results to look through, if there are any.

    ``/``: ``PATHS``. ``/healthz`` and ``/readyz``: 200 or 503 with ``{"ok": bool, "reasons": [text]}``. ``/status``:
    ``Observed.status``; ``/pending``: ``{"pending_references": Observed.pending}``; ``/views``: ``{"views": …}``,
    ``/views/NAME``: a page of it, 400 or 404 with ``{"error": text}``. ``?pretty`` indents any of them.
    """
    figures = registry if registry is not None else registry_of(observed)

    async def healthz(request: Request) -> Response:
        healthy = observed.healthy()
        return _verdict(request, healthy, () if healthy else ("a part that must not end has ended",))

    async def readyz(request: Request) -> Response:
        return _verdict(request, *observed.ready())

    async def status(request: Request) -> Response:
        return _json(request, observed.status())

    async def pending(request: Request) -> Response:
        return _json(request, {"pending_references": observed.pending()})

    async def metrics(request: Request) -> Response:
        return _metrics(figures)

    async def root(request: Request) -> Response:
        return _json(request, {"paths": paths, "pretty": "?pretty indents"}, pretty=True)

    paths = PATHS if browsed is None else {**PATHS, **VIEWS}

    return Starlette(
        routes=[
            Route("/", root),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/status", status),
            Route("/pending", pending),
            Route("/metrics", metrics),
            *(_browsing(browsed) if browsed is not None else ()),
        ],
        middleware=[
            Middleware(StrictHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts), www_redirect=False),
        ],
    )


def _browsing(browsed: Browsed) -> list[Route]:
    async def views(request: Request) -> Response:
        return _json(request, {"views": browsed.views})

    async def view(request: Request) -> Response:
        name, there = request.path_params["name"], browsed.views
        if name not in there:
            return _json(request, {"error": f"there is no view {name!r}; there are {', '.join(there)}"}, 404)
        try:
            query = query_of(request.query_params, there[name]["columns"])
        except BadQuery as error:
            return _json(request, {"error": str(error)}, 400)
        return _json(request, await page(browsed, name, query))

    return [Route("/views", views), Route("/views/{name}", view)]


def _verdict(request: Request, ok: bool, reasons: Sequence[str]) -> Response:
    return _json(request, {"ok": ok, "reasons": list(reasons)}, 200 if ok else 503)


def _json(request: Request, value: object, code: int = 200, *, pretty: bool = False) -> Response:
    content = msgspec.json.encode(value)
    if pretty or "pretty" in request.query_params:
        content = msgspec.json.format(content, indent=2) + b"\n"
    return Response(content, code, media_type="application/json")


def _metrics(registry: CollectorRegistry) -> Response:
    return Response(generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
