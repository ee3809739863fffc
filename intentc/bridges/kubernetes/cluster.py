"""The connection to a cluster: requests with credentials over TLS, and what their answers mean.

Why it exists: no client on PyPI resumes a watch after a cut or notices a silent one, and none reads every kubeconfig
(docs/adr/0020-own-kubernetes-client.md has the measurements). Here are only the calls that the bridge makes. Files that
were replaced, and tokens that ended, are taken without a restart.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec

from intentc.loading.kubeconfig import ClusterAccess
from intentc.model import described
from intentc.model.files import stamps
from intentc.reconcile.backoff import Backoff, retry_after
from intentc.reconcile.failures import (
    Conflict,
    Denied,
    Expired,
    Failure,
    Rejected,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from intentc.writing.bounded import UNCOMPRESSED, AnswerTooLarge, check_uncompressed, read, received
from intentc.writing.rotating import RotatingTransport

from .credentials import Credentials

_LOG = logging.getLogger(__name__)
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 60.0
"""A list of 500 large objects takes a server some seconds."""
_WHOLE_ANSWER_SECONDS = 300.0
"""For an answer as a whole: each piece of it has the time-out above."""
LARGEST_ANSWER = 32 * 1024 * 1024
"""Bytes. A page of a list that is larger is asked for again with fewer objects; the largest object has 1.5 MB."""
_LONGEST_ERROR = 64 * 1024
_LONGEST_PAUSE = 60.0


DENIED = Backoff(0.2, 300.0)
"""Of one object that the cluster does not let us change: RBAC may be granted."""


class TooLarge(Unavailable):
    """An answer has more bytes than we read: ask for less at once."""


class NotServed(Failure):
    """404 for a whole kind: the cluster does not have it (yet)."""


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""


class Cluster:
    """One cluster. ``access`` is called at the start, and again when a file that it names has changed: it raises
    ``InvalidInput`` or ``OSError``."""

    def __init__(self, access: Callable[[], ClusterAccess]) -> None:
        self._read = access
        self._access = access()
        self._credentials = Credentials(self._access)
        self._transport = RotatingTransport(self.server, lambda: stamps(self._access.files), self._opened)
        self._client = httpx2.AsyncClient(
            transport=self._transport,
            trust_env=False,
            timeout=httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS, pool=None),
            headers={"Accept": "application/json", "User-Agent": "intentc-kubernetes", **UNCOMPRESSED},
            follow_redirects=False,
        )

    @property
    def server(self) -> str:
        """The address of its API server."""
        return self._access.server

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        """The body of an answer. Raises ``Failure``."""
        return await self.send("GET", path, parameters)

    async def send(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> bytes:
        """Send one request; again only with new credentials after a 401. Raises ``Failure``."""
        content = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content_type} if content is not None else {}
        for again in (True, False):
            await self._transport.refresh()
            try:
                request = self._client.build_request(
                    method,
                    self._access.server + path,
                    params=dict(parameters or {}),
                    content=content,
                    headers={**headers, **await self._credentials.header()},
                    extensions=self._extensions(),
                )
                sent = self._client.send(request, stream=True)
                answer = await received(sent, most=LARGEST_ANSWER, seconds=_WHOLE_ANSWER_SECONDS)
            except httpx2.HTTPError as error:
                raise self._unavailable(error) from None
            if not (again and answer.status == HTTPStatus.UNAUTHORIZED and self._credentials.renew()):
                break
        if 200 <= answer.status < 300:
            return answer.content
        raise _error(*answer)

    @asynccontextmanager
    async def watching(
        self, path: str, parameters: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The pieces of a watch's answer. They end with the answer; ``Failure`` is raised for an answer that is
        none, for a cut, and after ``silence`` seconds without a byte."""
        await self._transport.refresh()
        timeout = httpx2.Timeout(_ANSWER_SECONDS, connect=_CONNECT_SECONDS, read=silence, pool=None)
        request = self._client.build_request(
            "GET",
            self._access.server + path,
            params=dict(parameters),
            headers=await self._credentials.header(),
            timeout=timeout,
            extensions=self._extensions(),
        )
        try:
            answer = await self._client.send(request, stream=True)
            try:
                if not answer.is_success:
                    if answer.status_code == HTTPStatus.UNAUTHORIZED:
                        self._credentials.renew()
                    with anyio.fail_after(_ANSWER_SECONDS):
                        body = await read(answer, _LONGEST_ERROR)
                    raise _error(answer.status_code, answer.headers, body)
                check_uncompressed(answer)
                yield gathered(answer.aiter_bytes())
            finally:
                # A watch mostly ends by a cancellation, which must not keep its connection open.
                with anyio.CancelScope(shield=True):
                    await answer.aclose()
        except TimeoutError:
            raise Unavailable(f"no whole answer from {self.server} within {_ANSWER_SECONDS:g} s") from None
        except httpx2.HTTPError as error:
            raise self._unavailable(error) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def _extensions(self) -> dict[str, Any]:
        name = {"sni_hostname": self._access.server_name} if self._access.server_name else {}
        return {**name, "trace": _Opening()}

    def _opened(self) -> httpx2.AsyncHTTPTransport:
        """Connections with the files as they are now. Raises ``OSError`` or ``InvalidInput``."""
        access = self._read()
        opened = httpx2.AsyncHTTPTransport(
            verify=_tls(access),
            trust_env=False,
            proxy=access.proxy or None,
            # One connection for each watch, and a few for the other requests.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=16, keepalive_expiry=30.0),
        )
        self._access, self._credentials = access, Credentials(access)
        return opened

    def _unavailable(self, error: httpx2.HTTPError) -> Failure:
        if isinstance(error, AnswerTooLarge):
            return TooLarge(f"{self.server}: {error}", concerns_all=False)
        return Unavailable(f"no answer from {self.server}: {described(error)}")


