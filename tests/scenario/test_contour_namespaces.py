"""The Namespace of a Contour that asks for its removal, and that is being deleted (docs/gateway.md §10)."""

from __future__ import annotations

import pytest

from tests.support.gateway.documents import HTTP, contour, gateway, gateway_class
from tests.support.gateway.system import GatewaySystem

pytestmark = pytest.mark.anyio

CONTOUR, GATEWAY = contour("web", namespace="zone", instance="edge"), gateway("web", HTTP, namespace="edge")
HELD = ("ConfigMap", "contour", "edge")


async def ending() -> GatewaySystem:
    """The Contour is being deleted, and one of its objects isn't gone yet."""
    system = GatewaySystem()
    for document in (gateway_class(), CONTOUR):
        await system.put(document)
    await system.work()
    system.cluster.hold_back(*HELD)
    await system.delete(CONTOUR)
    await system.work()
    return system


async def test_it_is_deleted_with_the_last_of_them() -> None:
    system = await ending()
    assert "Namespace edge" in system.cluster.objects
    system.cluster.let_go(*HELD)
    await system.work()
    assert system.cluster.objects == ()
    await system.assert_done()


async def test_it_stays_if_a_gateway_is_created_in_it_meanwhile() -> None:
    system = await ending()
    await system.put(GATEWAY)
    await system.work()
    system.cluster.let_go(*HELD)
    await system.work()
    assert "Namespace edge" in system.cluster.objects
    assert await system.documents("contour") == {}
    assert "Programmed" in str((await system.documents("gateway"))["edge", "web"]["status"])
    assert not await system.cluster.step(system.offline), "nothing is left to do"


async def test_it_is_deleted_if_that_gateway_is_deleted_before_it() -> None:
    system = await ending()
    await system.put(GATEWAY)
    await system.work()
    await system.delete(GATEWAY)
    await system.work()
    system.cluster.let_go(*HELD)
    await system.work()
    assert system.cluster.objects == ()
    await system.assert_done()
