"""``view.metadata``: each part is a read of its own, labels and annotations by key; what nobody read wakes nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from intentc import Claim, Compiler, Context, Fact, Intent
from intentc.testing import service_for
from intentc.testing.memory_service import MemoryService

pytestmark = pytest.mark.anyio

Look = Callable[[Any], Any]
SCHEMAS = Path("tests/support/toy/schemas")
GATEWAY = {"apiVersion": "v1", "kind": "ToyGateway", "metadata": {"name": "front", "namespace": "shop"}, "spec": {}}
HEARTBEAT = "control-plane.alpha.kubernetes.io/leader"


def web(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "shop", **metadata}
    return {"apiVersion": "v1", "kind": "ToyService", "metadata": metadata, "spec": spec or {}}


class Looking:
    """A gateway that looks at the service ``web``. ``found``: what it saw, once for each evaluation."""

    def __init__(self, look: Look, reactions: Path, **options: Any) -> None:
        found: list[Any] = []
        self.found = found

        class Gateway(Intent):
            kind = "toy_gateway"

            def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
                view = ctx.find("toy_service", ("shop", "web"))
                found.append(None if view is None else look(view))
                return ()

        class Service(Intent):
            kind = "toy_service"

        compiler = Compiler("toy", [Gateway, Service], schema_directories=[SCHEMAS], reactions=reactions)
        self.service: MemoryService = service_for(compiler, **options)

    async def seen_after(self, *manifests: dict[str, Any]) -> list[Any]:
        """What was seen because of these updates of ``web``."""
        self.found.clear()
        for manifest in manifests:
            await self.service.update(manifest)
        return list(self.found)


@pytest.fixture
def looking(tmp_path: Path) -> Callable[[Look], Looking]:
    path = tmp_path / "reactions.yml"
    path.write_text("intent-compiler: {}\n")
    return lambda look: Looking(look, path)


async def started(looking: Callable[[Look], Looking], look: Look, **metadata: Any) -> Looking:
    found = looking(look)
    await found.service.create(GATEWAY, web(**metadata))
    return found


async def test_a_heartbeat_and_another_label_wake_nobody(looking: Callable[[Look], Looking]) -> None:
    found = await started(
        looking, lambda view: (view.metadata.labels.get("app"), HEARTBEAT in view.metadata.annotations)
    )
    assert found.found[-1] == (None, False)
    assert await found.seen_after(web(labels={"tier": "x"}), web(annotations={"team": "red"}), web()) == []
    assert await found.seen_after(web(labels={"app": "shop"}), web(labels={"app": "shop", "tier": "x"})) == [
        ("shop", False)
    ]
    assert await found.seen_after(web(labels={"app": "shop"}, annotations={HEARTBEAT: "now"})) == [("shop", True)]


async def test_what_only_the_spec_says_is_read_apart_from_metadata(looking: Callable[[Look], Looking]) -> None:
    found = await started(looking, lambda view: view.metadata.labels.get("app"))
    assert await found.seen_after(web({"selector": {"a": "b"}})) == [], "the spec was not read"
    found = await started(looking, lambda view: len(view.selector))
    assert await found.seen_after(web({"selector": {"a": "b"}}), web({"selector": {"a": "b"}}, labels={"x": "y"})) == [
        1
    ]


async def test_a_reader_of_the_whole_map_is_affected_by_each_key(looking: Callable[[Look], Looking]) -> None:
    found = await started(looking, lambda view: dict(view.metadata.labels), labels={"a": "b"})
    assert await found.seen_after(web(labels={"a": "b", "c": "d"}), web(labels={"a": "b", "c": "d"})) == [
        {"a": "b", "c": "d"}
    ]


async def test_the_generation_counts_changes_of_the_spec_alone(looking: Callable[[Look], Looking]) -> None:
    found = await started(looking, lambda view: (view.metadata.generation, view.metadata.finalizers))
    assert found.found[-1] == (1, ())
    assert await found.seen_after(web(labels={"a": "b"}), web({"selector": {"a": "b"}})) == [(2, ())]
    assert await found.seen_after(web({"selector": {"a": "b"}}, finalizers=["x.io/y"])) == [(2, ("x.io/y",))]


async def test_a_reader_of_metadata_hears_of_deletion_and_return(looking: Callable[[Look], Looking]) -> None:
    found = await started(looking, lambda view: view.metadata.labels.get("app"), labels={"app": "a"})
    found.found.clear()
    await found.service.delete(web())
    assert found.found == [None]
    await found.service.create(web(labels={"app": "b"}))
    assert found.found == [None, "b"]


async def test_the_walk_leads_to_a_reader_of_metadata_so_that_no_reaction_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "reactions.yml"
    path.write_text("intent-compiler:\n  toy_service: {self: [toy_route]}\n  toy_route: {toy_service: []}\n")
    found: list[str] = []

    class Route(Intent):
        kind = "toy_route"

        def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
            found.extend(service.metadata.labels.get("app", "") for service in self.references("service"))
            return ()

    class Service(Intent):
        kind = "toy_service"

    service = service_for(Compiler("toy", [Route, Service], schema_directories=[SCHEMAS], reactions=path))
    name = {"name": "r", "namespace": "shop"}
    spec = {"hostname": "h", "service": "web"}
    await service.create(web(), {"apiVersion": "toy.intentc.io/v1", "kind": "ToyRoute", "metadata": name, "spec": spec})
    await service.update(web(labels={"app": "a"}))
    await service.update(web(labels={"app": "a", "tier": "x"}))
    assert found == ["", "a"]
    assert service.offline.engine.evaluator.missing_reactions == {}


async def test_an_unknown_part_is_named_with_those_that_there_are(looking: Callable[[Look], Looking]) -> None:
    found = await started(looking, lambda view: view.metadata.label)
    (problem,) = found.service.problems
    assert "metadata has no 'label'; there are labels, annotations, generation" in problem.message
    found = await started(looking, lambda view: view.labels)
    assert "use `.metadata.labels`" in found.service.problems[0].message
