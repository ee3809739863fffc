"""A process that dies while it evaluates leaves a suspect; only a second death holds it (docs/engine.md §4.3)."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from intentc.directives import Book, Suspect, hold_suspects
from intentc.model import Key
from intentc.watch.protocol import Put
from tests.support.faulty_store import FaultyStore

pytestmark = pytest.mark.anyio

KEY = Key("net", "u")
PROCESSES = itertools.count()
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
async def store() -> FaultyStore:
    store = FaultyStore()
    await store.transaction([], [Put("/contrail/net/u", b"{}")])
    return store


async def death(store: FaultyStore, after: timedelta = timedelta()) -> int:
    by = f"process {next(PROCESSES)}"
    return await hold_suspects(store, "i", "contrail", [KEY], by=by, now=lambda: NOW + after)


async def suspect(store: FaultyStore) -> Suspect:
    ((directive, _),) = await Book(store, "i").list()
    assert isinstance(directive, Suspect)
    return directive


async def test_one_death_is_noted_and_holds_nothing(store: FaultyStore) -> None:
    assert await death(store) == 0
    assert (await suspect(store)).deaths == 1


async def test_a_second_death_on_the_same_resource_holds_it(store: FaultyStore) -> None:
    await death(store)
    assert await death(store, timedelta(minutes=5)) == 1
    assert (await suspect(store)).holds


async def test_a_death_of_long_ago_does_not_count(store: FaultyStore) -> None:
    await death(store)
    assert await death(store, timedelta(hours=2)) == 0


async def test_a_death_on_the_resource_as_it_was_before_does_not_count(store: FaultyStore) -> None:
    await death(store)
    await store.transaction([], [Put("/contrail/net/u", b"{ }")])
    assert await death(store) == 0


async def test_what_is_held_stays_held_however_long_it_takes(store: FaultyStore) -> None:
    await death(store)
    await death(store)
    assert await death(store, timedelta(days=30)) == 1


async def test_a_resource_that_is_gone_is_not_noted(store: FaultyStore) -> None:
    assert await hold_suspects(store, "i", "contrail", [Key("net", "gone")], by="me") == 0
    assert await Book(store, "i").list() == ()


async def test_one_death_is_noted_once_however_often_that_is_tried(store: FaultyStore) -> None:
    for _ in range(3):
        assert await hold_suspects(store, "i", "contrail", [KEY], by="me", now=lambda: NOW) == 0
    assert (await suspect(store)).deaths == 1
