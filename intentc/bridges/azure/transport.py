"""Sends the requests of Azure's libraries, within limits: to one host, bounded answers, bounded waits.

A token must reach no other host than the configured one, although answers name the addresses of long-running
operations; and the transport of ``azure.core`` reads bodies of any size and depth, decompresses them, and sleeps as
long as an answer says. Beyond a limit a request has failed, as an ``AzureError`` whose message says why. Redirects are
not followed.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Any
from urllib.parse import urlsplit

from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import AsyncioRequestsTransport
from azure.core.rest import AsyncHttpResponse
from urllib3.exceptions import HTTPError as _HTTPError

from intentc.model.limits import deeper_than

LARGEST_ANSWER = 8 * 1024 * 1024
"""Bytes. Resource Manager takes and gives 4 MB at most."""
DEEPEST = 64
"""Levels of objects and arrays."""
LONGEST_PAUSE = 60.0
"""Seconds between two polls of an operation, whatever an answer asks for."""
ANSWER_SECONDS = 60.0
"""For a connection, and for each piece of an answer."""
WHOLE_ANSWER_SECONDS = 120.0
"""For a whole answer."""
_PIECE = 64 * 1024


class BoundedTransport(AsyncioRequestsTransport):  # type: ignore[misc]  # it is loaded when it is used
    """``origin``: the only scheme, host and port that requests may have, as a URL; empty: any."""

    def __init__(self, origin: str = "") -> None:
        super().__init__(connection_timeout=ANSWER_SECONDS, read_timeout=ANSWER_SECONDS)
        self._origin = _origin(origin) if origin else None

    async def send(self, request: Any, *, proxies: Any = None, **kwargs: Any) -> Any:
        """Send a request, and read its whole answer. Raises ``AzureError``."""
        if self._origin is not None and _origin(request.url) != self._origin:
            host = (urlsplit(request.url).netloc.rpartition("@")[2] or "no host")[:200]
            raise ServiceRequestError(
                f"the answer names an address at {host!r}, which is not {self._origin[1]}: nothing is sent there"
            )
        request.headers["Accept-Encoding"] = "identity"
        try:
            async with asyncio.timeout(WHOLE_ANSWER_SECONDS):
                response: Any = await super().send(request, proxies=proxies, **{**kwargs, "stream": True})
                # Clients of the two generations of the library get answers of two classes.
                is_new = isinstance(response, AsyncHttpResponse)
                internal = response._internal_response if is_new else response.internal_response
                body = await asyncio.to_thread(_read, internal)
        except TimeoutError:
            raise ServiceResponseError(f"no whole answer within {WHOLE_ANSWER_SECONDS:g} s") from None
        # As the library leaves an answer that it has read itself.
        internal._content = body
        if is_new:
            response._content = body
            await response._set_read_checks()
        return response

    async def sleep(self, duration: float) -> None:
        """Wait, ``LONGEST_PAUSE`` at most."""
        await asyncio.sleep(LONGEST_PAUSE if math.isnan(duration) else min(max(duration, 0.0), LONGEST_PAUSE))


def _origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port. Raises ``ServiceRequestError`` for a URL without them."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:
        raise ServiceRequestError("the answer names an address that is no URL") from None
    return parts.scheme, (parts.hostname or "").lower(), port


def _read(answer: Any) -> bytes:
    """The body of an answer of ``requests``, read in a thread. Raises ``ServiceResponseError``."""
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    end = time.monotonic() + WHOLE_ANSWER_SECONDS
    body = bytearray()
    try:
        if encoding not in ("", "identity"):
            raise ServiceResponseError(f"the answer is compressed ({encoding[:20]!r}), which was not asked for")
        while piece := answer.raw.read1(_PIECE, decode_content=False):
            body += piece
            if len(body) > LARGEST_ANSWER:
                raise ServiceResponseError(f"the answer has more than {LARGEST_ANSWER:,} bytes")
            if time.monotonic() > end:
                raise ServiceResponseError(f"no whole answer within {WHOLE_ANSWER_SECONDS:g} s")
        # Its connection can be used again.
        answer._content_consumed = True
    except (OSError, ValueError, _HTTPError) as error:
        raise ServiceResponseError(f"the answer was cut: {type(error).__name__}") from None
    finally:
        answer.close()
    found = bytes(body)
    if deeper_than(found, DEEPEST):
        raise ServiceResponseError(f"the answer is nested deeper than {DEEPEST} levels")
    return found
