"""A compiler that needs whole kinds of a cluster compiles nothing before a bridge has mirrored them."""

from __future__ import annotations

from functools import partial

import anyio
import pytest

from intentc.model.bridge_keys import Mark, synced_key
from intentc.reconcile.backoff import Backoff, Retries
from intentc.service.service import Unsynced, check_synced
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put
from tests.support.box_system import BoxSystem
from tests.support.waiting import until
from tests.unit.service.compiler_service import service_of

pytestmark = pytest.mark.anyio


async def test_each_kind_needs_its_mark() -> None:
    store = MemoryStore()
    await store.transaction([], [Put(synced_key("contrail", "box"), b"{}")])
    await check_synced(store, "contrail", ["box"])
    with pytest.raises(Unsynced, match=r"^crate, lid; start `intentc kubernetes`"):
        await check_synced(store, "contrail", ["lid", "box", "crate"])
    assert Mark().served


async def test_by_itself_it_waits_only_if_a_bridge_has_mirrored_something() -> None:
    store = MemoryStore()
    await check_synced(store, "contrail", ["box"], None)
    await store.transaction([], [Put(synced_key("elsewhere", "box"), b"{}")])
    await check_synced(store, "contrail", ["box"], None)
    with pytest.raises(Unsynced):
        await check_synced(store, "contrail", ["box"], True)
    await store.transaction([], [Put(synced_key("contrail", "lid"), b"{}")])
    with pytest.raises(Unsynced, match=r"^box; start"):
        await check_synced(store, "contrail", ["box"], None)


async def test_nothing_is_evaluated_before_and_the_reason_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intentc.reconcile.loop.Retries", partial(Retries, Backoff(0.001, 0.01)))
    box_system = BoxSystem()
    store = box_system.offline.store
    service = service_of(box_system, synced=partial(check_synced, store, "contrail", {"box"}))
    async with anyio.create_task_group() as group:
        group.start_soon(service.run)
        words = "kinds of the cluster are not mirrored yet: box"
        await until(lambda: any(one.startswith(words) for one in service.status()["pending_work"]))
        assert not service.status()["first_pass_complete"]
        await store.transaction([], [Put(synced_key("contrail", "box"), b"{}")])
        await until(lambda: service.status()["first_pass_complete"])
        group.cancel_scope.cancel()
    box_system.close()
