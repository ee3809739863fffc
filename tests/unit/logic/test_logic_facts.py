"""Facts, allocations and settings: values from outside the store."""

from __future__ import annotations

import pytest

from intentc.logic import Job, Service
from intentc.logic.dependencies import load
from intentc.model import Fact
from intentc.model.reads import allocation_read, fact_read, object_read, presence_read, setting_read
from tests.support.toy_kinds import batch, deleted, key, keys, put, snapshot, toy_schema


@pytest.fixture
def world() -> Service:
    """Three nets; facts of the kind ``tag`` are intents of their own."""
    kinds = {"net": False, "tag": False}
    service = Service(toy_schema(), load("intent-compiler: {}\n"), intent_kinds=kinds, settings={"limit": [1, 2]})
    service.apply(snapshot(*(put("net", name, 1) for name in ("a", "b", "c"))))
    return service


def yields(world: Service, intent: str, *facts: Fact) -> dict[str, bool]:
    affected = world.evaluated(key(intent), frozenset(), facts, complete=True)
    return {str(found): job.by_readers for found, job in affected.jobs.items()}


def test_readers_of_a_fact_are_woken_when_it_changes_and_only_then(world: Service) -> None:
    world.evaluated(key("net/b"), frozenset({fact_read("hint", "x")}), (), complete=True)
    assert yields(world, "net/a", Fact("hint", "x", 1)) == {"net/b": True}
    assert yields(world, "net/a", Fact("hint", "x", 1)) == {}
    assert yields(world, "net/a", Fact("hint", "x", 2)) == {"net/b": True}
    assert yields(world, "net/a") == {"net/b": True}


def test_readers_of_its_presence_are_woken_when_a_fact_comes_and_when_it_goes(world: Service) -> None:
    world.evaluated(key("net/c"), frozenset({presence_read("hint", "x")}), (), complete=True)
    assert not world.contributed("hint", "x")
    assert yields(world, "net/a", Fact("hint", "x", 1)) == {"net/c": True}
    assert world.contributed("hint", "x")
    assert yields(world, "net/b", Fact("hint", "x", 2)) == {}
    assert yields(world, "net/a", Fact("hint", "x", 3)) == {}
    assert yields(world, "net/a") == {}
    assert yields(world, "net/b") == {"net/c": True}


def test_readers_of_its_presence_are_woken_when_the_last_contributor_is_deleted(world: Service) -> None:
    world.evaluated(key("net/c"), frozenset({presence_read("hint", "x")}), (), complete=True)
    yields(world, "net/a", Fact("hint", "x", 1))
    assert world.apply(batch(deleted("net", "a", 2))).jobs[key("net/c")].by_readers


def test_contributions_are_sorted_by_contributor(world: Service) -> None:
    yields(world, "net/b", Fact("hint", "x", "of b"))
    yields(world, "net/a", Fact("hint", "x", "of a"), Fact("hint", "x", "again"))
    assert world.contributions("hint", "x") == (
        (key("net/a"), "of a"),
        (key("net/a"), "again"),
        (key("net/b"), "of b"),
    )


def test_a_fact_that_is_claimed_is_an_intent_of_its_own(world: Service) -> None:
    affected = world.evaluated(key("net/a"), frozenset(), (Fact("tag", "x", 1),), complete=True)
    assert affected.jobs == {key("tag/x"): Job(False)}
    assert world.exists(key("tag/x"))


def test_it_lives_while_anybody_claims_it(world: Service) -> None:
    yields(world, "net/a", Fact("tag", "x", 1))
    yields(world, "net/b", Fact("tag", "x", 1))
    assert world.evaluated(key("net/a"), frozenset(), (), complete=True).deleted == frozenset()
    assert world.evaluated(key("net/b"), frozenset(), (), complete=True).deleted == keys("tag/x")
    assert not world.exists(key("tag/x"))


@pytest.mark.parametrize("healing", [True, False])
def test_an_intent_of_a_fact_that_reads_an_object_misses_no_reaction(healing: bool) -> None:
    kinds = {"net": False, "tag": False}
    world = Service(toy_schema(), load("intent-compiler: {}\n"), intent_kinds=kinds, settings={}, healing=healing)
    world.apply(snapshot(put("net", "a", 1), put("policy", "p", 2)))
    yields(world, "net/a", Fact("tag", "x", 1))
    world.evaluated(key("tag/x"), frozenset({object_read(key("policy/p"))}), (), complete=True)
    affected = world.apply(batch(put("policy", "p", 3, born=2, text="other")))
    assert affected.jobs == {key("tag/x"): Job(True)}


def test_what_an_intent_of_a_fact_contributes_goes_with_it(world: Service) -> None:
    yields(world, "net/a", Fact("tag", "x", 1))
    yields(world, "tag/x", Fact("tag", "y", 1), Fact("hint", "z", 1))
    world.evaluated(key("net/b"), frozenset({fact_read("hint", "z")}), (), complete=True)
    affected = world.evaluated(key("net/a"), frozenset(), (), complete=True)
    assert affected.deleted == keys("tag/x", "tag/y")
    assert affected.jobs == {key("net/b"): Job(True)}


def test_facts_go_with_the_object_of_their_intent(world: Service) -> None:
    world.evaluated(key("net/b"), frozenset({fact_read("hint", "x")}), (), complete=True)
    yields(world, "net/a", Fact("hint", "x", 1), Fact("tag", "t", 1))
    affected = world.apply(batch(deleted("net", "a", 2)))
    assert affected.deleted == keys("net/a", "tag/t")
    assert affected.jobs[key("net/b")].by_readers
    assert world.contributions("hint", "x") == ()


def test_facts_stay_after_a_run_that_did_not_end(world: Service) -> None:
    yields(world, "net/a", Fact("hint", "x", 1))
    world.evaluated(key("net/a"), frozenset(), None, complete=False)
    assert world.contributions("hint", "x") == ((key("net/a"), 1),)


def test_a_held_intent_yields_the_facts_of_its_last_good_value(world: Service) -> None:
    yields(world, "net/a", Fact("hint", "x", 1))
    world.evaluated(key("net/a"), frozenset(), (Fact("hint", "y", 2),), complete=False)
    assert world.contributions("hint", "x") == ()
    assert world.contributions("hint", "y") == ((key("net/a"), 2),)


def test_readers_of_an_allocation_are_woken_when_it_is_given_and_freed(world: Service) -> None:
    world.evaluated(key("net/a"), frozenset({allocation_read("numbers", "lab/a/one")}), (), complete=True)
    assert world.allocated("numbers", "lab/a/one", 8000000).jobs == {key("net/a"): Job(True)}
    assert world.allocation("numbers", "lab/a/one") == 8000000
    assert world.allocated("numbers", "lab/a/one", 8000000).jobs == {}
    assert world.allocated("numbers", "lab/a/one", None).jobs == {key("net/a"): Job(True)}
    assert world.allocation("numbers", "lab/a/one") is None


def test_readers_of_a_setting_are_woken_when_it_changes(world: Service) -> None:
    world.evaluated(key("net/a"), frozenset({setting_read("limit")}), (), complete=True)
    assert world.set_setting("limit", [1, 2]).jobs == {}
    assert world.set_setting("limit", [3]).jobs == {key("net/a"): Job(True)}
    assert world.setting("limit") == (3,)


def test_a_setting_that_nobody_made_is_a_key_error(world: Service) -> None:
    with pytest.raises(KeyError, match="unknown"):
        world.setting("unknown")
