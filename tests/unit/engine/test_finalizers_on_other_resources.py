"""A finalizer that an intent claims on another resource ends with what the intent made (docs/engine.md §14.2)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc import Claim, Compiler, Context, Fact, finalizer
from intentc.model.manifest import manifest_uuid
from intentc.plugins import load_all
from intentc.testing import FakeCluster
from tests.support import app
from tests.support.app.compiler import FINALIZER, AppIntent
from tests.support.app_system import APP
from tests.support.memory_system import MemorySystem

pytestmark = pytest.mark.anyio

OTHERS = "example.com/other"


class DependentApp(AppIntent):
    """The app ``web`` follows from the app ``base``, which has nothing of its own."""

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if self.fq_name[-1] == "web":
            yield from super().evaluate(ctx)
            base = ctx.find("app", ("shop", "base"))
            assert base is not None
            yield finalizer(base, FINALIZER)


_HERE = Path(app.__file__).parent
LOADED = load_all(
    (
        Compiler(
            "app",
            [DependentApp],
            schema_directories=[_HERE / "schemas"],
            reactions=_HERE / "reactions.yml",
            finalizers=[FINALIZER],
        ),
    )
)


async def finalizers(system: MemorySystem) -> dict[str, list[str]]:
    """App → its finalizers."""
    found = await system.store.range("/contrail/app/", "/contrail/app0")
    documents = [msgspec.json.decode(item.value) for item in found.items]
    return {document["fq_name"][-1]: document["metadata"].get("finalizers", []) for document in documents}


async def carried_out(system: MemorySystem, cluster: FakeCluster) -> None:
    """Let engine and cluster work until nothing is left to do."""
    await system.settle()
    while await cluster.step(system.offline):
        await system.settle()


async def test_it_ends_although_somebody_else_keeps_the_resource_of_the_intent() -> None:
    system, cluster = MemorySystem(LOADED), FakeCluster()
    web: dict[str, Any] = {"uuid": manifest_uuid("app", ("shop", "web")), "fq_name": ["shop", "web"], **APP}
    web["metadata"] = {"finalizers": [OTHERS]}
    await system.offline.server.sync([{"kind": "app", "data": {"fq_name": ["shop", "base"], **APP}}])
    await system.offline.server.sync([{"kind": "app", "data": web}])
    await carried_out(system, cluster)
    assert await finalizers(system) == {"base": [FINALIZER], "web": [OTHERS, FINALIZER]}
    cluster.hold_back("ConfigMap", "web", "shop")
    await system.offline.server.sync([{"kind": "app", "operation": "DELETE", "data": {"uuid": web["uuid"]}}])
    await carried_out(system, cluster)
    assert list(cluster.objects) == ["ConfigMap shop/web"]
    assert await finalizers(system) == {"base": [FINALIZER], "web": [OTHERS, FINALIZER]}
    cluster.let_go("ConfigMap", "web", "shop")
    await carried_out(system, cluster)
    assert list(cluster.objects) == []
    assert await finalizers(system) == {"base": [], "web": [OTHERS]}
