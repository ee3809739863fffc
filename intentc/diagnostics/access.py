"""Who may ask the diagnostics: whoever is on this machine, or who shows the token, or a client certificate.

Why it exists: names and problems of a control plane are not for everybody who reaches a port. No header is trusted for
identity: only a secret counts, compared in constant time, or the certificate that TLS has checked. Browsers send the
token as the password of HTTP Basic, so that a page can be opened. Where is listened is ``serving``'s business; which
configuration is refused stands in ``configuration.risks``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

OPEN = frozenset({"/healthz", "/readyz"})
"""Answered for everybody who comes so far, since probes know no secret; to them without reasons. Where client
certificates are asked for nobody comes so far without one."""

KNOWN = "intentc.known"
"""In the scope of a request: whether who asks may be told reasons."""

_CHALLENGE = 'Basic realm="intentc diagnostics", charset="UTF-8"'


class Tls(NamedTuple):
    """PEM files. ``client_ca``: clients must show a certificate signed by one of these authorities; empty: none."""

    certificate: str
    key: str
    client_ca: str = ""


class Access(NamedTuple):
    """``token``: gives the token as it is now, so that it can be rotated; None: none is asked for."""

    token: Callable[[], str] | None = None
    tls: Tls | None = None

    @property
    def asks(self) -> bool:
        """Whether anybody is asked who he is."""
        return self.token is not None or (self.tls is not None and bool(self.tls.client_ca))


EVERYBODY = Access()
"""For loopback only."""


class Guard:
    """ASGI middleware that lets nobody without the token through. ``token`` None: everybody passes."""

    def __init__(self, app: ASGIApp, token: Callable[[], str] | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._token is not None:
            shown = shown_token(Headers(scope=scope).get("authorization", ""))
            known = shown is not None and _same(shown, self._token())
            if not known and scope["path"] not in OPEN:
                await _refused(shown is not None)(scope, receive, send)
                return
            scope = {**scope, KNOWN: known}
        await self._app(scope, receive, send)


def shown_token(authorization: str) -> str | None:
    """The token in ``Authorization``: of ``Bearer``, or the password of ``Basic``; None if there is none."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip() or None
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(value.strip(), validate=True).decode()
        except (binascii.Error, ValueError):
            return None
        return pair.partition(":")[2] or None
    return None


def _same(shown: str, token: str) -> bool:
    """In a time that tells nothing of the token, its length included. An empty token is nobody's."""
    digests = (hashlib.sha256(text.encode()).digest() for text in (shown, token))
    return bool(token) and hmac.compare_digest(*digests)


def _refused(was_shown: bool) -> Response:
    told: dict[str, Any] = {
        "error": "the token is not the right one" if was_shown else "who are you? these diagnostics ask for a token",
        "next_step": "send intentc.diagnostics.token as `Authorization: Bearer TOKEN`, or as a browser's password",
        "candidates": [],
    }
    headers = {"WWW-Authenticate": _CHALLENGE}
    return Response(msgspec.json.encode(told), 401, headers=headers, media_type="application/json")
