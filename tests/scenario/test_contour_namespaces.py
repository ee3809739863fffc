"""The Namespace of a Contour that asks for its removal, and that is being deleted (docs/gateway.md §7, §10)."""

from __future__ import annotations

import pytest

from tests.support.gateway.documents import (
    HTTP,
    Document,
    contour,
    early_class,
    early_gateway,
    gateway,
    gateway_class,
)
from tests.support.gateway.system import GatewaySystem

pytestmark = pytest.mark.anyio

CONTOUR, GATEWAY = contour("web", namespace="zone", instance="edge"), gateway("web", HTTP, namespace="edge")
HELD = ("ConfigMap", "contour", "edge")


async def running(*others: Document) -> GatewaySystem:
    """The Contour has its instance, next to ``others``."""
    system = GatewaySystem()
    for document in (gateway_class(), *others, CONTOUR):
        await system.put(document)
    await system.work()
    return system


async def ending() -> GatewaySystem:
    """The Contour is being deleted, and one of its objects isn't gone yet."""
    system = await running()
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


async def deleted_while_invalid(*others: Document, removed: bool = True) -> GatewaySystem:
    """The Contour became invalid, ``others`` were put, and then it was deleted. ``removed``: it still asked for the
    removal of its namespace."""
    system = await running()
    wanted = {"name": "edge", "removeOnDeletion": removed}
    invalid = contour("web", namespace="zone", instance="edge", replicas=-1)
    invalid["spec"]["namespace"] = wanted
    for document in (invalid, *others):
        await system.put(document)
    await system.work()
    assert "Service edge/envoy" in system.cluster.objects, "what runs goes on"
    await system.delete(invalid)
    await system.work()
    assert not await system.cluster.step(system.offline), "nothing is left to do"
    assert await system.documents("contour") == {}
    return system


async def test_it_stays_for_a_gateway_that_came_while_the_contour_was_invalid() -> None:
    system = await deleted_while_invalid(GATEWAY)
    assert {"Namespace edge", "Deployment edge/contour-web"} <= set(system.cluster.objects), "the Gateway's own"
    assert "Service edge/envoy" not in system.cluster.objects, "the Contour's"


async def test_it_stays_if_an_invalid_contour_asks_for_its_removal_no_longer() -> None:
    system = await deleted_while_invalid(removed=False)
    assert system.cluster.objects == ("Namespace edge",)


async def test_it_is_deleted_with_an_invalid_contour_if_nobody_is_in_it() -> None:
    system = await deleted_while_invalid()
    assert system.cluster.objects == ()


HEIRS = [early_gateway("web", HTTP, namespace="edge"), contour("heir", namespace="edge", instance="edge")]


async def taken_over_by(heir: Document) -> GatewaySystem:
    """``heir`` is the next candidate for the instance of the Contour."""
    system = await running(early_class())
    system.pass_time()
    await system.put(heir)
    await system.work()
    return system


@pytest.mark.parametrize("heir", HEIRS, ids=["gateway", "contour"])
@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_it_stays_if_somebody_in_it_takes_the_instance_over(heir: Document, when: str) -> None:
    system = await running(early_class())
    system.pass_time()
    if when == "before":
        await system.put(heir)
        await system.work()
    system.cluster.hold_back(*HELD)
    await system.delete(CONTOUR)
    await system.work(20)
    if when == "meanwhile":
        await system.put(heir)
    await system.work()
    system.cluster.let_go(*HELD)
    await system.work()
    system.start()
    await system.work()
    assert not [line for line in system.cluster.log if line.startswith("delete Namespace")]
    assert {"Namespace edge", "Service edge/envoy"} <= set(system.cluster.objects)
    assert not await system.cluster.step(system.offline), "nothing is left to do"
    await system.delete(heir)
    await system.work()
    assert system.cluster.objects == ("Namespace edge",)
    assert not await system.documents("manifest")


async def test_it_stays_if_a_contour_in_it_that_took_over_asks_for_its_removal() -> None:
    heir = contour("heir", namespace="edge", instance="edge")
    heir["spec"]["namespace"]["removeOnDeletion"] = True
    system = await taken_over_by(heir)
    await system.delete(CONTOUR)
    await system.work()
    await system.delete(heir)
    await system.work()
    assert system.cluster.objects == ("Namespace edge",)


async def test_a_later_contour_elsewhere_asks_for_its_removal_again() -> None:
    system = await taken_over_by(HEIRS[0])
    for gone in (CONTOUR, HEIRS[0]):
        await system.delete(gone)
        await system.work()
    assert "Namespace edge" in system.cluster.objects
    await system.put(CONTOUR)
    await system.work()
    await system.delete(CONTOUR)
    await system.work()
    assert system.cluster.objects == ()


async def test_it_stays_while_a_gateway_of_another_controller_is_in_it() -> None:
    system = await ending()
    await system.put(early_gateway("web", HTTP, namespace="edge"))
    await system.work()
    system.cluster.let_go(*HELD)
    await system.work()
    assert system.cluster.objects == ("Namespace edge",)


async def test_one_that_somebody_else_made_is_never_written() -> None:
    system = GatewaySystem()
    for document in (early_class(), HEIRS[0]):
        await system.put(document)
    await system.work()
    assert "Service edge/envoy" in system.cluster.objects
    assert "Namespace edge" not in system.cluster.objects


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
