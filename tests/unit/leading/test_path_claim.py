"""An installation claims its path once; any other one is rejected, and learns which one holds it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import pytest

from intentc.leading import (
    InstallationTaken,
    OtherLeader,
    PathClaimed,
    PathInUse,
    PathMarked,
    UnreadableClaim,
    claim_path,
    release_path,
)
from intentc.model import MARK_KEY
from intentc.watch.keys import claim_key, leader_key
from intentc.watch.protocol import Put
from tests.support.faulty_store import FaultyStore

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[FaultyStore]:
    opened = FaultyStore()
    yield opened
    await opened.close()


async def test_the_processes_of_one_installation_share_the_claim(store: FaultyStore) -> None:
    await claim_path(store, "contrail", "one", ["c"], "first")
    before = (await store.range(claim_key("contrail"))).items
    await claim_path(store, "contrail", "one", ["c"], "second")
    assert (await store.range(claim_key("contrail"))).items == before


async def test_another_installation_is_rejected_and_learns_who_holds_the_path(store: FaultyStore) -> None:
    await claim_path(store, "contrail", "one", ["c"], "first")
    await claim_path(store, "contrail2", "two", ["c"], "first")
    with pytest.raises(PathClaimed, match="path contrail belongs to the installation one, so two") as rejected:
        await claim_path(store, "contrail", "two", ["c"], "second")
    assert rejected.value.holder == "one"


async def test_one_of_two_that_start_together_gets_the_path(store: FaultyStore) -> None:
    rejected: list[str] = []

    async def start(installation: str) -> None:
        try:
            await claim_path(store, "contrail", installation, ["c"], "process")
        except PathClaimed as error:
            rejected.append(error.installation)

    async with anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(start, name)
    assert len(rejected) == 2


async def test_only_who_holds_the_path_gives_it_up(store: FaultyStore) -> None:
    assert not await release_path(store, "contrail", "one")
    await claim_path(store, "contrail", "one", ["c"], "first")
    assert not await release_path(store, "contrail", "two")
    assert await release_path(store, "contrail", "one")
    await claim_path(store, "contrail", "two", ["c"], "second")


async def test_a_path_is_not_given_up_while_its_installation_leads_unless_forced(store: FaultyStore) -> None:
    await claim_path(store, "contrail", "one", ["c"], "first")
    await store.transaction([], [Put(leader_key("one"), b"{}")])
    with pytest.raises(PathInUse, match="installation one runs, and writes below the path contrail"):
        await release_path(store, "contrail", "one")
    assert (await store.range(claim_key("contrail"))).items
    assert await release_path(store, "contrail", "one", force=True)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"[]", b"{}", b"\xff", b'"one"', b'{"installation": 1}', b'{"installation": "a\\u001bb"}', b"[" * 100_000],
)
async def test_a_claim_that_can_not_be_read_is_nobodys_and_stays(store: FaultyStore, garbage: bytes) -> None:
    await store.transaction([], [Put(claim_key("contrail"), garbage)])
    with pytest.raises(UnreadableClaim, match="can't be read") as rejected:
        await claim_path(store, "contrail", "one", ["c"], "first")
    assert rejected.value.key == claim_key("contrail")
    with pytest.raises(UnreadableClaim):
        await release_path(store, "contrail", "one", force=True)
    assert [item.value for item in (await store.range(claim_key("contrail"))).items] == [garbage]


async def mark(store: FaultyStore, path: str, *installations: str) -> None:
    """One object below ``path`` with the mark of each."""
    for installation in installations:
        annotations = {
            "key_value_pair": [{"key": "a", "value": "b"}, {"key": MARK_KEY, "value": f"{installation}/c/d"}]
        }
        value = json.dumps({"fq_name": ["x"], "annotations": annotations}).encode()
        await store.transaction([], [Put(f"/{path}/part/{installation}", value)])


async def test_a_path_where_another_installations_marks_are_is_not_claimed(store: FaultyStore) -> None:
    await mark(store, "contrail", "one", "other")
    for installation in ("one", "new"):
        with pytest.raises(PathMarked, match=r"\(1\) carry the mark of the installation (one|other), so") as rejected:
            await claim_path(store, "contrail", installation, ["c"], "first")
        assert rejected.value.path == "contrail" and rejected.value.other != installation
    assert not (await store.range(claim_key("contrail"))).items


async def test_own_marks_and_other_paths_and_invalid_marks_do_not_count(store: FaultyStore) -> None:
    await mark(store, "contrail", "one")
    await mark(store, "contrail2", "two")
    odd = (
        b"",
        b'"intentc"',
        b'{"annotations": {"key_value_pair": [{"key": "intentc"}]}}',
        b'"intentc"' + b"[" * 100_000,
    )
    for number, value in enumerate(odd):
        await store.transaction([], [Put(f"/contrail/part/odd{number}", value)])
    await mark(store, "contrail", "no name")
    await claim_path(store, "contrail", "one", ["c"], "first")


async def test_marks_of_all_pages_count(store: FaultyStore) -> None:
    for number in range(1_001):
        await store.transaction([], [Put(f"/contrail/box/{number:04}", b"{}")])
    await mark(store, "contrail", "two")
    with pytest.raises(PathMarked):
        await claim_path(store, "contrail", "one", ["c"], "first")


async def test_what_is_claimed_is_not_looked_through(store: FaultyStore) -> None:
    await claim_path(store, "contrail", "one", ["c"], "first")
    await mark(store, "contrail", "two")
    await claim_path(store, "contrail", "one", ["c"], "second")


async def lead(store: FaultyStore, installation: str) -> int:
    lease = await store.grant_lease(600)
    await store.transaction([], [Put(leader_key(installation), b"{}", lease)])
    return lease


async def test_a_path_is_not_claimed_while_another_installation_leads_that_has_claimed_none(store: FaultyStore) -> None:
    """Of a version before claims: nobody knows below which path it will write first."""
    await store.transaction([], [Put(f"/intentc/{name}/heartbeat/x", b"") for name in ("a", "apiserver", "two", "z")])
    lease = await lead(store, "two")
    with pytest.raises(OtherLeader, match=r"installation two leads \(/intentc/two/leader\)"):
        await claim_path(store, "contrail", "one", ["c"], "first")
    await claim_path(store, "elsewhere", "two", ["c"], "upgraded")
    await claim_path(store, "contrail", "one", ["c"], "first")
    await release_path(store, "contrail", "one")
    await release_path(store, "elsewhere", "two", force=True)
    with pytest.raises(OtherLeader):
        await claim_path(store, "contrail", "one", ["c"], "first")
    await store.revoke_lease(lease)
    await claim_path(store, "contrail", "one", ["c"], "first")


async def test_another_leader_is_no_obstacle_where_only_our_own_marks_are(store: FaultyStore) -> None:
    """Several installations of a version before claims are upgraded one after the other."""
    await mark(store, "contrail", "one")
    await lead(store, "two")
    await claim_path(store, "contrail", "one", ["c"], "first")


async def test_installations_with_other_compilers_share_a_path(store: FaultyStore) -> None:
    await mark(store, "contrail", "one")
    await claim_path(store, "contrail", "one", ["c", "d"], "first")
    await claim_path(store, "contrail", "two", ["e"], "first")
    with pytest.raises(PathClaimed, match=r"installation one, so three writes nothing below it: both compile d$"):
        await claim_path(store, "contrail", "three", ["d", "f"], "first")
    assert await release_path(store, "contrail", "one")
    with pytest.raises(PathClaimed, match="installation two"):
        await claim_path(store, "contrail", "three", ["e"], "first")
    await claim_path(store, "contrail", "three", ["d"], "first")


async def test_an_installation_may_get_more_compilers_but_not_a_process_with_others(
    store: FaultyStore,
) -> None:
    await claim_path(store, "contrail", "one", ["c"], "first")
    await claim_path(store, "contrail", "one", ["c", "d"], "second")
    with pytest.raises(PathClaimed):
        await claim_path(store, "contrail", "two", ["d"], "first")
    with pytest.raises(InstallationTaken, match="installation one compiles c, d, so a process that compiles e needs"):
        await claim_path(store, "contrail", "one", ["e"], "third")


async def test_concurrent_claims_lose_none_of_the_claimants(store: FaultyStore) -> None:
    async with anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(claim_path, store, "contrail", name, [f"of {name}"], "process")
    for name in ("one", "two", "three"):
        with pytest.raises(PathClaimed, match=f"belongs to the installation {name}"):
            await claim_path(store, "contrail", "four", [f"of {name}"], "process")


async def test_a_claim_of_a_version_that_named_no_compilers_is_for_all(store: FaultyStore) -> None:
    old = b'{"installation": "one", "process": "x", "since": 1.5}'
    await store.transaction([], [Put(claim_key("contrail"), old)])
    with pytest.raises(PathClaimed):
        await claim_path(store, "contrail", "two", ["e"], "first")
    await claim_path(store, "contrail", "one", ["c"], "upgraded")
    await claim_path(store, "contrail", "two", ["e"], "first")
