"""What others write straight into etcd is indexed by the API server: before its start, while it runs, and at random."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import ApiError
from intentc.apiserver.index.entries import PARTS, wanted_entries
from intentc.apiserver.index.repair import Repair, Repaired
from intentc.apiserver.layout import Layout
from intentc.model import Key, Schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put, TransactionResult, prefix_end
from tests.support.waiting import PATIENCE, until_true

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

LAYOUT = Layout("contrail")
NETWORK = "00000000-0000-4000-8000-0000000000{:02}"


@asynccontextmanager
async def following(server: ApiServer) -> AsyncIterator[None]:
    """The server follows etcd, and has indexed what was there, until the block is left."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.follower.run)
        await server.follower.indexed()
        yield
        tasks.cancel_scope.cancel()


async def put(store: MemoryStore, kind: str, uuid: str, **fields: Any) -> None:
    """Write a resource as another program does, without an index."""
    value = msgspec.json.encode({"uuid": uuid, **fields})
    await store.transaction([], [Put(f"/contrail/{kind}/{uuid}", value)])


async def network(api: Api, store: MemoryStore, number: int, name: str = "foreign", **fields: Any) -> str:
    project = await api.by_name("project", *PROJECT)
    uuid = NETWORK.format(number)
    below = {"parent_type": "project", "parent_uuid": project["uuid"]}
    await put(store, "virtual_network", uuid, fq_name=[*PROJECT, name], **below, **fields)
    return uuid


async def named(api: Api, kind: str, *fq_name: str) -> str | None:
    try:
        return await api.server.identify(kind, fq_name)
    except ApiError as error:
        assert error.status == 404
        return None


async def test_a_resource_written_before_the_start_is_found_and_has_its_name(api: Api, store: MemoryStore) -> None:
    uuid = await network(api, store, 1)
    async with following(api.server):
        assert await named(api, "virtual_network", *PROJECT, "foreign") == uuid
        project = await api.by_name("project", *PROJECT)
        assert uuid in [child["uuid"] for child in project["virtual_networks"]]
        with rejected(409):
            await api.create("virtual_network", "foreign")


async def index(store: MemoryStore) -> dict[str, bytes]:
    """The index in the store."""
    found: dict[str, bytes] = {}
    for part in PARTS:
        prefix = LAYOUT.index(part)
        found |= {item.key: item.value for item in (await store.range(prefix, prefix_end(prefix))).items}
    return found


async def derived(store: MemoryStore, schema: Schema) -> dict[str, bytes]:
    """The index that follows from the values in the store: the oldest of a name has it."""
    items = (await store.range("/contrail/", prefix_end("/contrail/"))).items
    found: dict[str, bytes] = {}
    for item in sorted(items, key=lambda item: item.create_revision):
        _, _, kind, uuid = item.key.split("/")
        for entry, value in wanted_entries(schema, LAYOUT, Key(kind, uuid), item.value).items():
            found.setdefault(entry, value)
    return found


async def true_index(api: Api, store: MemoryStore) -> None:
    """Wait until the index is that of the values."""

    async def is_true() -> bool:
        return await index(store) == await derived(store, api.server.schema)

    await until_true(is_true)


async def test_direct_writes_to_a_running_server_are_indexed(api: Api, store: MemoryStore) -> None:
    async with following(api.server):
        uuid = await network(api, store, 1, "one")
        await true_index(api, store)
        assert await named(api, "virtual_network", *PROJECT, "one") == uuid
        await network(api, store, 1, "two")
        await true_index(api, store)
        assert await named(api, "virtual_network", *PROJECT, "one") is None
        assert await named(api, "virtual_network", *PROJECT, "two") == uuid
        await store.transaction([], [Delete(f"/contrail/virtual_network/{uuid}")])
        await true_index(api, store)
        assert not [entry for entry in await index(store) if uuid in entry]


async def test_a_reference_that_others_wrote_blocks_a_deletion_until_they_remove_it(
    api: Api, store: MemoryStore
) -> None:
    policy = await api.create("network_policy", "p")
    reference = {"uuid": policy["uuid"], "to": policy["fq_name"], "attr": {"sequence": {"major": 0, "minor": 0}}}
    async with following(api.server):
        uuid = await network(api, store, 1, network_policy_refs=[reference])
        await true_index(api, store)
        assert [one["uuid"] for one in (await api.get("network_policy", policy["uuid"]))["virtual_network_back_refs"]]
        with rejected(409, uuid):
            await api.delete("network_policy", policy["uuid"])
        await network(api, store, 1)
        await true_index(api, store)
        await api.delete("network_policy", policy["uuid"])


async def test_the_older_of_two_has_the_name_and_the_younger_inherits_it(api: Api, store: MemoryStore) -> None:
    older = await network(api, store, 2)
    younger = await network(api, store, 1)
    async with following(api.server):
        assert await named(api, "virtual_network", *PROJECT, "foreign") == older
        await api.delete("virtual_network", older)
        await true_index(api, store)
        assert await named(api, "virtual_network", *PROJECT, "foreign") == younger


