"""A new process of the publisher sends nothing that the gateway has, whatever Azure made of it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from intentc.bridges.azure.compiled_world import StoredWorld
from intentc.bridges.azure.pfx import Pair
from intentc.model.events import Snapshot
from tests.support.appgw.certificates import pair
from tests.support.appgw.manifests import endpoint_slice, ingress, rule, secret, service
from tests.unit.bridges.azure.published_system import Killed, PublishedSystem

pytestmark = pytest.mark.anyio
CART = (service("cart"), endpoint_slice("cart", "10.0.0.1"))
TLS = [{"hosts": ["shop.test"], "secretName": "account"}]
WEB = ingress("web", rule("shop.test", ("/", "Prefix", "cart")), tls=TLS)


async def started(**fills_in: dict[str, int]) -> PublishedSystem:
    system = PublishedSystem()
    system.azure.fills_in = fills_in
    await system.start(*CART, WEB, secret("account", *pair("one.test")))
    return system


def chain(system: PublishedSystem) -> list[str]:
    """Which of the test's certificates the gateway has."""
    (shown,) = system.azure.get()["properties"]["sslCertificates"]
    names = ("one.test", "two.test")
    pairs = {name: Pair(base64.b64decode(pair(name).chain), b"") for name in names}
    return [name for name, one in pairs.items() if one.is_in(shown["properties"]["publicCertData"])]


async def test_what_azure_fills_in_is_known_after_a_restart() -> None:
    system = await started(probes={"extra": 1})
    await system.until_quiet()
    await system.restart()
    assert (await system.look()).state == "Applied"
    assert len(system.azure.puts) == 1


async def test_what_azure_filled_in_unseen_is_no_difference() -> None:
    system = await started(probes={"extra": 1})

    def kill(former: dict[str, Any], sent: dict[str, Any]) -> None:
        system.kill_at = system.steps + 1

    system.azure.on_put = kill
    with pytest.raises(Killed):
        await system.until_quiet()
    system.azure.on_put = lambda former, sent: None
    await system.restart()
    assert (await system.until_quiet()).state == "Applied"
    assert len(system.azure.puts) == 1


async def test_an_edit_by_hand_while_nobody_publishes_is_reverted() -> None:
    system = await started(probes={"extra": 1})
    await system.until_quiet()
    system.azure.change(lambda properties: properties["probes"][0]["properties"].update(path="/else"))
    await system.restart()
    assert (await system.look()).state == "Written"


async def test_a_secret_that_changes_twice_within_one_compile_leaves_the_first_one() -> None:
    system = await started()
    await system.until_quiet()
    # The publisher sees the second content, and the compiler never does.
    system.compiles = False
    await sync_secret(system, "two.test")
    await system.look()
    await sync_secret(system, "one.test")
    system.compiles = True
    assert (await system.until_quiet()).state == "Applied"
    assert chain(system) == ["one.test"]


async def test_a_restored_store_gets_the_records_again() -> None:
    system = await started()
    await system.until_quiet()
    (record,) = system.stored.of_kind("appgw_published")
    await system.offline.server.sync(
        [{"kind": "appgw_published", "operation": "DELETE", "data": {"uuid": record.uuid}}]
    )
    assert (await system.look()).state == "Applied"
    assert system.stored.published("gw") == system.publisher.published
    assert len(system.azure.puts) == 1


def test_a_snapshot_of_a_restored_store_takes_the_revision_back() -> None:
    stored = StoredWorld()
    stored.take(Snapshot(10, ()))
    stored.take(Snapshot(4, (), restored=True))
    assert (stored.revision, stored.restores) == (4, 1)


async def sync_secret(system: PublishedSystem, name: str) -> None:
    """Write the Secret without letting the compiler work."""
    world = system.offline.engine.world
    key = world.named("secret", ("shop", "account"))
    assert key is not None
    found = pair(name)
    data = {"uuid": key.uuid, "data": {"tls.crt": found.chain, "tls.key": found.key}}
    await system.offline.server.sync([{"kind": "secret", "operation": "UPDATE", "data": data}])
