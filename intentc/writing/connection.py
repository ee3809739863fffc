"""The HTTP client of the API server: connections, TLS, log-in, and errors of broken calls.

Why it exists: all requests pass here, so that two rules hold everywhere. An unknown outcome is read back and never
repeated blindly: a request is repeated only if no connection was made, or with a new token after a 401. And no header
or body is ever part of a message. ``answers.py`` interprets answers.

State: the sockets and the token; it keeps no resource.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any

import httpx2

from intentc import crashpoints
from intentc.model.problem import described
from intentc.reconcile.failures import Unavailable, UnknownOutcome, Untrusted

from .answers import Answer
from .bounded import UNCOMPRESSED, received
from .endpoint import Endpoint, trust_lack
from .failover import Addresses
from .keystone import TOKEN_HEADER, Tokens
from .rotating import RotatingTransport

FENCE_HEADER = "X-Intentc-Fence"
"""Carries the fence: every request that writes sends it (docs/engine.md §9)."""

Trace = Callable[[str, dict[str, Any]], Awaitable[None]]
"""httpx's callback for the steps of a request: (step, details)."""

_LARGEST_ANSWER = 256 * 1024 * 1024
"""Bytes: the numbers of all pools of an installation are one answer."""
_WHOLE_ANSWER_SECONDS = 600.0
"""Beyond the time-outs for each piece of an answer."""
_SENT = "http11.send_request_body.complete"
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class Connection:
    """A connection to one endpoint. ``transport`` replaces the network; TLS and limits are up to it then."""

    def __init__(self, endpoint: Endpoint, *, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        for url in map(httpx2.URL, endpoint.urls):
            if url.scheme not in {"http", "https"} or not url.host:
                raise ValueError("the API server's address must be http://host:port or https://host:port")
            if url.userinfo:
                raise ValueError("the API server's address must not hold a password: use client.id and client.password")
        self.endpoint = endpoint
        self._addresses = Addresses(endpoint.urls, "API server")
        # Nothing is read from the environment: a proxy or .netrc for other programs would get the token.
        self._client = httpx2.AsyncClient(
            transport=transport or RotatingTransport(endpoint),
            trust_env=False,
            # Waiting for a free connection has no limit: the other timeouts limit those that use one.
            timeout=httpx2.Timeout(endpoint.answer_seconds, connect=endpoint.connect_seconds, pool=None),
            headers={"Content-Type": "application/json", **UNCOMPRESSED},
        )
        self._tokens = Tokens(endpoint.credentials, self._client) if endpoint.credentials else None

    async def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        *,
        points: Sequence[str] = (),
    ) -> Answer:
        """Send one request once; after a rejected token log in again and repeat it.

        Of several servers the next is asked if nothing was sent to one, if it answers 503 (nothing was written), or if
        no answer came to a read. ``points``: the crash points that are reached when the request is sent. Raises
        ``Unavailable`` if nothing was sent or access is denied, ``UnknownOutcome`` if no answer came.
        """
        if self._tokens is None:
            answer = await self._once(method, path, body, headers or {}, points)
        else:
            token = await self._tokens.token()
            answer = await self._once(method, path, body, {**(headers or {}), TOKEN_HEADER: token}, points)
            if answer.status == HTTPStatus.UNAUTHORIZED:
                token = await self._tokens.renewed(token)
                answer = await self._once(method, path, body, {**(headers or {}), TOKEN_HEADER: token}, points)
        if answer.status == HTTPStatus.UNAUTHORIZED:
            hint = "check that it trusts this Keystone" if self._tokens else "set keystone.authurl and client.id"
            raise Unavailable(f"the API server denies access (401): {hint}")
        return answer

    async def aclose(self) -> None:
        """Close all connections; calls under way end with ``UnknownOutcome``."""
        await self._client.aclose()

    async def _once(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], points: Sequence[str]
    ) -> Answer:
        """Send a request to the server in use, and to the next if that one certainly carried out nothing."""
        busy: Answer | None = None
        failures: list[Unavailable | UnknownOutcome] = []
        for base in self._addresses.in_turn():
            try:
                answer = await self._at(base, method, path, body, headers, points)
            except Unavailable as error:
                failures.append(error)
            except UnknownOutcome as error:
                if method != "GET":
                    self._addresses.failed(base)
                    raise
                failures.append(error)
            else:
                if answer.status != HTTPStatus.SERVICE_UNAVAILABLE:
                    self._addresses.works(base)
                    return answer
                busy = answer
            self._addresses.failed(base)
        if busy is not None:
            return busy
        if len(failures) == 1:
            raise failures[0]
        raise type(failures[0])("; ".join(map(str, failures)))

    async def _at(
        self, base: str, method: str, path: str, body: bytes | None, headers: dict[str, str], points: Sequence[str]
    ) -> Answer:
        # Only tests arm crash points: with a trace httpx reports each step.
        extensions = {"trace": _reaching(points)} if points and crashpoints.armed() else None
        try:
            request = self._client.build_request(
                method, base + path, content=body, headers=headers, extensions=extensions
            )
            sent = self._client.send(request, stream=True)
            answer = await received(sent, most=_LARGEST_ANSWER, seconds=_WHOLE_ANSWER_SECONDS)
        except _NOT_SENT as error:
            if lack := trust_lack(error):
                raise Untrusted(f"no connection to {base}: {lack} ({error})") from None
            raise Unavailable(f"no connection to {base}: {described(error)}") from None
        except httpx2.HTTPError as error:
            raise UnknownOutcome(f"{method} {path}: no answer: {described(error)}{_hint(error, base)}") from None
        return Answer(*answer)


def _hint(error: httpx2.HTTPError, base: str) -> str:
    """A hint for a cut connection: a server that rejects our certificate first accepts the connection."""
    cut = isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
    if not (cut and base.startswith("https")):
        return ""
    return "; if it stays so, the server may not take our certificate: see client.tls"


def in_process(application: Callable[..., Any]) -> Connection:
    """A connection to an ASGI application in this process, without a network."""
    return Connection(Endpoint(url="http://in-process"), transport=httpx2.ASGITransport(app=application))


def _reaching(points: Sequence[str]) -> Trace:
    """A trace that reaches ``points`` when the kernel has the whole request and no answer is read."""

    async def trace(step: str, details: dict[str, Any]) -> None:
        if step == _SENT:
            for point in points:
                crashpoints.reach(point)

    return trace


def fence_header(fence: str | None) -> dict[str, str]:
    """The header that carries the fence, if there is one."""
    return {} if fence is None else {FENCE_HEADER: fence}
