"""A rejected Ingress is tried again when anything changes that its sub-resources come from, and not before."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import Manifest, endpoint_slice, ingress, rule, secret, service
from tests.unit.bridges.azure.published_system import PublishedSystem

pytestmark = pytest.mark.anyio
PATHS = ("/", "Prefix", "cart")
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
TLS = [{"hosts": ["bad.test"], "secretName": "account"}]
GOOD = ingress("good", rule("good.test", ("/", "Prefix", "cart")), created="2026-01-01T00:00:00Z")


def bad(**spec: Any) -> Manifest:
    return ingress("web", rule("bad.test", PATHS), created="2026-02-01T00:00:00Z", **spec)


async def rejected(given: Manifest, *more: Manifest) -> PublishedSystem:
    """A system in which Azure has rejected the Ingress ``shop:web``."""
    system = PublishedSystem()
    await system.start(*CART, GOOD, given, *more)
    system.azure.rejects.add("bad.test")
    assert (await system.until_quiet()).state == "Applied"
    assert system.hosts == ["good.test"]
    (problem,) = system.offline.problems()
    assert (problem.name, problem.reason) == ("shop:web", "Rejected")
    assert problem.message.count("ApplicationGatewayRejectedForATest") == 1
    return system


async def test_nothing_is_sent_while_nothing_changes() -> None:
    system = await rejected(bad())
    sent = system.azure.requests.count("PUT")
    for _ in range(5):
        assert (await system.look()).state == "Applied"
    await system.restart()
    assert (await system.look()).state == "Applied"
    assert system.azure.requests.count("PUT") == sent


@pytest.mark.parametrize(
    "repair",
    [
        pytest.param([bad(annotations={"request-timeout": "20"})], id="ingress"),
        pytest.param([service("cart", target=8081), endpoint_slice("cart", "10.0.0.1", port=8081)], id="service"),
        pytest.param([endpoint_slice("cart", "10.0.0.2")], id="endpoints"),
    ],
)
async def test_a_change_of_what_it_comes_from_brings_it_back(repair: list[Manifest]) -> None:
    system = await rejected(bad())
    system.azure.rejects.clear()
    await system.apply(*repair)
    assert (await system.until_quiet()).state == "Applied"
    assert system.hosts == ["bad.test", "good.test"]
    assert not system.stored.of_kind("appgw_rejection")


async def test_a_repaired_secret_brings_it_back() -> None:
    system = await rejected(bad(tls=TLS), secret("account", *pair("bad.test")))
    system.azure.rejects.clear()
    await system.apply(secret("account", *pair("repaired.test")))
    assert (await system.until_quiet()).state == "Applied"
    assert system.hosts == ["bad.test", "good.test"]


async def test_after_a_restart_a_change_made_meanwhile_counts() -> None:
    system = await rejected(bad())
    await system.apply(endpoint_slice("cart", "10.0.0.9"))
    system.azure.rejects.clear()
    await system.restart()
    assert (await system.until_quiet()).state == "Applied"
    assert system.hosts == ["bad.test", "good.test"]


async def test_endpoints_that_come_and_go_are_tried_with_back_off() -> None:
    system = await rejected(bad())
    sent = system.azure.requests.count("PUT")
    for number in range(40):
        await system.apply(endpoint_slice("cart", f"10.0.1.{number}"))
        await system.until_quiet()
        system.now += 1
    tries = len([one for one in system.passes if one.state == "Rejected"]) - 1
    assert 1 < tries < 8
    # Each change is sent for the other Ingress, and each try is two rejected documents.
    assert system.azure.requests.count("PUT") == sent + 40 + 2 * tries


async def test_the_record_and_its_tries_go_with_their_ingress() -> None:
    system = await rejected(bad())
    await system.apply(endpoint_slice("cart", "10.0.0.9"))
    await system.until_quiet()
    retried = system.publisher._retried_ingresses
    assert set(retried._tries) == {"shop:web"}
    await system.delete(("Ingress", "shop", "web"))
    assert (await system.until_quiet()).state == "Applied"
    assert not system.stored.of_kind("appgw_rejection")
    assert not retried._tries
