"""The last good value of a held resource is found in etcd's history, or where a former leader kept it."""

from __future__ import annotations

import asyncio
import json
from typing import cast

import pytest
from pytest_mock import MockerFixture

from intentc.engine.engine import Engine
from intentc.model import Change, Key, Resource, Schema
from intentc.reconcile.failures import Denied, Failure, Unavailable
from intentc.retained import ALL, Keeper, RetainedValues, retained_prefix
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put
from tests.simulation.simulated_clock import simulate
from tests.support.toy_kinds import build

pytestmark = pytest.mark.anyio

SCHEMA = Schema([build({"kind": "box", "properties": {"text": "string"}})])
BOX = Key("box", "uid-a")
PLACE = "/lab/box/uid-a"
RETAINED = f"{retained_prefix('one')}box/uid-a"


def readable(text: str) -> bytes:
    return json.dumps({"uuid": BOX.uuid, "fq_name": ["a"], "text": text}).encode()


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def values(store: MemoryStore) -> RetainedValues:
    return RetainedValues(store, SCHEMA, path="lab", installation="one")


async def put(store: MemoryStore, value: bytes) -> Change:
    await store.transaction([], [Put(PLACE, value)])
    return await present(store)


async def present(store: MemoryStore) -> Change:
    (item,) = (await store.range(PLACE)).items
    return Change(*BOX, item.value, item.create_revision, item.mod_revision)


def decoded(change: Change) -> Resource:
    return SCHEMA.kind("box").decode(change)


async def last_readable(values: RetainedValues, unreadable: Change) -> str | None:
    found = (await values.before([unreadable], await values.load())).get(BOX)
    return None if found is None else str(found.values().text)


async def test_the_history_of_etcd_has_the_last_readable_value(store: MemoryStore, values: RetainedValues) -> None:
    await put(store, readable("first"))
    await put(store, readable("second"))
    await put(store, b"no json")
    assert await last_readable(values, await put(store, b"[]")) == "second"


async def test_a_retained_value_is_used_when_the_history_is_compacted(
    store: MemoryStore, values: RetainedValues
) -> None:
    await values.put(decoded(await put(store, readable("first"))))
    unreadable = await put(store, b"no json")
    await store.compact(unreadable.mod_revision)
    assert await last_readable(values, unreadable) == "first"


async def test_a_newer_readable_value_in_the_history_counts_more_than_the_retained_one(
    store: MemoryStore, values: RetainedValues
) -> None:
    await values.put(decoded(await put(store, readable("first"))))
    await put(store, readable("second"))
    assert await last_readable(values, await put(store, b"no json")) == "second"


async def test_what_a_deleted_resource_of_the_same_key_said_does_not_count(
    store: MemoryStore, values: RetainedValues
) -> None:
    await values.put(decoded(await put(store, readable("first"))))
    await store.transaction([], [Delete(PLACE)])
    assert await last_readable(values, await put(store, b"no json")) is None


@pytest.mark.parametrize("garbage", [b"{}", b"\xff", b'{"more": ' + b"[" * 100_000])
async def test_a_retained_value_that_can_not_be_read_is_ignored(
    store: MemoryStore, values: RetainedValues, caplog: pytest.LogCaptureFixture, garbage: bytes
) -> None:
    await store.transaction([], [Put(RETAINED, garbage), Put(f"{retained_prefix('one')}gone_kind/u", b"{}")])
    assert await values.load() == {}
    assert "box/uid-a" in caplog.text


async def test_values_that_we_may_not_read_are_done_without(
    store: MemoryStore, values: RetainedValues, caplog: pytest.LogCaptureFixture, mocker: MockerFixture
) -> None:
    mocker.patch.object(store, "range", side_effect=Denied("permission denied"))
    assert await values.load() == {}
    assert f"grant the compiler's role {retained_prefix('one')}" in caplog.text


class Held:
    """What an engine wants to be retained."""

    def __init__(self, values: RetainedValues) -> None:
        self.wanted: dict[Key, Resource] = {}
        self.may_write = self.first_pass_complete = True
        self.keeper = Keeper(values, lambda: self.wanted, cast(Engine, self), "values")

    async def tend(self) -> None:
        """Write what differs now."""
        self.keeper.loop.add(ALL)
        while await self.keeper.loop.step():
            pass


@pytest.fixture
def held(values: RetainedValues) -> Held:
    return Held(values)


async def test_the_leader_keeps_what_is_held_and_removes_what_is_good_again(
    store: MemoryStore, values: RetainedValues, held: Held
) -> None:
    resource = held.wanted[BOX] = decoded(await put(store, readable("first")))
    await held.tend()
    (kept,) = (await values.load()).values()
    assert (kept.raw, kept.mod_revision) == (resource.raw, resource.mod_revision)
    held.wanted.clear()
    await held.tend()
    assert await values.load() == {}


@pytest.mark.parametrize("lacking", ["may_write", "first_pass_complete"])
async def test_a_process_that_does_not_lead_or_has_not_listed_stores_nothing(
    store: MemoryStore, values: RetainedValues, held: Held, lacking: str
) -> None:
    held.wanted[BOX] = decoded(await put(store, readable("first")))
    await held.tend()
    before = (await store.range("/")).revision
    setattr(held, lacking, False)
    held.wanted.clear()
    await held.tend()
    assert (await store.range("/")).revision == before


async def test_a_new_leader_removes_what_the_former_one_kept_for_nothing(
    store: MemoryStore, values: RetainedValues, held: Held
) -> None:
    await values.put(decoded(await put(store, readable("first"))))
    await held.tend()
    assert await values.load() == {}


async def test_nothing_is_written_twice(store: MemoryStore, held: Held) -> None:
    held.wanted[BOX] = decoded(await put(store, readable("first")))
    await held.tend()
    before = (await store.range("/")).revision
    await held.tend()
    assert (await store.range("/")).revision == before


@pytest.mark.parametrize(("error", "most"), [(Unavailable("away"), 40), (Failure("too large"), 12)])
def test_a_value_that_can_not_be_stored_is_tried_again_with_back_off(
    store: MemoryStore, values: RetainedValues, held: Held, error: Failure, most: int, mocker: MockerFixture
) -> None:
    async def scenario() -> None:
        held.wanted[BOX] = decoded(await put(store, readable("first")))
        failing = mocker.patch.object(values, "put", side_effect=error)
        running = asyncio.create_task(held.keeper.loop.run())
        await asyncio.sleep(600)
        assert 3 <= failing.await_count <= most
        mocker.stop(failing)
        await asyncio.sleep(300)
        assert (await values.load()).keys() == {BOX}
        running.cancel()

    simulate(scenario)


def test_a_new_version_does_not_wait_for_the_back_off_of_the_former_one(
    store: MemoryStore, values: RetainedValues, held: Held, mocker: MockerFixture
) -> None:
    async def scenario() -> None:
        held.wanted[BOX] = decoded(await put(store, readable("first")))
        failing = mocker.patch.object(values, "put", side_effect=Failure("too large"))
        running = asyncio.create_task(held.keeper.loop.run())
        await asyncio.sleep(600)
        mocker.stop(failing)
        held.wanted[BOX] = decoded(await put(store, readable("second")))
        await asyncio.sleep(2)
        assert (await values.load())[BOX].raw == readable("second")
        running.cancel()

    simulate(scenario)
