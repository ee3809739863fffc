"""A snapshot can be decoded beforehand, in slices, with the same result (docs/engine.md §1.7)."""

from __future__ import annotations

import pytest

from intentc.logic import Affected, Service
from intentc.logic.cache import State
from intentc.logic.dependencies import load
from intentc.model import Key, Kind, Snapshot
from tests.support.toy_kinds import batch, broken, deleted, key, put, reference, snapshot, toy_schema

NETS = 300


def service() -> Service:
    return Service(toy_schema(), load("intent-compiler: {}\n"), intent_kinds={"net": False}, settings={})


@pytest.fixture
def listing() -> Snapshot:
    nets = [put("net", f"n{n}", n + 1, net_refs=[reference(f"n{n + 1}")], text="x") for n in range(NETS)]
    return snapshot(*nets, broken("net", "bad", NETS + 1), put("unheard_of", "u", NETS + 2))


def united(world: Service, listing: Snapshot) -> dict[Key, State]:
    return {found: state for states in world.decode(listing) for found, state in states.items()}


def same(one: Affected, other: Affected) -> bool:
    return one == other and list(one.jobs) == list(other.jobs)


def test_no_slice_is_large(listing: Snapshot) -> None:
    sizes = [len(states) for states in service().decode(listing)]
    assert sum(sizes) == NETS + 1
    assert len(sizes) > 5
    assert max(sizes) <= 50


def test_it_has_the_same_effect_as_decoding_at_once(listing: Snapshot) -> None:
    at_once, prepared = service(), service()
    assert same(prepared.apply(listing, united(prepared, listing)), at_once.apply(listing))
    assert set(prepared.cache) == set(at_once.cache)
    assert set(prepared.held) == {key("net/bad")}
    assert prepared.targets(key("net/n1"), "net") == at_once.targets(key("net/n1"), "net")


def test_what_was_decoded_is_not_decoded_again(listing: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    world = service()
    decoded = united(world, listing)
    monkeypatch.delattr(Kind, "decode")
    world.apply(listing, decoded)
    assert len(world.cache) == NETS + 1


def test_what_is_missing_from_it_is_decoded_when_it_is_applied(listing: Snapshot) -> None:
    world = service()
    first = next(iter(world.decode(listing)))
    world.apply(listing, first)
    assert len(world.cache) == NETS + 1


def test_decoding_changes_nothing(listing: Snapshot) -> None:
    world = service()
    united(world, listing)
    assert len(world.cache) == 0
    assert world.revision == 0


def test_what_the_cache_has_already_is_passed_over(listing: Snapshot) -> None:
    world = service()
    world.apply(listing)
    assert united(world, listing) == {}


def test_a_change_between_decoding_and_applying_is_overruled_by_the_snapshot() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1), put("net", "b", 2)))
    later = snapshot(put("net", "a", 1), put("net", "c", 6), revision=7)
    decoded = united(world, later)
    world.apply(batch(deleted("net", "a", 3)))
    world.apply(batch(put("net", "d", 4)))
    world.apply(later, decoded)
    assert set(world.cache) == {key("net/a"), key("net/c")}
