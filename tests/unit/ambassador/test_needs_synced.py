"""Before a bridge has mirrored a cluster, the compiler can't know what there is, so it waits for all that it reads."""

from __future__ import annotations

import pytest

from intentc.bridges.kubernetes.rest_mapping import mirrored_kinds
from intentc.compilers.ambassador import compiler
from intentc.loading.configuration.sections import Kubernetes
from intentc.loading.configuration.setting_types import FilePath
from intentc.loading.schemas import load_schema
from intentc.model.bridge_keys import synced_key
from intentc.service.service import Unsynced, synced_check
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put


def test_it_needs_every_kind_that_is_mirrored_for_it() -> None:
    assert {kind.name for kind in mirrored_kinds(load_schema("ambassador"))} == compiler.needs_synced


NOTHING: set[str] = set()
ALL = set(compiler.needs_synced)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kubernetes", "mirrored", "waits_for"),
    [
        pytest.param(Kubernetes(), [], NOTHING, id="without a bridge"),
        pytest.param(Kubernetes(), ["mapping"], ALL - {"mapping"}, id="a bridge has begun"),
        pytest.param(Kubernetes(), sorted(ALL), NOTHING, id="all is mirrored"),
        pytest.param(Kubernetes(wait=False), ["mapping"], NOTHING, id="set to false"),
        pytest.param(Kubernetes(wait=True), [], ALL, id="set to true"),
        pytest.param(Kubernetes(kubeconfig=FilePath("config")), [], ALL, id="a cluster is named"),
        pytest.param(Kubernetes(wait=True, kinds=("mapping", "host")), ["host"], {"mapping"}, id="some kinds"),
        pytest.param(Kubernetes(wait=True, kinds=("pod",)), [], NOTHING, id="none of its kinds"),
    ],
)
async def test_it_waits_for_a_bridge_that_feeds_the_store(
    kubernetes: Kubernetes, mirrored: list[str], waits_for: set[str]
) -> None:
    store = MemoryStore()
    await store.transaction([], [Put(synced_key("contrail", kind), b"{}") for kind in mirrored])
    missing: set[str] = set()
    if check := synced_check(store, "contrail", compiler.needs_synced, kubernetes):
        try:
            await check()
        except Unsynced as error:
            missing = set(str(error).partition(";")[0].split(", "))
    assert missing == waits_for
