"""Instances that want one object, while one of them is being deleted (docs/gateway.md §10, §12)."""

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

OTHERS = "example.com/other"
FIRST, SECOND = gateway("b-c", HTTP, namespace="a"), gateway("c", HTTP, namespace="a-b")
"""Of one age; both want the ClusterRole ``contour-a-b-c``, and the first has it."""
_WHAT_RUNS = ("Available", "Programmed", "Ready")
"""The conditions of a Contour, a Gateway, and one of v1alpha1."""


def held(document: Document) -> Document:
    """With a finalizer of somebody else, who does not remove it."""
    return {**document, "metadata": {**document["metadata"], "finalizers": [OTHERS]}}


async def running(*documents: Document) -> GatewaySystem:
    system = GatewaySystem()
    for document in (gateway_class(), early_class(), *documents):
        await system.put(document)
    await system.work()
    return system


async def reasons(system: GatewaySystem) -> dict[tuple[str, ...], str]:
    """Gateway or Contour → the reason of its condition on what runs."""
    found = {}
    for kind in ("contour", "gateway", "gateway_v1alpha1"):
        for name, document in (await system.documents(kind)).items():
            conditions = document["status"]["conditions"]
            (found[name],) = (one["reason"] for one in conditions if one["type"] in _WHAT_RUNS)
    return found


async def finalizers(system: GatewaySystem, kind: str) -> dict[tuple[str, ...], list[str]]:
    return {name: one["metadata"].get("finalizers", []) for name, one in (await system.documents(kind)).items()}


async def assert_quiet(system: GatewaySystem) -> None:
    """Nothing is left to do, for another process neither."""
    assert not await system.cluster.step(system.offline)
    before = (await system.store.range("/", "0")).revision
    system.start()
    await system.work()
    assert (await system.store.range("/", "0")).revision == before


def problems(system: GatewaySystem) -> list[str]:
    return sorted(f"{problem.name} {problem.reason}" for problem in system.offline.problems())


@pytest.mark.parametrize(
    ("heir", "name", "good"),
    [
        (SECOND, ("a-b", "c"), "Programmed"),
        (contour("x", namespace="zone", instance="a-b-c"), ("zone", "x"), "ContourAvailable"),
        (early_gateway("x", HTTP, namespace="a-b-c"), ("a-b-c", "x"), "GatewayReady"),
    ],
    ids=["gateway", "contour", "v1alpha1"],
)
async def test_a_gateway_that_others_keep_gives_its_names_up_once_its_objects_are_gone(
    heir: Document, name: tuple[str, ...], good: str
) -> None:
    system = await running(held(FIRST), heir)
    assert (await reasons(system))[name] != good
    system.cluster.hold_back("ServiceAccount", "envoy-b-c", "a")
    await system.delete(FIRST)
    await system.work()
    assert (await reasons(system))[name] != good, "its Contour may still run"
    await assert_quiet(system)
    system.cluster.let_go("ServiceAccount", "envoy-b-c", "a")
    await system.work()
    assert (await reasons(system))[name] == good
    assert await finalizers(system, "gateway") | {("a", "b-c"): [OTHERS]} == await finalizers(system, "gateway")
    assert problems(system) == []
    await assert_quiet(system)
    system.cluster.log.clear()
    await system.delete(FIRST, by_force=True)
    await system.work()
    assert system.cluster.log == []
    await assert_quiet(system)


@pytest.mark.parametrize(
    ("loser", "problem"),
    [
        (SECOND, "a-b:c NoResources"),
        (contour("x", namespace="zone", instance="a-b-c"), "zone:x NameTaken"),
        (early_gateway("x", HTTP, namespace="a-b-c"), "a-b-c:x ContourNotAvailable"),
    ],
    ids=["gateway", "contour", "v1alpha1"],
)
async def test_a_kept_gateway_no_longer_reports_a_conflict_that_ended(loser: Document, problem: str) -> None:
    system = await running(FIRST, held(loser))
    assert problems(system) == [problem]
    await system.delete(loser)
    await system.work()
    assert (await reasons(system))["a", "b-c"] == "Programmed"
    assert problems(system) == []
    await assert_quiet(system)


async def test_a_kept_gateway_claims_nothing_of_a_later_one() -> None:
    system = await running(held(FIRST))
    await system.delete(FIRST)
    await system.work()
    assert system.cluster.objects == ()
    assert await finalizers(system, "gateway_class") == {("contour",): []}
    await system.put(SECOND)
    await system.work()
    assert (await reasons(system))["a-b", "c"] == "Programmed"
    await assert_quiet(system)


OLDER, YOUNGER = contour("x", namespace="aa", instance="z-c"), gateway("c", HTTP, namespace="z")
"""Both want the ClusterRole ``contour-z-c``, and the Contour has it."""


async def test_a_contour_stays_until_its_last_object_is_gone_although_another_instance_wants_it() -> None:
    system = await running(OLDER, YOUNGER)
    system.cluster.hold_back("ClusterRole", "contour-z-c")
    await system.delete(OLDER)
    await system.work()
    assert not [place for place in system.cluster.objects if " z-c/" in place], "only what the Gateway wants is left"
    assert await finalizers(system, "contour") == {("aa", "x"): ["contour.operator.projectcontour.io/finalizer"]}
    await assert_quiet(system)
    system.cluster.let_go("ClusterRole", "contour-z-c")
    await system.work()
    assert await system.documents("contour") == {}
    assert (await reasons(system))["z", "c"] == "Programmed"
    await system.assert_done()


async def test_a_compiler_killed_between_the_last_objects_leaves_no_ownerless_object() -> None:
    """While another instance is on hold, a new process deletes nothing that nobody claims: its owner must stay, too."""
    older, younger = early_gateway("e", HTTP, namespace="z-c"), gateway("c", HTTP, namespace="z")
    usable = contour("h", namespace="far", instance="far")
    system = await running(older, usable)
    system.pass_time()
    await system.put(younger)
    await system.put(contour("h", namespace="far", instance="far", networkPublishing={"envoy": {"type": "Nonsense"}}))
    await system.work()
    system.cluster.hold_back("Service", "envoy-c", "z")
    system.cluster.hold_back("ClusterRoleBinding", "contour-z-c")
    await system.delete(younger)
    await system.delete(older)
    await system.work()
    system.start()
    system.cluster.let_go("ClusterRoleBinding", "contour-z-c")
    await system.work()
    assert "ClusterRole contour-z-c" in system.cluster.objects
    assert await system.document("gateway_v1alpha1", "z-c", "e") is not None
    await system.put(usable)
    await system.work()
    assert "ClusterRole contour-z-c" not in system.cluster.objects
    assert await system.document("gateway_v1alpha1", "z-c", "e") is None
    system.cluster.let_go("Service", "envoy-c", "z")
    await system.work()
    await system.assert_done()
