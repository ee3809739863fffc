"""Allocation of numbers from pools (docs/contrail.md B.2 ``/int-pool``, B.6; docs/engine.md §8; yml case int_pool)."""

from __future__ import annotations

import random

import anyio
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.pools import Pool
from intentc.apiserver.startup import write_seeds
from intentc.model import Key, Schema
from intentc.watch.memory import MemoryStore

from .conftest import Api, rejected

pytestmark = pytest.mark.anyio


async def test_the_lowest_free_number_comes_first(api: Api) -> None:
    await api.server.create_pool("p", 10, 13)
    assert [(await api.server.allocate("p", f"o{n}"))[0] for n in range(3)] == [10, 11, 12]
    with rejected(400, "exhausted", "[10, 13)"):
        await api.server.allocate("p", "o4")
    await api.server.free("p", value=11)
    assert (await api.server.allocate("p", "o5"))[0] == 11


async def test_an_owner_gets_its_number_again(api: Api, store: MemoryStore) -> None:
    first = await api.server.allocate("route_target_number", "default/u/rt")
    before = (await store.range("/")).revision
    assert (await api.server.allocate("route_target_number", "default/u/rt"))[0] == first[0] == 8000100
    assert (await store.range("/")).revision == before


async def test_a_wanted_number_is_given_unless_it_is_taken(api: Api) -> None:
    await api.server.create_pool("p", 0, 100)
    assert (await api.server.allocate("p", "", 50))[0] == 50
    with rejected(400, "50 is taken"):
        await api.server.allocate("p", "x", 50)
    with rejected(400, "outside"):
        await api.server.allocate("p", "x", 100)
    await api.server.allocate("p", "x", 51)
    with rejected(400, "x holds 51 already"):
        await api.server.allocate("p", "x", 52)


async def test_owners_and_numbers_are_found_both_ways(api: Api) -> None:
    await api.server.create_pool("p", 0, 100)
    for owner in ("a/1/x", "a/2/x", "b/1/x"):
        await api.server.allocate("p", owner)
    assert await api.server.held("p", "a/") == [("p", "a/1/x", 0), ("p", "a/2/x", 1)]
    assert await api.server.owner_of("p", 2) == "b/1/x"
    with rejected(404):
        await api.server.owner_of("p", 3)


async def test_freeing_is_idempotent_and_by_value_owner_or_both(api: Api) -> None:
    await api.server.create_pool("p", 0, 100)
    for owner in ("a", "b", "c"):
        await api.server.allocate("p", owner)
    for _ in range(2):
        await api.server.free("p", value=0)
        await api.server.free("p", owner="b")
    assert await api.server.held("p", "") == [("p", "c", 2)]
    await api.server.free("p", value=2, owner="somebody else")
    assert await api.server.held("p", "") == [("p", "c", 2)]


async def test_overlapping_ranges_are_rejected_and_others_joined(api: Api) -> None:
    await api.server.create_pool("p", 0, 2)
    with rejected(409, "overlaps"):
        await api.server.create_pool("p", 1, 3)
    await api.server.create_pool("p", 5, 6)
    assert [(await api.server.allocate("p"))[0] for _ in range(3)] == [0, 1, 5]


async def test_a_dropped_pool_is_unknown(api: Api, store: MemoryStore) -> None:
    await api.server.create_pool("p", 0, 2)
    await api.server.allocate("p", "a")
    for _ in range(2):
        await api.server.drop_pool("p")
    with rejected(400, "no pool 'p'"):
        await api.server.allocate("p", "a")
    assert not [item.key for item in (await store.range("/", "0")).items if "/p/" in item.key]


@pytest.mark.parametrize(("start", "end"), [(5, 5), (5, 4), (-1, 4)])
async def test_an_empty_range_is_rejected(api: Api, start: int, end: int) -> None:
    with rejected(400):
        await api.server.create_pool("p", start, end)


