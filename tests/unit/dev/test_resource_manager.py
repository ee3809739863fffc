"""A write to the stand-in takes time, meets ETags and other writes, and shows no secrets; so it is over HTTP."""

from __future__ import annotations

import base64

import anyio
import httpx2
import pytest

from intentc.dev.gateway_validation import Fault
from intentc.dev.resource_manager import Answer, ResourceManager, serving_resource_manager
from tests.support.azure_gateway import OWN, item, small_gateway
from tests.support.waiting import until_true


class Clock:
    """Seconds that the test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def manager(clock: Clock) -> ResourceManager:
    return ResourceManager(small_gateway(), clock, put_seconds=30)


def test_a_write_is_updating_until_its_time_is_over(manager: ResourceManager, clock: Clock) -> None:
    shown, operation = manager.put(manager.get())
    assert shown["properties"]["provisioningState"] == "Updating"
    clock.now = 29
    assert manager.operation(operation.name).status == "InProgress"
    clock.now = 30
    assert manager.operation(operation.name).status == "Succeeded"
    assert manager.get()["properties"]["provisioningState"] == "Succeeded"


def test_a_write_with_another_etag_changes_nothing(manager: ResourceManager) -> None:
    before = manager.get()
    manager.change(lambda properties: properties.update(enableHttp2=True))
    with pytest.raises(Answer) as raised:
        manager.put(before, before["etag"])
    assert raised.value.status == 412
    assert manager.get()["properties"]["enableHttp2"] and not manager.puts


def test_a_second_write_ends_the_first(manager: ResourceManager) -> None:
    _, first = manager.put(manager.get())
    _, second = manager.put(manager.get())
    assert manager.operation(first.name).status == "Canceled"
    assert manager.operation(second.name).status == "InProgress"
    assert manager.most_at_once == 2


def test_a_rejected_document_changes_nothing(manager: ResourceManager) -> None:
    before = manager.get()
    manager.rejects.add("pool")
    with pytest.raises(Answer) as raised:
        manager.put(manager.get())
    assert raised.value.status == 400 and f"{OWN}/backendAddressPools/pool" in raised.value.fault.message
    assert manager.get() == before


def test_an_operation_can_fail_after_its_document_was_accepted(manager: ResourceManager, clock: Clock) -> None:
    manager.fails.append(Fault("InternalServerError", "An error occurred."))
    _, operation = manager.put(manager.get())
    clock.now = 30
    assert manager.operation(operation.name).status == "Failed"
    assert manager.get()["properties"]["provisioningState"] == "Failed"


def test_a_stopped_gateway_starts_by_a_write(manager: ResourceManager) -> None:
    manager.stop()
    assert manager.get()["properties"]["operationalState"] == "Stopped"
    shown, _ = manager.put(manager.get())
    assert shown["properties"]["operationalState"] == "Running"


def test_data_of_a_certificate_is_kept_and_never_shown(manager: ResourceManager) -> None:
    data = base64.b64encode(b"a PFX").decode()
    document = manager.get()
    document["properties"]["sslCertificates"] = [item("sslCertificates", "cert", data=data, password="msazure")]
    manager.put(document)
    shown = manager.get()
    assert data not in str(shown) and "msazure" not in str(shown)
    manager.put(shown)
    assert manager.certificate_data("cert") == data


def test_a_new_certificate_needs_data(manager: ResourceManager) -> None:
    document = manager.get()
    document["properties"]["sslCertificates"] = [item("sslCertificates", "cert")]
    with pytest.raises(Answer, match="cert has no data"):
        manager.put(document)


@pytest.mark.anyio
async def test_a_write_over_http_is_polled_until_it_ends() -> None:
    manager = ResourceManager(small_gateway(), anyio.current_time, put_seconds=0.05)
    async with (
        serving_resource_manager(manager, token="secret") as url,
        httpx2.AsyncClient(base_url=url, params={"api-version": "2023-11-01"}) as client,
    ):
        assert (await client.get(OWN)).status_code == 401
        client.headers["Authorization"] = "Bearer secret"
        document = (await client.get(OWN)).json()
        answer = await client.put(OWN, json=document, headers={"If-Match": document["etag"]})
        assert answer.status_code == 200 and answer.json()["properties"]["provisioningState"] == "Updating"
        place = answer.headers["Azure-AsyncOperation"]

        async def has_ended() -> bool:
            return bool((await client.get(place)).json()["status"] != "InProgress")

        await until_true(has_ended)
        assert (await client.get(place)).json() == {"status": "Succeeded"}
        assert (await client.get(answer.headers["Location"])).status_code == 204
        stale = await client.put(OWN, json=document, headers={"If-Match": document["etag"]})
        assert stale.status_code == 412 and stale.json()["error"]["code"] == "PreconditionFailed"


@pytest.mark.anyio
async def test_the_next_answer_can_ask_to_wait() -> None:
    manager = ResourceManager(small_gateway(), anyio.current_time)
    manager.answers.append(Answer(429, Fault("TooManyRequests", "Wait."), {"Retry-After": "7"}))
    async with (
        serving_resource_manager(manager) as url,
        httpx2.AsyncClient(base_url=url, params={"api-version": "2023-11-01"}) as client,
    ):
        refused = await client.get(OWN)
        assert refused.status_code == 429 and refused.headers["Retry-After"] == "7"
        assert (await client.get(OWN)).status_code == 200
