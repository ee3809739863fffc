"""Which resources there are: searched, paged, and cheap in a large world."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable
from typing import Any

import anyio
import pytest

from intentc.diagnostics.questions import ObjectQuery, Pending, Unanswerable
from intentc.inspection import Reader
from intentc.model import Key
from tests.browser.large_world import at_rest
from tests.support.contrail_system import ContrailSystem, rule, rules
from tests.support.cpu import slowness

pytestmark = pytest.mark.anyio

GROUPS, PORTS = 1_500, 7_000
LONGEST_HOLD = 0.02
"""Seconds of computing without giving the loop away; four milliseconds are meant."""


@pytest.fixture
async def system() -> ContrailSystem:
    system = await ContrailSystem().begin()
    await system.create("security_group", "blue:web", security_group_entries=rules(rule("local", "all")))
    await system.create("security_group", "blue:db", security_group_entries=rules(rule("web", "local")))
    return system


async def search(system: ContrailSystem, text: str = "", **query: Any) -> list[tuple[str, str]]:
    found = await Reader(system.offline.engine).ask(ObjectQuery(text=text, **query))
    return [(row["kind"], row["name"]) for row in found["rows"]]


async def states(system: ContrailSystem, text: str) -> dict[str, str]:
    """Last element of the name → state."""
    found = await Reader(system.offline.engine).ask(ObjectQuery(text=text))
    return {row["name"].rpartition(":")[2]: row["state"] for row in found["rows"]}


async def test_rows_are_sorted_by_kind_then_name(system: ContrailSystem) -> None:
    rows = await search(system, limit=500)
    assert rows == sorted(rows, key=lambda row: (row[0], row[1].split(":")))
    assert len(rows) == len(system.offline.engine.world.cache)


async def test_a_text_is_found_anywhere_in_a_name_whatever_its_case(system: ContrailSystem) -> None:
    assert await search(system, "BLUE:WEB") == [
        ("access_control_list", "default-domain:blue:web:egress-access-control-list"),
        ("access_control_list", "default-domain:blue:web:ingress-access-control-list"),
        ("security_group", "default-domain:blue:web"),
    ]


async def test_a_uuid_finds_its_resource(system: ContrailSystem) -> None:
    key = system.named("security_group", "blue:web")
    assert key is not None
    assert await search(system, key.uuid) == [("security_group", "default-domain:blue:web")]


async def test_a_kind_may_be_spelt_as_in_urls(system: ContrailSystem) -> None:
    kinds = {kind for kind, _ in await search(system, kind="access-control-list")}
    assert kinds == {"access_control_list"}


async def test_an_unknown_kind_is_rejected_with_the_nearest(system: ContrailSystem) -> None:
    with pytest.raises(Unanswerable, match="did you mean security_group"):
        await search(system, kind="security_grup")


async def test_pages_follow_each_other_without_gap_or_overlap(system: ContrailSystem) -> None:
    every = await search(system, limit=500)
    pages = [await search(system, offset=offset, limit=7) for offset in range(0, len(every) + 7, 7)]
    assert [row for page in pages for row in page] == every


async def test_counts_are_of_all_that_are_there_and_the_total_of_what_is_wanted(system: ContrailSystem) -> None:
    found = await Reader(system.offline.engine).ask(ObjectQuery(text="blue:web", limit=1))
    assert found["total"] == 3
    assert found["kinds"]["security_group"] == 3
    assert sum(found["kinds"].values()) == len(system.offline.engine.world.cache)


async def test_a_row_shows_role_revision_state_and_whether_it_is_ours(system: ContrailSystem) -> None:
    found = await Reader(system.offline.engine).ask(ObjectQuery(text="blue:web"))
    key = system.named("security_group", "blue:web")
    assert key is not None
    assert found["rows"][-1] == {
        "kind": "security_group",
        "name": "default-domain:blue:web",
        "uuid": key.uuid,
        "revision": await system.revision(key),
        "role": "input",
        "ours": False,
        "state": "as desired",
        "problems": 0,
    }
    assert [(row["role"], row["ours"]) for row in found["rows"][:2]] == [("output", True)] * 2


async def test_one_that_can_not_be_read_is_found_and_held(system: ContrailSystem) -> None:
    key = system.named("security_group", "blue:web")
    assert key is not None
    await system.put(key, b"{")
    assert (await states(system, "blue:web"))["web"] == "held"
    assert ("security_group", "default-domain:blue:web") in await search(system, state="held")


async def test_one_that_nobody_could_ever_read_has_its_uuid_for_a_name(system: ContrailSystem) -> None:
    await system.put(Key("security_group", "7f0c0d4e-0000-4000-8000-000000000001"), b"{")
    assert await search(system, "7f0c0d4e") == [("security_group", "7f0c0d4e-0000-4000-8000-000000000001")]


@pytest.mark.parametrize("state", ["as desired", "held", "waiting", "queued"])
async def test_those_in_a_state_are_the_rows_that_show_it(system: ContrailSystem, state: str) -> None:
    """The short test that most resources pass agrees with the long one."""
    key = system.named("security_group", "blue:web")
    assert key is not None
    await system.put(key, b"{")
    every = (await Reader(system.offline.engine).ask(ObjectQuery(limit=500)))["rows"]
    assert await search(system, state=state, limit=500) == [
        (row["kind"], row["name"]) for row in every if row["state"] == state
    ]


async def test_an_absent_claimed_object_is_found_without_a_uuid() -> None:
    engine = await at_rest(1, 0, lists=False)
    found = await Reader(engine).ask(ObjectQuery(state="planned"))
    assert [(row["kind"], row["uuid"], row["revision"]) for row in found["rows"]] == [
        ("access_control_list", "", None)
    ] * 2
    assert "access_control_list" not in found["kinds"]


@pytest.fixture(scope="module")
def large() -> Reader:
    return Reader(anyio.run(at_rest, GROUPS, PORTS))


LARGE = [
    ObjectQuery(),
    ObjectQuery(limit=500),
    ObjectQuery(text="group-77"),
    ObjectQuery(text="nothing is called so"),
    ObjectQuery(offset=6_000, limit=500),
    ObjectQuery(state="as desired"),
    ObjectQuery(state="held"),
    ObjectQuery(state="planned", limit=500),
]


async def longest_hold(work: Awaitable[object]) -> float:
    """For how many seconds of computing, on an idle machine, the loop was held at most while that was done. Garbage of
    the many tests of this process is not collected meanwhile."""
    held: list[float] = []
    over = asyncio.Event()

    async def look() -> None:
        last = time.thread_time()
        while not over.is_set():
            await asyncio.sleep(0)
            now = time.thread_time()
            held.append(now - last)
            last = now

    gc.collect()
    gc.disable()
    try:
        looking = asyncio.ensure_future(look())
        await work
        over.set()
        await looking
    finally:
        gc.enable()
    return max(held) / slowness()


@pytest.mark.parametrize("query", LARGE, ids=str)
async def test_the_loop_is_never_held_for_long(large: Reader, query: ObjectQuery) -> None:
    assert await longest_hold(large.ask(query)) < LONGEST_HOLD


async def test_however_many_search_at_once_they_take_turns(large: Reader) -> None:
    """Each of them alone would hold the loop for a slice, one after the other."""
    many = asyncio.gather(*(large.ask(ObjectQuery(text="group-77")) for _ in range(20)))
    assert await longest_hold(many) < 3 * LONGEST_HOLD


async def test_references_that_lead_nowhere_are_paged_and_the_loop_is_not_held(large: Reader) -> None:
    assert await longest_hold(large.ask(Pending(offset=100, limit=50))) < LONGEST_HOLD
    found = await large.ask(Pending(offset=100, limit=50))
    assert (found["total"], len(found["pending_references"])) == (PORTS, 50)
    assert found["pending_references"] == (await large.ask(Pending(offset=0, limit=150)))["pending_references"][100:]


async def test_deep_pages_of_a_large_world_are_in_order_too(large: Reader) -> None:
    shallow = [row for offset in (0, 500) for row in (await large.ask(ObjectQuery(offset=offset, limit=500)))["rows"]]
    deep = (await large.ask(ObjectQuery(offset=700, limit=500)))["rows"]
    assert deep[:300] == shallow[700:]
    rows = (await large.ask(ObjectQuery(offset=9_000, limit=500)))["rows"]
    assert rows == sorted(rows, key=lambda row: (row["kind"], row["name"].split(":")))
