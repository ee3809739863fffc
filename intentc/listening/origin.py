"""Checks the origin and form of an HTTP request: ``Host``, ``Origin``, ``Sec-Fetch-Site``, ``Content-Type``.

A browser on this machine reaches loopback ports on behalf of any page that it shows. A page can send a ``text/plain``
POST to any address, and a name that resolves to 127.0.0.1 (DNS rebinding) even makes it the same origin. Clients that
are no browsers send neither ``Origin`` nor ``Sec-Fetch-Site``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from intentc.loading.configuration import canonical_host

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths of probes, which may come without a ``Host``, as HTTP/1.0 allows and no browser does."""
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
ANY_HOST = None
"""Allows any ``Host``. It is no text, so that no text allows any host by accident."""
_JSON = "application/json"
JSON_TYPES = frozenset({_JSON})
"""The types of bodies that a server of JSON takes."""
_SHOWN = 200
"""Characters of a header that a message repeats."""


class Rejection(NamedTuple):
    """Why a request is rejected: an HTTP status, the problem, and what to do instead."""

    status: int
    problem: str
    advice: str


class Checks(NamedTuple):
    """The checks of one server.

    ``hosts``: the names that ``Host`` may have, as ``own_hosts`` returns them; ``ANY_HOST``: any. ``setting``: the key
    of the configuration that names further ones. ``only_json``: bodies must be of a type in ``media``, none of which
    a page of another origin can send. ``untyped``: below these paths a body may have no
    type, unless a browser sends it. ``pages``: links on other sites may lead here.
    """

    setting: str
    hosts: Sequence[str] | None = ANY_HOST
    only_json: bool = False
    pages: bool = False
    media: frozenset[str] = JSON_TYPES
    untyped: tuple[str, ...] = ()

    def rejection(self, method: str, path: str, headers: Headers) -> Rejection | None:
        """Why a request with this method, path and headers is rejected; None if it is not."""
        return self._of_host(path, headers) or self._of_site(method, headers) or self._of_content(method, path, headers)

    def _of_host(self, path: str, headers: Headers) -> Rejection | None:
        if self.hosts is ANY_HOST or ("host" not in headers and path in PROBES):
            return None
        host = headers.get("host", "")
        if canonical_host(_without_port(host)) in self.hosts:
            return None
        return Rejection(
            400,
            f"the Host of the request is {_shown(host)}, and this server listens on this machine alone",
            f"use {', '.join(self.hosts)}; or name the host in {self.setting}, if a proxy or a DNS name leads here",
        )

    def _of_site(self, method: str, headers: Headers) -> Rejection | None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower():
            return Rejection(
                403,
                f"a web page of {_shown(origin)} sent this request, and only this server's own pages may",
                "send it from a program, without an Origin header",
            )
        is_link = self.pages and method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
        if site in ("none", "same-origin") or is_link:
            return None
        return Rejection(
            403,
            f"a web page of another site sent this request (Sec-Fetch-Site: {_shown(site)})",
            "send it from a program, or type the address into the browser",
        )

    def _of_content(self, method: str, path: str, headers: Headers) -> Rejection | None:
        if not self.only_json or not (method == "POST" or _has_body(method, headers)):
            return None
        content_type = headers.get("content-type", "")
        # A page can send a body without a type, but no browser sends one without an Origin.
        is_browser = "origin" in headers or "sec-fetch-site" in headers
        if not content_type and not is_browser and path.startswith(self.untyped):
            return None
        if content_type.partition(";")[0].strip().lower() in self.media:
            return None
        problem = f"the Content-Type of the request is {_shown(content_type)}" if content_type else "no Content-Type"
        return Rejection(415, problem, f"send JSON with `Content-Type: {_JSON}` (curl: -H 'Content-Type: {_JSON}')")


def own_hosts(host: str, further: Sequence[str] = (), *, is_loopback: bool) -> Sequence[str] | None:
    """The names that ``Host`` may have for a server that listens at ``host``: its own and ``further`` ones.

    Beyond loopback a server can't know its names, and allows any.
    """
    if not is_loopback:
        return ANY_HOST
    return tuple(dict.fromkeys((*_LOOPBACK_HOSTS, canonical_host(host), *map(canonical_host, further))))


def url_host(host: str) -> str:
    """Write a host name or address as in a URL."""
    return f"[{host}]" if ":" in host else host


class OriginGuard:
    """ASGI middleware that answers requests that ``checks`` rejects with ``answer(rejection)``."""

    def __init__(self, app: ASGIApp, checks: Checks, answer: Callable[[Rejection], ASGIApp]) -> None:
        self._app = app
        self._checks = checks
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            rejection = self._checks.rejection(scope["method"], scope["path"], Headers(scope=scope))
            if rejection is not None:
                await self._answer(rejection)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _has_body(method: str, headers: Headers) -> bool:
    if method in ("GET", "HEAD", "OPTIONS"):
        return False
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def _without_port(host: str) -> str:
    if host.startswith("[") and "]" in host:
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
