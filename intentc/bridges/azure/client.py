"""Reads and writes one application gateway, and reads its public addresses, through Azure Resource Manager.

``azure.core`` has the tokens' header, and how long-running operations are polled; ``transport`` sends, within limits,
and to no other host, whatever address an answer names. Errors become those of ``reconcile.failures`` here
(docs/appgw.md §11). Nothing is retried, except a request whose token Azure challenges: the publisher decides after a
new look at the gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from types import TracebackType
from typing import Any

from azure.core import AsyncPipelineClient
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import AzureError, ClientAuthenticationError, HttpResponseError, ODataV4Format
from azure.core.pipeline import PipelineResponse
from azure.core.pipeline.policies import (
    AsyncBearerTokenCredentialPolicy,
    AsyncRetryPolicy,
    HeadersPolicy,
    RequestIdPolicy,
    UserAgentPolicy,
)
from azure.core.polling import AsyncLROPoller
from azure.core.polling.async_base_polling import AsyncLROBasePolling
from azure.core.polling.base_polling import (
    LocationPolling,
    LongRunningOperation,
    OperationResourcePolling,
    StatusCheckPolling,
)
from azure.core.rest import AsyncHttpResponse, HttpRequest

from intentc import crashpoints
from intentc.reconcile.backoff import retry_after
from intentc.reconcile.failures import Conflict, Denied, Failure, Rejected, Throttled, Unavailable

from .rejections import Rejection, rejection_of
from .transport import LONGEST_PAUSE, BoundedTransport

API_VERSION = "2023-11-01"
_POLL_SECONDS = 10.0
"""Between polls where Azure does not say how long to wait."""
_OPERATION_SECONDS = 2 * 3600.0
"""For a write; Azure takes up to half an hour."""
_LONGEST_PAUSE = 300.0
"""Seconds; a longer ``Retry-After`` counts as a mistake."""

Document = dict[str, Any]


class Absent(Rejected):
    """There is no such resource."""


class NotAccepted(Rejected):
    """Azure rejects the document."""

    def __init__(self, rejection: Rejection, status: int = 400) -> None:
        super().__init__(status, rejection.words)
        self.rejection = rejection


class ResourceManagerClient:
    """An open client of one Resource Manager; an asynchronous context.

    ``url``: such as ``https://management.azure.com``. ``credential``: of ``azure.identity.aio``. ``poll_seconds``:
    between polls where Azure does not say. Plain HTTP is for loopback, in tests."""

    def __init__(
        self,
        url: str,
        credential: AsyncTokenCredential,
        *,
        api_version: str = API_VERSION,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self._url = url.rstrip("/")
        self._version = api_version
        self._poll_seconds = poll_seconds
        self._with_tls = not self._url.startswith("http://127.0.0.1:")
        policies = [
            RequestIdPolicy(),
            HeadersPolicy(),
            UserAgentPolicy("intentc"),
            AsyncRetryPolicy(retry_total=0),
            AsyncBearerTokenCredentialPolicy(credential, f"{self._url}/.default"),
        ]
        transport = BoundedTransport(self._url)
        self._client: AsyncPipelineClient[HttpRequest, AsyncHttpResponse] = AsyncPipelineClient(
            base_url=self._url, policies=policies, transport=transport
        )

    async def __aenter__(self) -> ResourceManagerClient:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def get(self, resource: str) -> Document:
        """A resource by its id. Raises ``Absent``, ``Denied``, ``Unavailable``."""
        try:
            response = await self._send(HttpRequest("GET", self._url + resource, params={"api-version": self._version}))
        except (NotAccepted, Conflict) as error:
            raise Unavailable(str(error)) from None
        return _object(response)

    async def put(self, resource: str, document: Mapping[str, Any], etag: str) -> None:
        """Write a gateway that still has ``etag``, and wait until Azure is done. Raises ``Conflict``, ``NotAccepted``,
        ``Absent``, ``Denied``, and ``Unavailable``, also for an operation that failed or was canceled."""
        request = HttpRequest(
            "PUT",
            self._url + resource,
            params={"api-version": self._version},
            headers={"If-Match": etag},
            json=dict(document),
        )
        initial = await self._pipeline(request)
        crashpoints.reach("document.sent")
        # The default is a header of other services; the last one means: done at once, as the status says.
        ways: list[LongRunningOperation[Any, Any]] = [
            OperationResourcePolling("azure-asyncoperation"),
            LocationPolling(),
            StatusCheckPolling(),
        ]
        polling = _Polling(self._poll_seconds, lro_algorithms=ways, enforce_https=self._with_tls)
        try:
            async with asyncio.timeout(_OPERATION_SECONDS):
                await AsyncLROPoller(self._client, initial, lambda response: None, polling).result()
        except TimeoutError:
            raise Unavailable(f"the operation has not ended within {_OPERATION_SECONDS / 3600:g} hours") from None
        except HttpResponseError as error:
            raise _failed(error) from None
        except AzureError as error:
            raise Unavailable(str(error)) from None

    async def _send(self, request: HttpRequest) -> AsyncHttpResponse:
        response: AsyncHttpResponse = (await self._pipeline(request)).http_response
        return response

    async def _pipeline(self, request: HttpRequest) -> PipelineResponse[HttpRequest, AsyncHttpResponse]:
        try:
            sent: Awaitable[Any] = self._client.send_request(
                request, stream=False, _return_pipeline_response=True, enforce_https=self._with_tls
            )
            result: PipelineResponse[HttpRequest, AsyncHttpResponse] = await sent
        except ClientAuthenticationError as error:
            raise Denied(str(error.message)) from None
        except AzureError as error:
            raise Unavailable(str(error.message)) from None
        _raise_for(result.http_response)
        return result


def _raise_for(response: AsyncHttpResponse) -> None:
    """Raise for an answer that is an error."""
    status = response.status_code
    if status < 300:
        return
    if status < 400:
        raise Unavailable(f"it answers with a redirect ({status}), and the token is sent to no other address")
    words = _rejection(response)
    match status:
        case 401 | 403:
            raise Denied(words.words)
        case 404:
            raise Absent(status, words.words)
        case 412:
            raise Conflict(status, words.words)
        case 429:
            raise Throttled(retry_after(response.headers.get("Retry-After", ""), _LONGEST_PAUSE))
        case _ if status < 500 and status not in (408, 409):
            raise NotAccepted(words, status)
        case _:
            raise Unavailable(f"{status} {words.words}")


def _failed(error: HttpResponseError) -> Failure:
    """An operation that did not end well: rejected after all, or to be tried again."""
    if error.status_code is not None and error.status_code >= 300:
        # The question how far it is was answered so, and not the operation.
        return Unavailable(str(error.message))
    odata = error.error
    if isinstance(odata, ODataV4Format) and odata.code not in _FOR_ANOTHER_TRY:
        return NotAccepted(Rejection(str(odata.code), str(odata.message)))
    return Unavailable(str(error.message))


_FOR_ANOTHER_TRY = frozenset(
    {
        "Canceled",
        "CanceledAndSupersededDueToAnotherOperation",
        "InternalServerError",
        "OperationTimedOut",
        "RetryableError",
        "AnotherOperationInProgress",
    }
)
"""Codes of operations that failed for a reason that lies not in the document."""


def _object(response: AsyncHttpResponse) -> Document:
    try:
        found = response.json()
    except ValueError as error:
        raise Unavailable(f"the answer is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise Unavailable("the answer is no JSON object")
    return found


def _rejection(response: AsyncHttpResponse) -> Rejection:
    try:
        return rejection_of(response.json())
    except ValueError:
        return Rejection(str(response.status_code), response.text()[:500])


class _Polling(AsyncLROBasePolling[Any, Any, Any]):
    def _extract_delay(self) -> float:
        """Seconds until the next poll. The library's own reads ``inf`` and fails at other words."""
        text = self._pipeline_response.http_response.headers.get("Retry-After", "")
        return retry_after(text, LONGEST_PAUSE) or self._timeout
