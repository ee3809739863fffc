"""A resource that is deleted goes, whoever made it and whatever is claimed of it (docs/engine.md §14.2)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from intentc import Claim, Compiler, Context, Fact
from intentc.model import MARK_KEY, SHARED, Key, Mark, Name, ResourceClaim, object_uuid
from intentc.model.manifest import manifest_uuid
from intentc.plugins import load_all
from intentc.testing import FakeCluster
from tests.support import app
from tests.support.app.compiler import FINALIZER, AppIntent
from tests.support.app_system import APP
from tests.support.memory_system import MemorySystem

pytestmark = pytest.mark.anyio

WEB = Name("app", ("shop", "web"))
ANOTHER = Key("app", manifest_uuid("app", WEB.fq_name))
"""A uuid that isn't the one that we give."""
GIVEN = Key("app", object_uuid("default", WEB, SHARED))


class ClaimingApp(AppIntent):
    """An app that, if its image says so, claims that there is an app of the name ``web``, or claims nothing at all."""

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if self.image == "idle":
            return
        yield from super().evaluate(ctx)
        if self.image == "web's":
            yield ResourceClaim(WEB, None, SHARED, (("image", "web:2"),))


_HERE = Path(app.__file__).parent
LOADED = load_all(
    (
        Compiler(
            "app",
            [ClaimingApp],
            schema_directories=[_HERE / "schemas"],
            reactions=_HERE / "reactions.yml",
            finalizers=[FINALIZER],
        ),
    )
)


async def stored(system: MemorySystem, kind: str) -> dict[str, dict[str, Any]]:
    """Name → each stored resource of a kind."""
    found = await system.store.range(f"/contrail/{kind}/", f"/contrail/{kind}0")
    documents = [msgspec.json.decode(item.value) for item in found.items]
    return {document["fq_name"][-1]: document for document in documents}


async def carried_out(system: MemorySystem, cluster: FakeCluster) -> None:
    """Let engine and cluster work until nothing is left to do."""
    await system.settle()
    while await cluster.step(system.offline):
        await system.settle()


def web(key: Key, made_by: str = "", **metadata: Any) -> dict[str, Any]:
    """The app as the store has it. ``made_by``: the installation in its mark."""
    document = {"uuid": key.uuid, "fq_name": list(WEB.fq_name), **APP, "metadata": metadata}
    if made_by:
        mark = {"key": MARK_KEY, "value": str(Mark(made_by, "app", SHARED))}
        document["annotations"] = {"key_value_pair": [mark]}
    return document


async def test_an_app_of_ours_that_nobody_claims_any_more_goes() -> None:
    """It is an intent with a finalizer, and an output of another one at once."""
    system, cluster = MemorySystem(LOADED), FakeCluster()
    mail = {"uuid": manifest_uuid("app", ("shop", "mail")), "fq_name": ["shop", "mail"], **APP, "image": "web's"}
    await system.offline.server.sync([{"kind": "app", "data": mail}])
    await carried_out(system, cluster)
    made = (await stored(system, "app"))["web"]
    assert (made["uuid"], made["metadata"]["finalizers"]) == (GIVEN.uuid, [FINALIZER])
    assert "ConfigMap shop/web" in cluster.objects
    cluster.hold_back("Deployment", "web", "shop")
    await system.offline.server.sync([{"kind": "app", "operation": "UPDATE", "data": {**mail, "image": "web:1"}}])
    await carried_out(system, cluster)
    cluster.set_status("Deployment", "web", "shop", conditions=[{"type": "Available", "status": "False"}])
    await carried_out(system, cluster)
    ending = (await stored(system, "app"))["web"]
    assert "deletionTimestamp" in ending["metadata"]
    ready = next(one for one in ending["status"]["conditions"] if one["type"] == "Ready")
    assert ready["reason"] == "Unavailable", "its status is reported until it is gone"
    cluster.let_go("Deployment", "web", "shop")
    await carried_out(system, cluster)
    assert list(await stored(system, "app")) == ["mail"]
    assert not any(place.endswith("/web") for place in cluster.objects)


async def test_a_users_app_goes_though_another_one_claims_its_name() -> None:
    system, cluster = MemorySystem(LOADED), FakeCluster()
    await system.put(ANOTHER, web(ANOTHER))
    await carried_out(system, cluster)
    mail = {"uuid": manifest_uuid("app", ("shop", "mail")), "fq_name": ["shop", "mail"], **APP, "image": "web's"}
    await system.offline.server.sync([{"kind": "app", "data": mail}])
    await carried_out(system, cluster)
    assert [problem.reason for problem in system.offline.problems()] == ["NameTaken"]
    await system.offline.server.delete(ANOTHER)
    await carried_out(system, cluster)
    apps = await stored(system, "app")
    assert apps["web"]["uuid"] == GIVEN.uuid, "its user followed the advice, and the claimed one was made"
    assert system.offline.problems() == ()


async def test_a_users_app_loses_a_finalizer_of_ours_that_nobody_claims() -> None:
    system = MemorySystem(LOADED)
    await system.settle()
    await system.put(ANOTHER, {**web(ANOTHER, finalizers=[FINALIZER]), "image": "idle"})
    assert "finalizers" not in (await stored(system, "app"))["web"]["metadata"]


@pytest.mark.parametrize("made_by", ["default", "another"], ids=["a copy", "of another installation"])
async def test_an_app_that_is_left_alone_goes_once_it_is_deleted(made_by: str) -> None:
    system, cluster = MemorySystem(LOADED), FakeCluster()
    await system.put(ANOTHER, web(ANOTHER, made_by, finalizers=[FINALIZER]))
    await carried_out(system, cluster)
    assert (await stored(system, "app"))["web"]["metadata"]["finalizers"] == [FINALIZER]
    await system.offline.server.delete(ANOTHER)
    await carried_out(system, cluster)
    assert await stored(system, "app") == await stored(system, "manifest") == {}
