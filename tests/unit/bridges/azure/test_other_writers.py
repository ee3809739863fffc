"""Others write the same gateway: their changes are reverted a few times, and then with pauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, secret, service
from tests.unit.bridges.azure.published_system import PublishedSystem

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
WEB = ingress("web", rule("shop.test", ("/", "Prefix", "cart")))
HOUR = 3600


@pytest.fixture
async def system() -> PublishedSystem:
    found = PublishedSystem()
    await found.start(*CART, WEB)
    assert (await found.until_quiet()).state == "Applied"
    return found


def revert(properties: dict[str, Any]) -> None:
    properties["backendAddressPools"] = []


async def contended(system: PublishedSystem, seconds: int) -> None:
    """Another writer reverts the pool after each of our looks, as often as there are seconds."""
    end = system.now + seconds
    while system.now < end:
        for one in system.azure.get()["properties"]["backendAddressPools"]:
            if one["properties"]["backendAddresses"]:
                system.azure.change(revert)
        await system.look()
        system.now += 1


async def test_a_part_that_another_writer_reverts_backs_off(system: PublishedSystem) -> None:
    sent = len(system.azure.puts)
    await contended(system, HOUR)
    # Five reverts, then 1, 2, 4, 8, 16 and 32 minutes.
    assert 5 <= len(system.azure.puts) - sent <= 5 + 7
    system.now -= 60
    found = await system.publisher.publish()
    assert found.state == "Contended" and "backendAddressPools/pool-shop-cart-80-bp-8080" in found.message
    assert system.publisher.contended == ("backendAddressPools/pool-shop-cart-80-bp-8080",)


async def test_what_is_new_is_sent_although_another_part_waits(system: PublishedSystem) -> None:
    await contended(system, 120)
    assert system.passes[-1].state == "Contended"
    await system.apply(ingress("new", rule("new.test", ("/", "Prefix", "cart"))))
    assert (await system.look()).state == "Written"
    assert "new.test" in system.hosts


async def test_a_single_edit_by_hand_is_reverted_at_once(system: PublishedSystem) -> None:
    sent = len(system.azure.puts)
    for _ in range(3):
        system.azure.change(revert)
        assert (await system.look()).state == "Written"
        system.now += HOUR
    assert len(system.azure.puts) == sent + 3
    assert (await system.until_quiet()).state == "Applied"
    assert system.publisher.contended == ()


async def test_a_gateway_that_is_changed_before_each_of_our_writes_backs_off(system: PublishedSystem) -> None:
    original, number = system.put, 0

    async def put(resource: str, document: Mapping[str, Any], etag: str) -> None:
        nonlocal number
        number += 1
        system.azure.change(lambda properties: properties.update(enableHttp2=bool(number % 2)))
        await original(resource, document, etag)

    system.put = put  # type: ignore[method-assign]
    await system.apply(ingress("new", rule("new.test", ("/", "Prefix", "cart"))))
    for _ in range(50):
        found = await system.look()
        if found.state == "Contended":
            break
    assert number == 5 and found.after and found.after > 50
    system.now -= found.after
    assert system.publisher.contended == ("gateway",)
    system.put = original  # type: ignore[method-assign]
    system.now += found.after
    assert (await system.look()).state == "Written"


async def test_a_certificate_that_somebody_uploads_under_our_name_is_replaced(system: PublishedSystem) -> None:
    tls = [{"hosts": ["shop.test"], "secretName": "account"}]
    web = ingress("web", rule("shop.test", ("/", "Prefix", "cart")), tls=tls)
    await system.apply(secret("account", *pair("two.test")), web)
    await system.until_quiet()
    foreign = _public(system)
    await system.apply(secret("account", *pair("one.test")))
    await system.until_quiet()
    ours, sent = _public(system), len(system.azure.puts)

    def upload(properties: dict[str, Any]) -> None:
        properties["sslCertificates"][0]["properties"]["publicCertData"] = foreign

    for _ in range(20):
        system.azure.change(upload)
        if (await system.look()).state == "Contended":
            break
        assert _public(system) == ours
        assert (await system.look()).state == "Applied"
    # Another writer that goes on is waited for.
    assert 5 <= len(system.azure.puts) - sent <= 6
    assert system.passes[-1].state == "Contended"


def _public(system: PublishedSystem) -> str:
    (shown,) = system.azure.get()["properties"]["sslCertificates"]
    return str(shown["properties"]["publicCertData"])