class _Opening:
    """Closes the TCP connection of a TLS handshake that is cancelled.

    httpcore2 does so for errors only, and nobody holds the connection afterwards, so that ``aclose`` misses it."""

    def __init__(self) -> None:
        self._stream: Any = None

    async def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        """The extension ``trace`` of a request: ``event`` happened to its connection."""
        if event == "connection.connect_tcp.complete":
            self._stream = info["return_value"]
        elif event == "connection.start_tls.complete":
            self._stream = None
        elif event == "connection.start_tls.failed" and self._stream is not None:
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()


def _error(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    try:
        found = msgspec.json.decode(body[:_LONGEST_ERROR], type=_Status)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = _Status(body[:200].decode(errors="replace").strip())
    words = f"{found.message or _phrase(status)} ({status})"
    match status:
        case 401:
            return Unauthenticated(words)
        case 403:
            return Denied(words)
        case 404 if not found.reason or not _names_an_object(found):
            return NotServed(words)
        case 409:
            return Conflict(status, found.message or _phrase(status), found.reason)
        case 410:
            return Expired(words)
        case 429:
            return Throttled(_pause(headers), words)
        case _ if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # At 500, it failed at what this request says.
            return Unavailable(words, _pause(headers), concerns_all=status != HTTPStatus.INTERNAL_SERVER_ERROR)
    return Rejected(status, found.message or _phrase(status), found.reason)


def _names_an_object(found: _Status) -> bool:
    """Whether a 404 is about one object; one for a whole kind says "the server could not find the requested resource",
    or is no ``Status`` at all."""
    return found.reason == "NotFound" and "requested resource" not in found.message


def _pause(headers: Mapping[str, str]) -> float:
    return retry_after(headers.get("Retry-After", ""), _LONGEST_PAUSE)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no words"


def _tls(access: ClusterAccess) -> ssl.SSLContext:
    if not access.server.startswith("https"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if isinstance(access.authority, Path):
            context = ssl.create_default_context(cafile=access.authority)
        elif access.authority:
            context = ssl.create_default_context(cadata=access.authority.decode())
        else:
            context = ssl.create_default_context()
        if access.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.certificate:
            _load_certificate(context, access.certificate, access.key)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise OSError(f"the certificates for {access.server} can't be used: {error}") from None
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes | Path, key: bytes | Path) -> None:
    """OpenSSL reads a certificate from files only; bytes stand in one for a moment, which only we may read."""
    with tempfile.TemporaryDirectory(prefix="intentc-") as folder:
        context.load_cert_chain(
            _file(certificate, Path(folder) / "certificate"), _file(key or certificate, Path(folder) / "key")
        )


def _file(pem: bytes | Path, place: Path) -> Path:
    if isinstance(pem, Path):
        return pem
    place.write_bytes(pem)
    return place


_MOMENT = 0.02
"""Seconds: what a later event waits at most, twice that if it is split from the one before."""
_PLENTY = 32 * 1024
"""Bytes: a portion with so much shows that more is waiting already."""


async def gathered(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same pieces, in portions: those that follow one another closely cost one wake-up together.

    A server sends each event as a piece of its own, and waking up for a piece costs more than seeing that it changes
    nothing. So after a small portion the connection is left alone for a moment, in which the kernel gathers what
    arrives. An event after a pause waits for nothing, and neither does a stream that is behind. If the event loop
    turned while a piece was awaited, it was not there yet: a portion begins."""
    loop = asyncio.get_running_loop()
    portion = 0
    while True:
        turned = asyncio.Event()
        turn = loop.call_soon(turned.set)
        try:
            piece = await anext(pieces)
        except StopAsyncIteration:
            return
        finally:
            turn.cancel()
        begins = turned.is_set()
        is_small, portion = begins and portion < _PLENTY, len(piece) + (0 if begins else portion)
        yield piece
        if is_small:
            await anyio.sleep(_MOMENT)
