"""Decides who may use the diagnostics: clients on this machine, with the token, or with a client certificate.

Why it exists: the names and problems of a control plane are not public. No header is trusted for identity: only a
secret counts, compared in constant time, or a certificate that TLS has verified. Browsers send the token as the
password of HTTP Basic, so that a page can be opened. ``serving`` listens, and has TLS verify certificates;
``loading/configuration/risks.py`` rejects unsafe configurations.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from intentc.listening.http_server import Tls
from intentc.loading.configuration import Secret
from intentc.loading.configuration.risks import SHORTEST_TOKEN

_LOG = logging.getLogger(__name__)

OPEN = frozenset({"/healthz", "/readyz"})
"""Paths that need no token, since probes have none; without a token they omit reasons. If client certificates are
required, these paths need one as well."""

KNOWN = "intentc.known"
"""Key in the scope of a request: whether the client may see reasons."""

_CHALLENGE = 'Basic realm="intentc diagnostics", charset="UTF-8"'


class PresentToken:
    """Returns the token in its file, or an empty text, which grants nobody access; each change between the two is
    logged once.

    A password that we send stays in use while its file can't be read. This token does not: its file is removed to lock
    out everybody who knows the token.
    """

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._usable = True

    def __call__(self) -> str:
        text = self._secret.present(SHORTEST_TOKEN)
        if bool(text) is not self._usable:
            self._usable = bool(text)
            if text:
                _LOG.info("intentc.diagnostics.token_file: %s can be used again", self._secret.file)
            else:
                _LOG.error(
                    "intentc.diagnostics.token_file: %s is missing, unreadable, or has fewer than %d characters;"
                    " until it is fixed the diagnostics reject all requests",
                    self._secret.file,
                    SHORTEST_TOKEN,
                )
        return text


class Access(NamedTuple):
    """``token``: returns the present token, so that it can be rotated; None: no token is required."""

    token: Callable[[], str] | None = None
    tls: Tls | None = None

    @property
    def asks(self) -> bool:
        """Whether clients must authenticate."""
        return self.token is not None or (self.tls is not None and bool(self.tls.client_ca))


EVERYBODY = Access()
"""For loopback only."""


class Guard:
    """ASGI middleware that rejects requests without the token. ``token`` None: all requests pass."""

    def __init__(self, app: ASGIApp, token: Callable[[], str] | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._token is not None:
            shown = shown_token(Headers(scope=scope).get("authorization", ""))
            known = shown is not None and _same(shown, self._token())
            if not known and scope["path"] not in OPEN:
                await _rejected(shown is not None)(scope, receive, send)
                return
            scope = {**scope, KNOWN: known}
        await self._app(scope, receive, send)


def shown_token(authorization: str) -> str | None:
    """Return the token in ``Authorization``: of ``Bearer``, or the password of ``Basic``; None if there is none."""
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
    """Compare in a time that depends on neither the token nor its length. An empty token never matches."""
    digests = (hashlib.sha256(text.encode()).digest() for text in (shown, token))
    return bool(token) and hmac.compare_digest(*digests)


def _rejected(was_shown: bool) -> Response:
    content: dict[str, Any] = {
        "error": "the token is wrong" if was_shown else "the diagnostics require a token",
        "next_step": "send intentc.diagnostics.token as `Authorization: Bearer TOKEN`, or as a browser's password",
        "candidates": [],
    }
    headers = {"WWW-Authenticate": _CHALLENGE}
    return Response(msgspec.json.encode(content), 401, headers=headers, media_type="application/json")
