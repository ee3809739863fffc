"""One HTTP client to the API server: connections, TLS, login, and what a broken call means.

Why apart from ``http.py``: everything that is sent goes through here, so that two rules hold everywhere. A request is
sent at most once, since an unknown outcome must be read back and never repeated blindly; only a connection that could
not be made is tried again. And no header or body is ever part of a message. What answers mean is ``answers.py``'s
business.
"""

from __future__ import annotations

from http import HTTPStatus

import httpx2

from .answers import Answer
from .endpoint import Endpoint
from .keystone import TOKEN_HEADER, Tokens
from .service import UnknownOutcome, Unreachable

_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class Connection:
    """``transport`` replaces the network (tests, an own transport); then TLS and limits are its business."""

    def __init__(self, endpoint: Endpoint, *, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        url = httpx2.URL(endpoint.url)
        if url.scheme not in {"http", "https"} or not url.host:
            raise ValueError("the API server's address must be http://host:port or https://host:port")
        if url.userinfo:
            raise ValueError("the API server's address must not hold a password: use client.id and client.password")
        self.endpoint = endpoint
        self._base = endpoint.url.rstrip("/")
        # Nothing comes from the environment: a proxy or a .netrc that is meant for other programs would get the token.
        self._client = httpx2.AsyncClient(
            transport=transport or _transport(endpoint),
            trust_env=False,
            # Waiting for a free connection is no fault: whoever holds one is bound by the other timeouts.
            timeout=httpx2.Timeout(endpoint.answer_seconds, connect=endpoint.connect_seconds, pool=None),
            headers={"Content-Type": "application/json"},
        )
        self._tokens = Tokens(endpoint.credentials, self._client) if endpoint.credentials else None

    async def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request once; log in again and repeat it if the server refuses the token.

        Raises ``Unreachable`` if nothing was sent or we aren't let in, ``UnknownOutcome`` if no answer came.
        """
        if self._tokens is None:
            answer = await self._once(method, path, body, headers or {})
        else:
            token = await self._tokens.token()
            answer = await self._once(method, path, body, {**(headers or {}), TOKEN_HEADER: token})
            if answer.status == HTTPStatus.UNAUTHORIZED:
                token = await self._tokens.renewed(token)
                answer = await self._once(method, path, body, {**(headers or {}), TOKEN_HEADER: token})
        if answer.status == HTTPStatus.UNAUTHORIZED:
            hint = "check that it trusts this Keystone" if self._tokens else "set keystone.authurl and client.id"
            raise Unreachable(f"the API server doesn't let us in (401): {hint}")
        return answer

    async def aclose(self) -> None:
        """Close all connections; calls under way end with ``UnknownOutcome``."""
        await self._client.aclose()

    async def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        try:
            answer = await self._client.request(method, self._base + path, content=body, headers=headers)
        except _NOT_SENT as error:
            raise Unreachable(f"no connection to {self._base}: {type(error).__name__}: {error}") from None
        except httpx2.HTTPError as error:
            raise UnknownOutcome(f"{method} {path}: no answer: {type(error).__name__}") from None
        return Answer(answer.status_code, answer.headers, answer.content)


def _transport(endpoint: Endpoint) -> httpx2.AsyncHTTPTransport:
    connections = endpoint.batches + endpoint.singles
    return httpx2.AsyncHTTPTransport(
        verify=endpoint.tls(),
        trust_env=False,
        retries=1,  # of making a connection; httpx never repeats what it has begun to send
        limits=httpx2.Limits(
            max_connections=connections,
            max_keepalive_connections=connections,
            # Below the 5 s after which uvicorn closes an idle connection: a request that meets the closing is lost.
            keepalive_expiry=4.0,
        ),
    )
