"""Why an app and what it made are still there while they end, one after the other (docs/engine.md §14)."""

from __future__ import annotations

import pytest

from intentc.inspection.why import why
from tests.support.app_system import APP, AppSystem

pytestmark = pytest.mark.anyio

EXPECTED = {
    ("manifest", "shop:deployment.apps--web"): [
        "its finalizers (intentc.io/cluster) to be removed: it is being deleted"
    ],
    ("manifest", "shop:job.batch--web"): [
        "manifest shop:deployment.apps--web to be gone: that has a higher phase",
    ],
    ("app", "shop:web"): [
        f"manifest shop:{name}--web to be gone: it was made for it"
        for name in ("configmap", "deployment.apps", "job.batch")
    ],
}


@pytest.mark.parametrize(("kind", "name"), EXPECTED)
async def test_it_names_what_it_waits_for(kind: str, name: str) -> None:
    system = AppSystem()
    await system.sync("CREATE", "web", APP)
    await system.work()
    system.cluster.hold_back("Deployment", "web", "shop")
    await system.sync("DELETE", "web")
    await system.work()
    answer = await why(system.offline.engine, kind, name)
    assert answer["state"] == "waiting"
    assert sorted(entry["what"] for entry in answer["waiting_for"]) == EXPECTED[kind, name]


async def test_a_running_app_s_finalizer_has_a_reason() -> None:
    system = AppSystem()
    await system.sync("CREATE", "web", APP)
    await system.work()
    answer = await why(system.offline.engine, "app", "shop:web")
    assert answer["state"] == "as desired"
    assert "metadata.finalizers[example.com/app]" in [part["part"] for part in answer["parts"]]
