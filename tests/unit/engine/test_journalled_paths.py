"""The journal shows by which path a change led to an evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.journal import Entry, Write
from intentc.model import Key
from intentc.testing import MemoryService, service_for
from tests.support.box_system import BoxSystem, part
from tests.support.toy.compiler import compiler

pytestmark = pytest.mark.anyio


def referring(name: str) -> dict[str, Any]:
    return {"box_refs": [{"to": [name]}]}


async def test_the_journal_shows_the_path_and_the_revision_of_its_source(box_system: BoxSystem) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b", **referring("b"))
    await box_system.change("b", text="other")
    a, b = await box_system.key("box", "a"), await box_system.key("box", "b")
    entry = last_evaluation(box_system.engine, a)
    assert (entry.path, entry.source_revision) == ((b, a), box_system.engine.world.mod_revision(b))


async def test_an_intent_that_waited_for_an_allocation_keeps_its_path(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    a = await box_system.key("box", "a")
    waiting, done = (line for line in box_system.engine.journal if isinstance(line, Entry))
    assert (waiting.status, waiting.path) == ("waiting", (a,))
    assert (done.status, done.path) == ("done", (a,))


async def test_a_missing_reaction_has_no_path(box_system: BoxSystem) -> None:
    await box_system.boxes("b")
    await box_system.boxes("a", text="see b")
    await box_system.change("b", text="other")
    entry = last_evaluation(box_system.engine, await box_system.key("box", "a"))
    assert (entry.path, entry.source_revision) == ((), 0)


async def test_the_end_of_an_intent_is_journalled_with_its_name(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a")
    a = await box_system.key("box", "a")
    await box_system.remove("a")
    entry, write = box_system.engine.journal.about(part("a"))[-2:]
    assert isinstance(entry, Entry) and isinstance(write, Write)
    assert (entry.origin, entry.path, entry.status, entry.source_revision) == (a, (a,), "deleted", 0)
    assert write.operation == "delete"
    assert box_system.engine.journal.names[a] == "a"


def manifest(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": "basket", "tier": "front"}
    return {
        "apiVersion": "toy.intentc.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


async def test_the_path_of_the_map_wins_over_that_of_a_fact() -> None:
    service = await toy()
    gateway, path = await path_to_the_gateway(service)
    assert [key.kind for key in path] == ["toy_pod", "toy_service", "toy_route", "toy_gateway"]
    assert gateway.objects


async def test_where_the_map_stops_short_the_path_goes_over_the_fact() -> None:
    service = await toy()
    logic = service.offline.engine.world
    logic.reactions._next["toy_route", "toy_service"] = ()
    _, path = await path_to_the_gateway(service)
    assert [key.kind for key in path] == ["toy_pod", "toy_service", "toy_gateway"]


async def toy() -> MemoryService:
    service = service_for(compiler)
    await service.create(
        manifest("ToyGateway", "front", hostname="*.shop.example", port=443),
        manifest("ToyRoute", "basket", hostname="www.shop.example", match={"prefix": "/"}, service="http://basket:80"),
        manifest("ToyService", "basket", selector={"app": "basket", "tier": "front"}),
    )
    return service


async def path_to_the_gateway(service: MemoryService) -> tuple[Entry, tuple[Key, ...]]:
    """A pod comes: the gateway's last evaluation, and its path."""
    await service.create(manifest("ToyPod", "basket-1", address="10.0.0.1"))
    engine = service.offline.engine
    found = [line for line in engine.journal if isinstance(line, Entry) and line.origin.kind == "toy_gateway"]
    return found[-1], found[-1].path


def last_evaluation(engine: Any, key: Key) -> Entry:
    found = [line for line in engine.journal if isinstance(line, Entry) and line.origin == key]
    entry: Entry = found[-1]
    return entry
