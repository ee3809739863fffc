"""The client of Resource Manager over HTTP against the stand-in: what each answer means for the publisher."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from azure.core.credentials import AccessToken

from intentc.bridges.azure.client import Absent, NotAccepted, ResourceManagerClient
from intentc.dev.gateway_validation import Fault
from intentc.dev.resource_manager import Answer, ResourceManager, serving_resource_manager
from intentc.reconcile.failures import Conflict, Denied, Throttled, Unavailable
from tests.support.azure_gateway import OWN, small_gateway

pytestmark = pytest.mark.anyio


class Credential:
    """Always the same token."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        """The token, for ever."""
        return AccessToken(self._token, 2**40)

    async def close(self) -> None:
        """Nothing is open."""

    async def __aenter__(self) -> Credential:
        return self

    async def __aexit__(self, *args: object) -> None:
        """Nothing is open."""


@asynccontextmanager
async def connected(manager: ResourceManager, token: str = "secret") -> AsyncIterator[ResourceManagerClient]:
    async with (
        serving_resource_manager(manager, token="secret") as url,
        ResourceManagerClient(url, Credential(token), poll_seconds=0.01) as client,
    ):
        yield client


@pytest.fixture
def manager() -> ResourceManager:
    return ResourceManager(small_gateway(), anyio.current_time, put_seconds=0.05)


async def test_a_write_returns_when_azure_is_done(manager: ResourceManager) -> None:
    async with connected(manager) as client:
        document = await client.get(OWN)
        document["tags"] = {"team": "shop"}
        await client.put(OWN, document, document["etag"])
        shown = await client.get(OWN)
    assert shown["tags"] == {"team": "shop"} and shown["properties"]["provisioningState"] == "Succeeded"


async def test_a_write_after_another_writer_is_changed(manager: ResourceManager) -> None:
    async with connected(manager) as client:
        document = await client.get(OWN)
        manager.change(lambda properties: properties.update(enableHttp2=True))
        with pytest.raises(Conflict):
            await client.put(OWN, document, document["etag"])


async def test_a_rejected_document_has_azures_code_and_words(manager: ResourceManager) -> None:
    async with connected(manager) as client:
        document = await client.get(OWN)
        document["properties"]["requestRoutingRules"][0]["properties"]["priority"] = 0
        with pytest.raises(NotAccepted, match="requestRoutingRules/shop") as raised:
            await client.put(OWN, document, document["etag"])
    assert raised.value.rejection.code == "ApplicationGatewayRequestRoutingRulePriorityCannotBeEmpty"


async def test_an_operation_that_was_superseded_is_to_be_tried_again(manager: ResourceManager) -> None:
    manager.fails.append(Fault("CanceledAndSupersededDueToAnotherOperation", "Operation was superseded."))
    async with connected(manager) as client:
        document = await client.get(OWN)
        with pytest.raises(Unavailable, match="superseded"):
            await client.put(OWN, document, document["etag"])


async def test_an_operation_that_fails_for_the_document_is_a_rejection(manager: ResourceManager) -> None:
    manager.fails.append(Fault("ApplicationGatewayX", "No pool."))
    async with connected(manager) as client:
        document = await client.get(OWN)
        with pytest.raises(NotAccepted, match="No pool"):
            await client.put(OWN, document, document["etag"])


async def test_a_gateway_that_is_not_there_is_absent(manager: ResourceManager) -> None:
    manager.gateway = None
    async with connected(manager) as client:
        with pytest.raises(Absent):
            await client.get(OWN)


async def test_a_wrong_token_is_denied(manager: ResourceManager) -> None:
    async with connected(manager, token="other") as client:
        with pytest.raises(Denied, match="InvalidAuthenticationToken"):
            await client.get(OWN)


async def test_an_answer_that_asks_to_wait_says_how_long(manager: ResourceManager) -> None:
    manager.answers.append(Answer(429, Fault("TooManyRequests", "Wait."), {"Retry-After": "7"}))
    async with connected(manager) as client:
        with pytest.raises(Throttled) as raised:
            await client.get(OWN)
        assert raised.value.seconds == 7
        assert manager.requests == ["GET"]


async def test_a_failing_server_is_no_answer(manager: ResourceManager) -> None:
    manager.answers.append(Answer(503, Fault("ServerBusy", "Later.")))
    async with connected(manager) as client:
        with pytest.raises(Unavailable, match="503 ServerBusy"):
            await client.get(OWN)


async def test_a_server_that_is_away_is_no_answer() -> None:
    async with ResourceManagerClient("http://127.0.0.1:1", Credential("x")) as client:
        with pytest.raises(Unavailable):
            await client.get(OWN)


async def test_a_poll_that_is_throttled_says_nothing_of_the_document(manager: ResourceManager) -> None:
    async with connected(manager) as client:
        document = await client.get(OWN)
        manager.on_put = lambda former, sent: manager.answers.append(Answer(429, Fault("TooManyRequests", "Wait.")))
        with pytest.raises(Unavailable):
            await client.put(OWN, document, document["etag"])