async def test_one_of_two_resources_from_one_transaction_keeps_their_name(api: Api, store: MemoryStore) -> None:
    project = await api.by_name("project", *PROJECT)
    below = {"fq_name": [*PROJECT, "foreign"], "parent_type": "project", "parent_uuid": project["uuid"]}
    twins = [NETWORK.format(number) for number in (2, 1)]
    values = {uuid: msgspec.json.encode({"uuid": uuid, **below}) for uuid in twins}
    await store.transaction([], [Put(LAYOUT.value(Key("virtual_network", uuid)), values[uuid]) for uuid in twins])
    with anyio.fail_after(PATIENCE):
        async with following(api.server):
            assert await named(api, "virtual_network", *PROJECT, "foreign") == min(twins)


async def test_entries_that_others_prevent_from_being_corrected_are_corrected_later(
    api: Api, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = 0
    transaction = store.transaction

    async def losing(compares: Any, then: Sequence[Any], otherwise: Sequence[Any] = ()) -> TransactionResult:
        """A large commit is always under way while entries are written, for a while."""
        nonlocal lost
        if not any(isinstance(one, Put) and one.key.startswith(LAYOUT.index("name")) for one in then) or lost == 50:
            return await transaction(compares, then, otherwise)
        lost += 1
        return TransactionResult(False, 0, ())

    async with following(api.server):
        monkeypatch.setattr(store, "transaction", losing)
        await network(api, store, 1)
        await true_index(api, store)
    assert lost == 50


async def test_entries_without_their_resource_are_deleted_at_the_start(api: Api, store: MemoryStore) -> None:
    made = await api.create("virtual_network", "gone")
    await store.transaction([], [Delete(f"/contrail/virtual_network/{made['uuid']}")])
    async with following(api.server):
        assert await index(store) == await derived(store, api.server.schema)


async def test_a_value_that_cannot_be_read_keeps_its_entries(api: Api, store: MemoryStore) -> None:
    made = await api.create("virtual_network", "kept")
    before = await index(store)
    await store.transaction([], [Put(f"/contrail/virtual_network/{made['uuid']}", b"{")])
    async with following(api.server):
        assert await index(store) == before
        await store.transaction([], [Put(f"/contrail/virtual_network/{made['uuid']}", b"[]")])
        later = await network(api, store, 1)
        await until_true(lambda: is_named(api, "foreign", later))
        assert before.items() <= (await index(store)).items()


async def is_named(api: Api, name: str, uuid: str) -> bool:
    return await named(api, "virtual_network", *PROJECT, name) == uuid


async def test_a_relaxed_reference_stays_relaxed(api: Api, store: MemoryStore) -> None:
    policy = await api.create("network_policy", "p")
    uuid = (await api.create("virtual_network", "n", network_policy_refs=[{"to": policy["fq_name"]}]))["uuid"]
    await api.server.relax_reference(uuid, policy["uuid"])
    before = await index(store)
    async with following(api.server):
        assert await index(store) == before


async def test_what_the_server_writes_itself_is_not_read_again(
    api: Api, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Key] = []
    repair = Repair.repair

    async def recorded(self: Repair, some: Mapping[Key, Collection[str]]) -> Repaired:
        checked.extend(some)
        return await repair(self, some)

    monkeypatch.setattr(Repair, "repair", recorded)
    async with following(api.server):
        for number in range(5):
            await api.create("virtual_network", f"own{number}")
        uuid = await network(api, store, 1)
        await until_true(lambda: is_named(api, "foreign", uuid))
    assert checked == [Key("virtual_network", uuid)]


@pytest.mark.parametrize("seed", range(20))
async def test_after_random_writes_by_both_the_index_is_that_of_the_values(
    api: Api, store: MemoryStore, seed: int
) -> None:
    chance = random.Random(seed)
    second = Api(ApiServer(store, api.server.schema))
    names = ("a", "b", "c")
    policies = [await api.create("network_policy", f"p{number}") for number in range(3)]

    def references() -> list[dict[str, Any]]:
        return [{"uuid": one["uuid"], "to": one["fq_name"]} for one in policies if chance.random() < 0.5]

    async def strange() -> None:
        if chance.random() < 0.3:
            key = f"/contrail/virtual_network/{NETWORK.format(chance.randrange(4))}"
            await store.transaction([], [Delete(key)])
        else:
            await network(api, store, chance.randrange(4), chance.choice(names), network_policy_refs=references())

    async def own() -> None:
        uuid = NETWORK.format(chance.randrange(4))
        served = chance.choice((api, second))
        try:
            match chance.randrange(3):
                case 0:
                    name = [*PROJECT, chance.choice(names)]
                    below = {"parent_type": "project", "fq_name": name}
                    await served.create("virtual_network", uuid=uuid, network_policy_refs=references(), **below)
                case 1:
                    await served.update("virtual_network", uuid, network_policy_refs=references())
                case _:
                    await served.delete("virtual_network", uuid)
        except ApiError as error:
            assert error.status in {400, 404, 409}, error

    async with following(api.server), following(second.server):
        for _ in range(60):
            await chance.choice((strange, own))()
            if chance.random() < 0.2:
                await anyio.lowlevel.checkpoint()
        await true_index(api, store)
    async with following(ApiServer(store, api.server.schema)):
        assert await index(store) == await derived(store, api.server.schema)
