"""Many changes in one transaction, in any order, all or nothing (docs/contrail.md B.2 ``/sync``; yml cases sync,
sync_sort)."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import ApiError
from intentc.model import Key, Schema
from intentc.watch.memory import MemoryStore
from tests.support.cpu import slowness

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


def uuid(number: int) -> str:
    return f"5b0f0000-0000-4000-8000-{number:012d}"


def item(kind: str, number: int, operation: str = "CREATE", **data: Any) -> dict[str, Any]:
    return {"kind": kind, "operation": operation, "data": {"uuid": uuid(number), **data}}


def world() -> list[dict[str, Any]]:
    """A project, a policy, a network that refers to it by name, a port of that network, a group."""
    return [
        item("project", 1, fq_name=["default-domain", "p"]),
        item("network_policy", 2, fq_name=["default-domain", "p", "pol"]),
        item(
            "virtual_network",
            3,
            fq_name=["default-domain", "p", "net"],
            network_policy_refs=[{"to": ["default-domain", "p", "pol"]}],
        ),
        item(
            "virtual_machine_interface",
            4,
            fq_name=["default-domain", "p", "port"],
            parent_type="project",
            virtual_network_refs=[{"uuid": uuid(3)}],
        ),
        item("security_group", 5, parent_uuid=uuid(1), parent_type="project", name="group"),
    ]


async def test_any_order_is_sorted_so_that_parents_and_targets_come_first(schema: Schema, api: Api) -> None:
    for order in itertools.islice(itertools.permutations(world()), 0, None, 17):
        applied, revision = await api.server.sync(list(order))
        places = {event.data["uuid"]: place for place, event in enumerate(applied)}
        assert places[uuid(1)] == min(places.values())
        assert places[uuid(2)] < places[uuid(3)] < places[uuid(4)]
        for element in order:
            assert (await api.server.get(Key(element["kind"], element["data"]["uuid"]))).revision == revision
        deletes = [item(element["kind"], int(element["data"]["uuid"][-3:]), "DELETE") for element in order]
        gone, _ = await api.server.sync(deletes)
        places = {event.data["uuid"]: place for place, event in enumerate(gone)}
        assert places[uuid(4)] < places[uuid(3)] < places[uuid(2)] < places[uuid(1)]


async def test_all_or_nothing_and_the_error_names_the_item(api: Api, store: MemoryStore) -> None:
    items = [*world(), item("security_group", 6, fq_name=["default-domain", "p", "bad"], nonsense=1)]
    before = (await store.range("/")).revision
    with rejected(400, "item 5 (security_group default-domain:p:bad)", "nonsense"):
        await api.server.sync(items)
    assert (await store.range("/")).revision == before


async def test_a_cycle_of_creates_is_rejected_and_shown(api: Api) -> None:
    items = [
        item("virtual_network", 1, fq_name=[*PROJECT, "a"], virtual_network_refs=[{"uuid": uuid(2)}]),
        item("virtual_network", 2, fq_name=[*PROJECT, "b"], virtual_network_refs=[{"uuid": uuid(1)}]),
    ]
    with rejected(400, "cycle", "item 0", "item 1"):
        await api.server.sync(items)


async def test_creating_what_exists_updates_it(api: Api) -> None:
    await api.server.sync(world())
    applied, _ = await api.server.sync([item("project", 1, fq_name=["default-domain", "p"], display_name="new")])
    assert [event.operation for event in applied] == ["UPDATE"]
    assert (await api.get("project", uuid(1)))["display_name"] == "new"


async def test_conditions_hold_for_each_item(api: Api) -> None:
    _, revision = await api.server.sync(world())
    with rejected(409, "item 0 (project", "exists already"):
        await api.server.sync([item("project", 1, fq_name=["default-domain", "p"]) | {"if_none_match": True}])
    change = item("project", 1, "UPDATE", display_name="x")
    with rejected(412, "item 0 (project", "If-Match"):
        await api.server.sync([change | {"if_match": revision - 1}])
    await api.server.sync([change | {"if_match": revision}])


async def test_a_name_moves_to_another_resource_in_one_transaction(api: Api) -> None:
    await api.server.sync(world())
    await api.server.sync(
        [
            item("network_policy", 7, fq_name=["default-domain", "p", "pol"]),
            item("virtual_network", 3, "UPDATE", network_policy_refs=[{"uuid": uuid(7)}]),
            item("network_policy", 2, "DELETE"),
        ]
    )
    assert await api.server.identify("network_policy", ["default-domain", "p", "pol"]) == uuid(7)
    assert not await api.exists("network_policy", uuid(2))


async def test_a_deletion_that_something_holds_names_its_item(api: Api) -> None:
    await api.server.sync(world())
    with rejected(409, "item 1 (network_policy", "virtual_network/"):
        await api.server.sync([item("security_group", 5, "DELETE"), item("network_policy", 2, "DELETE")])


@pytest.mark.parametrize(
    ("elements", "place", "detail"),
    [
        ([item("project", 9, fq_name=["default-domain", "q"]), {"kind": "nonsense"}], 1, "unknown kind"),
        ([item("project", 9, fq_name=["default-domain", "q"]), item("project", 1, "DELETE")], 1, "no project"),
        ([item("project", 8, fq_name=["default-domain", "default-project"])], 0, "project default-domain"),
    ],
)
async def test_a_rejection_separates_item_and_message(api: Api, elements: Any, place: int, detail: str) -> None:
    with pytest.raises(ApiError) as caught:
        await api.server.sync(elements)
    assert caught.value.item == place
    assert caught.value.detail.startswith((detail, f"there is {detail}"))
    assert caught.value.message.startswith(f"item {place} (")


async def test_a_rejection_of_the_whole_request_names_no_item(api: Api) -> None:
    with pytest.raises(ApiError) as caught:
        await api.server.sync([item("network_policy", n, fq_name=[*PROJECT, f"p{n}"]) for n in range(40)])
    assert caught.value.item is None


async def test_what_goes_can_not_be_referred_to(api: Api) -> None:
    await api.server.sync(world())
    policy = item("network_policy", 8, fq_name=[*PROJECT, "x"])
    await api.server.sync([policy])
    with rejected(409, "no network-policy"):
        await api.server.sync(
            [
                item("network_policy", 8, "DELETE"),
                item("virtual_network", 3, "UPDATE", network_policy_refs=[{"uuid": uuid(8)}]),
            ]
        )


async def test_duplicates_within_the_request_are_rejected(api: Api) -> None:
    with rejected(409, "item 1"):
        await api.server.sync(
            [item("network_policy", 1, fq_name=[*PROJECT, "a"]), item("network_policy", 2, fq_name=[*PROJECT, "a"])]
        )
    with rejected(409, "given twice"):
        await api.server.sync(
            [item("network_policy", 1, fq_name=[*PROJECT, "a"]), item("network_policy", 1, fq_name=[*PROJECT, "b"])]
        )


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ("x", "list"),
        ([7], "item 0"),
        ([{"kind": "nonsense", "data": {}}], "unknown kind 'nonsense'"),
        ([{"kind": "project", "operation": "UPSERT", "data": {}}], "UPSERT"),
        ([{"kind": "project", "operation": "DELETE", "data": {}}], "needs data.uuid"),
        ([{"kind": "project", "data": {}, "if-match": 1}], "unknown fields if-match"),
    ],
)
async def test_an_element_that_is_none_is_rejected(api: Api, elements: Any, words: str) -> None:
    with rejected(400, words):
        await api.server.sync(elements)


async def test_networks_of_one_request_get_different_numbers(api: Api) -> None:
    items = [item("virtual_network", number, fq_name=[*PROJECT, f"n{number}"]) for number in range(5)]
    applied, _ = await api.server.sync(items)
    assert sorted(event.data["virtual_network_network_id"] for event in applied) == [8, 9, 10, 11, 12]


async def test_more_operations_than_a_transaction_takes_are_counted(api: Api, store: MemoryStore) -> None:
    items = [item("network_policy", number, fq_name=[*PROJECT, f"p{number}"]) for number in range(40)]
    before = (await store.range("/")).revision
    with rejected(413, "160 operations", "the limit is 128"):
        await api.server.sync(items)
    assert (await store.range("/")).revision == before
    await api.server.sync(items[:32])


async def test_a_hundred_access_control_lists_cost_at_most_20_ms(schema: Schema) -> None:
    store = MemoryStore(max_txn_ops=1024)
    server = ApiServer(store, schema, max_txn_ops=1024)
    await server.sync(
        [
            {"kind": "domain", "data": {"fq_name": ["d"]}},
            {"kind": "project", "data": {"fq_name": ["d", "p"], "uuid": uuid(1)}},
        ]
    )
    await server.create_pool("security_group_id", 1, 1000)
    await server.sync([item("security_group", 100 + n, fq_name=["d", "p", f"g{n}"]) for n in range(50)])
    match = {"match_condition": {"protocol": "any", "dst_port": {"end_port": 65535}}}
    best = float("inf")
    for attempt in range(25):
        items = [
            item(
                "access_control_list",
                1000 * (attempt + 1) + n,
                fq_name=["d", "p", f"g{n // 2}", f"a{attempt}-{n % 2}"],
                parent_type="security-group",
                parent_uuid=uuid(100 + n // 2),
                access_control_list_entries={"acl_rule": [match, match]},
            )
            for n in range(100)
        ]
        start = time.process_time()
        await server.sync(items)
        best = min(best, (time.process_time() - start) / slowness())
        if best <= 0.020:
            break
    await store.close()
    assert best <= 0.020


async def test_every_rejected_item_is_named_but_not_what_only_hangs_on_one(api: Api) -> None:
    entries = [
        {"kind": "project", "operation": "CREATE", "data": {"fq_name": ["default-domain", "p"], "nonsense": 1}},
        {"kind": "network_policy", "operation": "CREATE", "data": {"fq_name": ["default-domain", "p", "below"]}},
        {"kind": "network_policy", "operation": "CREATE", "data": {"fq_name": [*PROJECT, "good"]}},
        {"kind": "network_policy", "operation": "CREATE", "data": {"fq_name": [*PROJECT, "odd"], "nonsense": 1}},
    ]
    with pytest.raises(ApiError) as rejected_items:
        await api.server.sync(entries)
    assert [item for item, _ in rejected_items.value.rejected] == [0, 3]
    assert "'nonsense'" in rejected_items.value.rejected[1][1]