async def test_a_pools_name_has_no_slash(api: Api) -> None:
    with rejected(400, "slashes"):
        await api.server.create_pool("a/b", 0, 1)


async def test_many_at_once_get_different_numbers(api: Api) -> None:
    await api.server.create_pool("p", 0, 100)
    given: list[int] = []

    async def take(owner: str) -> None:
        given.append((await api.server.allocate("p", owner))[0])

    async with anyio.create_task_group() as tasks:
        for n in range(50):
            tasks.start_soon(take, f"o{n}")
    assert sorted(given) == list(range(50))


def test_ranges_behave_like_a_set_of_numbers() -> None:
    rng = random.Random(7)
    pool, free = Pool([(0, 60)], [(0, 60)]), set(range(60))
    for _ in range(2000):
        value = rng.randrange(60)
        if value in free:
            assert pool.take(value)
            free.discard(value)
        else:
            assert not pool.take(value)
            pool.give_back(value)
            free.add(value)
        assert {n for start, end in pool.free for n in range(start, end)} == free
        assert all(before[1] < after[0] for before, after in zip(pool.free, pool.free[1:], strict=False))


async def test_an_older_installation_gets_the_pool_of_ports_with_the_range_of_its_settings(schema: Schema) -> None:
    server = ApiServer(MemoryStore(), schema)
    await write_seeds(server)
    kind = "global_system_config"
    settings = Key(kind, await server.identify(kind, ["default-global-system-config"]))
    await server.update(settings, {"bgpaas_parameters": {"port_start": 60000, "port_end": 60001}})
    await server.drop_pool("bgpaas_port")
    await write_seeds(server)
    assert [(await server.allocate("bgpaas_port", f"o{n}"))[0] for n in range(2)] == [60000, 60001]
    await server.free("bgpaas_port", value=60001)
    # A smaller range keeps what is taken outside of it until it is freed, and does not allocate it again.
    await server.update(settings, {"bgpaas_parameters": {"port_start": 60001, "port_end": 60002}})
    assert (await server.allocate("bgpaas_port", "o0"))[0] == 60000
    await server.free("bgpaas_port", owner="o0")
    assert (await server.allocate("bgpaas_port", "o0"))[0] == 60001


async def test_an_older_installation_gets_more_route_targets(schema: Schema) -> None:
    server = ApiServer(MemoryStore(), schema)
    await server.create_pool("route_target_number", 8000100, 8010002)
    await server.allocate("route_target_number", "first")
    for _ in range(2):
        await write_seeds(server)
        assert (await server.allocate("route_target_number", "last", 8000000 + 2**24))[0] == 24777216
        assert (await server.allocate("route_target_number", "second"))[0] == 8000101


async def test_a_family_has_a_pool_for_each_part_while_that_has_numbers(api: Api, store: MemoryStore) -> None:
    await api.server.create_pool("f:", 1, 4)
    before = {item.key for item in (await store.range("/", "0")).items}
    with rejected(400, "family"):
        await api.server.allocate("f:", "o")
    for part in ("f:a", "f:b"):
        assert [(await api.server.allocate(part, owner))[0] for owner in ("default/u/x", "other/u/x")] == [1, 2]
    assert [tuple(held) for held in await api.server.held("f:", "default/")] == [
        ("f:a", "default/u/x", 1),
        ("f:b", "default/u/x", 1),
    ]
    assert [tuple(held) for held in await api.server.held("f:a", "other/")] == [("f:a", "other/u/x", 2)]
    with rejected(400, "no pool 'g:a'"):
        await api.server.allocate("g:a", "o")
    for part in ("f:a", "f:b"):
        for owner in ("other/u/x", "default/u/x"):
            await api.server.free(part, owner=owner)
    assert {item.key for item in (await store.range("/", "0")).items} == before
    assert (await api.server.allocate("f:a", "default/u/x"))[0] == 1
