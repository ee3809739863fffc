"""An installation claims its path once; another one is refused, whoever comes first, and learns who holds it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from intentc.leading import PathClaimed, PathInUse, claim_path, release_path
from intentc.watch.keys import claim_key, leader_key
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    opened = MemoryStore()
    yield opened
    await opened.close()


async def test_the_processes_of_one_installation_share_the_claim(store: MemoryStore) -> None:
    await claim_path(store, "contrail", "one", "first")
    before = (await store.range(claim_key("contrail"))).items
    await claim_path(store, "contrail", "one", "second")
    assert (await store.range(claim_key("contrail"))).items == before


async def test_another_installation_is_refused_and_learns_who_holds_the_path(store: MemoryStore) -> None:
    await claim_path(store, "contrail", "one", "first")
    await claim_path(store, "contrail2", "two", "first")
    with pytest.raises(PathClaimed, match="path contrail belongs to the installation one, so two") as refused:
        await claim_path(store, "contrail", "two", "second")
    assert refused.value.holder == "one"


async def test_of_two_that_start_at_once_one_gets_the_path(store: MemoryStore) -> None:
    refused: list[str] = []

    async def start(installation: str) -> None:
        try:
            await claim_path(store, "contrail", installation, "process")
        except PathClaimed as error:
            refused.append(error.installation)

    async with anyio.create_task_group() as group:
        for name in ("one", "two", "three"):
            group.start_soon(start, name)
    assert len(refused) == 2


async def test_only_who_holds_the_path_gives_it_up(store: MemoryStore) -> None:
    assert not await release_path(store, "contrail", "one")
    await claim_path(store, "contrail", "one", "first")
    assert not await release_path(store, "contrail", "two")
    assert await release_path(store, "contrail", "one")
    await claim_path(store, "contrail", "two", "second")


async def test_a_path_is_not_given_up_while_its_installation_leads_unless_forced(store: MemoryStore) -> None:
    await claim_path(store, "contrail", "one", "first")
    await store.transaction([], [Put(leader_key("one"), b"{}")])
    with pytest.raises(PathInUse, match="installation one runs, and writes below the path contrail"):
        await release_path(store, "contrail", "one")
    assert (await store.range(claim_key("contrail"))).items
    assert await release_path(store, "contrail", "one", force=True)


async def test_a_claim_that_can_not_be_read_is_nobodys(store: MemoryStore) -> None:
    await store.transaction([], [Put(claim_key("contrail"), b"[]")])
    with pytest.raises(PathClaimed, match="can't be read"):
        await claim_path(store, "contrail", "one", "first")
