"""A write that failed is repeated until Azure carries it out, and an answer that is incomplete is none."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.dev.gateway_validation import Fault
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, service
from tests.unit.bridges.azure.published_system import PublishedSystem

pytestmark = pytest.mark.anyio
FAULT = Fault("InternalServerError", "An error occurred.")


@pytest.fixture
async def system() -> PublishedSystem:
    found = PublishedSystem()
    web = ingress("web", rule("shop.test", ("/", "Prefix", "cart")))
    await found.start(service("cart"), endpoint_slice("cart", "10.0.0.1"), web)
    return found


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_write_that_failed_is_repeated_though_azure_shows_the_document(
    system: PublishedSystem, restarts: bool
) -> None:
    system.azure.fails += [FAULT, FAULT]
    for _ in range(2):
        while not (await system.look()).failed:
            pass
        assert system.azure.get()["properties"]["provisioningState"] == "Failed"
        if restarts:
            await system.restart()
    assert (await system.until_quiet()).state == "Applied"
    assert len(system.azure.puts) == 3
    assert system.azure.get()["properties"]["provisioningState"] == "Succeeded"


async def test_a_gateway_that_another_write_left_as_failed_is_not_written(system: PublishedSystem) -> None:
    await system.until_quiet()
    system.azure.change(lambda properties: properties.update(provisioningState="Failed"))
    assert (await system.until_quiet()).state == "Applied"
    assert len(system.azure.puts) == 1


async def test_the_gateways_content_counts_and_not_what_was_sent(system: PublishedSystem) -> None:
    await system.until_quiet()
    system.azure.change(lambda properties: properties["probes"].clear())
    assert (await system.look()).state == "Written"


@pytest.mark.parametrize("missing", ["httpListeners", "requestRoutingRules", "frontendIPConfigurations"])
async def test_an_answer_without_a_list_removes_nothing(system: PublishedSystem, missing: str) -> None:
    await system.until_quiet()
    original = system.get

    async def cut(resource: str) -> dict[str, Any]:
        found = await original(resource)
        found["properties"].pop(missing, None)
        return found

    system.get = cut  # type: ignore[method-assign]
    await system.apply(ingress("new", rule("new.test", ("/", "Prefix", "cart"))))
    found = await system.look()
    assert found.failed and missing in found.message
    assert len(system.azure.puts) == 1
    assert [one.name for one in system.stored.of_kind("appgw_publication")] == ["shop:web"]


async def test_a_publisher_of_another_gateway_leaves_the_records_alone(system: PublishedSystem) -> None:
    await system.until_quiet()
    (whole,) = system.stored.of_kind("appgw_document")
    system.stored._found["appgw_document", whole.uuid] = whole._replace(
        fields={**whole.fields, "gateway": "/subscriptions/s/other"}
    )
    system.azure.stop()
    found = await system.publisher.publish()
    assert found.state == "OtherGateway" and "/subscriptions/s/other" in found.message
    assert [one.name for one in system.stored.of_kind("appgw_publication")] == ["shop:web"]
