"""The HTTP client of the API server: connections, TLS, log-in, errors of broken calls, and what the server can do.

Why it exists: all requests pass here, so that two rules hold everywhere. An unknown outcome is read back and never
repeated blindly: a request is repeated only if no connection was made, or with a new token after a 401. And no header
or body is ever part of a message. ``answers.py`` interprets answers.

Contrail's server lacks what ours adds (``apiserver/app.py`` lists it), and intentc works with both: ``Capabilities``
learns it from ``GET /`` and from answers.

State: what is known of the server; ``bulk`` and ``http`` note what answers show.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from intentc.model.problem import described
from intentc.reconcile.failures import Throttled, Unavailable, UnknownOutcome, Untrusted

from .answers import REVISION_HEADER, Answer, failure
from .bounded import UNCOMPRESSED, received
from .endpoint import Addresses, Endpoint, trust_lack
from .keystone import TOKEN_HEADER, Tokens
from .rotating import RotatingTransport

FENCE_HEADER = "X-Intentc-Fence"
"""Carries the fence: every request that writes sends it (docs/engine.md §9)."""

_LARGEST_ANSWER = 256 * 1024 * 1024
"""Bytes: the numbers of all pools of an installation are one answer."""
_WHOLE_ANSWER_SECONDS = 600.0
"""Beyond the time-outs for each piece of an answer."""
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
        self.capabilities = Capabilities()
        self._addresses = Addresses(endpoint.urls, "API server")
        # Nothing is read from the environment: a proxy or .netrc for other programs would get the token.
        self._client = httpx2.AsyncClient(
            transport=transport or RotatingTransport(endpoint.url, endpoint.stamps, partial(_opened, endpoint)),
            trust_env=False,
            # Waiting for a free connection has no limit: the other timeouts limit those that use one.
            timeout=httpx2.Timeout(endpoint.answer_seconds, connect=endpoint.connect_seconds, pool=None),
            headers={"Content-Type": "application/json", **UNCOMPRESSED},
        )
        self._tokens = Tokens(endpoint.credentials, self._client) if endpoint.credentials else None

    async def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Send one request once; after a rejected token log in again and repeat it.

        Of several servers the next is asked if nothing was sent to one, if it answers 503 (nothing was written), or if
        no answer came to a read. Raises ``Unavailable`` if nothing was sent or access is denied, ``UnknownOutcome`` if
        no answer came.
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
            raise Unavailable(f"the API server denies access (401): {hint}")
        return answer

    async def aclose(self) -> None:
        """Close all connections; calls under way end with ``UnknownOutcome``."""
        await self._client.aclose()

    async def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        def send(base: str) -> Awaitable[Answer]:
            return self._at(base, method, path, body, headers)

        _, answer = await self._addresses.ask(send, repeats=method == "GET")
        return answer

    async def _at(self, base: str, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        try:
            request = self._client.build_request(method, base + path, content=body, headers=headers)
            sent = self._client.send(request, stream=True)
            return await received(sent, most=_LARGEST_ANSWER, seconds=_WHOLE_ANSWER_SECONDS)
        except _NOT_SENT as error:
            if lack := trust_lack(error):
                raise Untrusted(f"no connection to {base}: {lack} ({error})") from None
            raise Unavailable(f"no connection to {base}: {described(error)}") from None
        except httpx2.HTTPError as error:
            raise UnknownOutcome(f"{method} {path}: no answer: {described(error)}{_hint(error, base)}") from None


def _opened(endpoint: Endpoint) -> httpx2.AsyncHTTPTransport:
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


def _hint(error: httpx2.HTTPError, base: str) -> str:
    """A hint for a cut connection: a server that rejects our certificate first accepts the connection."""
    cut = isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
    if not (cut and base.startswith("https")):
        return ""
    return "; if it stays so, the server may not take our certificate: see client.tls"


def in_process(application: Callable[..., Any]) -> Connection:
    """A connection to an ASGI application in this process, without a network."""
    return Connection(Endpoint(url="http://in-process"), transport=httpx2.ASGITransport(app=application))


def fence_header(fence: str | None) -> dict[str, str]:
    """The header that carries the fence, if there is one."""
    return {} if fence is None else {FENCE_HEADER: fence}


_LOG = logging.getLogger(__name__)


class _About(msgspec.Struct):
    max_txn_ops: int = 0
    relaxed_references: bool = False
    fence: bool = False


class Capabilities:
    """The capabilities of a server.

    ``bulk``: it has ``/sync``. ``revisions``: it sends ``X-Etcd-Revision``, and so checks our conditions (None: not
    known yet). ``operations``: the most operations of one of its transactions (None: not asked yet, 0: unknown to us).
    ``relaxes``: it relaxes references in the transaction that writes them. ``fences``: it rejects writes of former
    leaders (None: not known yet).
    """

    def __init__(self) -> None:
        self.bulk = True
        self.revisions: bool | None = None
        self.operations: int | None = None
        self.relaxes = False
        self.fences: bool | None = None
        self._asking = asyncio.Lock()

    async def learn(self, connection: Connection) -> None:
        """Ask the server (``GET /``) unless it was asked before. Raises ``Unavailable`` or ``Throttled``."""
        async with self._asking:
            if self.operations is not None:
                return
            try:
                answer = await connection.send("GET", "/")
            except UnknownOutcome as error:
                raise Unavailable(str(error)) from None
            failed = None if answer.ok else failure(answer)
            if isinstance(failed, Throttled):
                raise failed
            self.note_about(answer)

    def note(self, answer: Answer) -> int | None:
        """The revision of an acknowledged write; None if the server sends none, which is logged once."""
        revision = answer.revision
        if revision is not None:
            self.revisions = True
        elif self.revisions is None:
            self.revisions = self.fences = False
            _LOG.warning(
                "the API server sends no %s: continuing without compare-and-set and without the fence;"
                " let no second compiler write there",
                REVISION_HEADER,
            )
        return revision

    def note_about(self, answer: Answer) -> None:
        """Note the capabilities in the answer to ``GET /``."""
        try:
            about = msgspec.json.decode(answer.content, type=_About)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            about = _About()
        self.operations = max(0, about.max_txn_ops)
        self.relaxes = about.relaxed_references
        if not about.fence and self.fences is None and self.revisions is not False:
            _LOG.warning(
                "the API server checks no fences: a former leader that does not know yet that it is one could still"
                " write there"
            )
        self.fences = about.fence

    def note_no_bulk(self) -> None:
        """Note that the server has no ``/sync``."""
        if self.bulk:
            self.bulk = False
            _LOG.warning("the API server has no /sync: writing one by one, which is slower")
