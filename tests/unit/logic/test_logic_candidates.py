"""What a change affects: the readers of what changed, the walk before and after it, and what was never evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.logic import Affected, Job, Service
from intentc.logic.dependencies import load
from intentc.model import Name, Read
from intentc.model.reads import name_read, object_read, sources_read, targets_read
from tests.support.toy_kinds import batch, deleted, key, keys, put, reference, snapshot, toy_schema

REACTIONS = """\
intent-compiler:
  tenant: {self: [net]}
  policy: {self: [net]}
  net: {self: [net], policy: [], net: [], tenant: []}
"""


def service(reactions: str = REACTIONS, **options: Any) -> Service:
    kinds = dict.fromkeys(("tenant", "net", "policy", "group"), False)
    return Service(toy_schema(), load(reactions), intent_kinds=kinds, settings={}, **options)


def evaluated(world: Service, intent: str, *reads: Read) -> Affected:
    return world.evaluated(key(intent), frozenset(reads), (), complete=True)


def test_everything_is_a_candidate_after_the_first_snapshot() -> None:
    world = service()
    affected = world.apply(snapshot(put("net", "a", 1), put("policy", "p", 2), put("port", "x", 3)))
    assert affected.jobs == {
        key("policy/p"): Job(False, (key("policy/p"),)),
        key("net/a"): Job(False, (key("net/a"),)),
    }
    assert affected.objects == {Name("net", ("a",)), Name("policy", ("p",)), Name("port", ("x",))}
    assert world.revision == 3


def test_a_reader_of_a_changed_object_runs() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1, policy_refs=[reference("p")]), put("policy", "p", 2)))
    evaluated(world, "net/a", object_read(key("policy/p")))
    affected = world.apply(batch(put("policy", "p", 3, born=2, text="other")))
    assert affected.jobs[key("net/a")] == Job(True, (key("policy/p"), key("net/a")))


def test_what_only_the_walk_names_did_not_read_it() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1, policy_refs=[reference("p")]), put("policy", "p", 2)))
    evaluated(world, "net/a", object_read(key("net/a")))
    affected = world.apply(batch(put("policy", "p", 3, born=2, text="other")))
    assert affected.jobs[key("net/a")] == Job(False, (key("policy/p"), key("net/a")))


def test_an_intent_that_trusts_the_map_runs_whenever_the_walk_names_it() -> None:
    world = Service(toy_schema(), load(REACTIONS), intent_kinds={"net": True, "policy": False}, settings={})
    world.apply(snapshot(put("net", "a", 1, policy_refs=[reference("p")]), put("policy", "p", 2)))
    evaluated(world, "net/a", object_read(key("net/a")))
    affected = world.apply(batch(put("policy", "p", 3, born=2, text="other")))
    assert affected.jobs[key("net/a")] == Job(True, (key("policy/p"), key("net/a")))
    assert affected.jobs[key("policy/p")] == Job(False, (key("policy/p"),))


def test_a_reader_that_the_walk_does_not_reach_is_a_missing_reaction() -> None:
    world = service()
    world.apply(snapshot(put("group", "g", 1), put("policy", "p", 2)))
    evaluated(world, "group/g", object_read(key("policy/p")))
    affected = world.apply(batch(put("policy", "p", 3, born=2, text="other")))
    assert affected.jobs[key("group/g")] == Job(True, (), ("group", "policy"))


def test_without_healing_it_is_left_out() -> None:
    world = service(healing=False)
    world.apply(snapshot(put("group", "g", 1), put("policy", "p", 2)))
    evaluated(world, "group/g", object_read(key("policy/p")))
    assert set(world.apply(batch(put("policy", "p", 3, born=2, text="other"))).jobs) == keys("policy/p")


def test_an_intent_that_reads_itself_misses_no_reaction() -> None:
    world = service(reactions="")
    world.apply(snapshot(put("net", "a", 1)))
    evaluated(world, "net/a", object_read(key("net/a")))
    affected = world.apply(batch(put("net", "a", 2, born=1, text="other")))
    assert affected.jobs == {key("net/a"): Job(True, (key("net/a"),))}


def test_absence_is_a_read_like_any_other() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1)))
    evaluated(world, "net/a", name_read("policy", ("blue",)), object_read(key("policy/q")))
    assert world.apply(batch(put("policy", "p", 2, name="blue"))).jobs[key("net/a")].by_readers
    assert world.apply(batch(put("policy", "q", 3, name="green"))).jobs[key("net/a")].by_readers
    assert world.apply(batch(deleted("policy", "p", 4))).jobs[key("net/a")].by_readers


def test_a_pending_reference_wakes_its_readers_when_the_target_arrives() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1, policy_refs=[reference("p")])))
    evaluated(world, "net/a", targets_read(key("net/a"), "policy"))
    assert world.apply(batch(put("policy", "p", 2))).jobs[key("net/a")].by_readers


def test_a_new_source_wakes_the_readers_of_its_target() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1)))
    evaluated(world, "net/a", sources_read(key("net/a"), "port", "net"))
    affected = world.apply(batch(put("port", "x", 2, net_refs=[reference("a")])))
    assert affected.jobs == {key("net/a"): Job(True, (), ("net", "port"))}


def test_old_and_new_neighbours_are_woken_when_a_reference_moves() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1), put("net", "b", 2), put("port", "x", 3, net_refs=[reference("a")])))
    for net in ("net/a", "net/b"):
        evaluated(world, net, sources_read(key(net), "port", "net"))
    affected = world.apply(batch(put("port", "x", 4, born=3, net_refs=[reference("b")])))
    assert set(affected.jobs) == keys("net/a", "net/b")


def test_a_new_name_wakes_the_readers_of_the_sets_that_are_sorted_by_name() -> None:
    world = service()
    world.apply(snapshot(put("tenant", "t", 1), *(put("net", net, 1, parent="tenant/t") for net in ("a", "b"))))
    evaluated(world, "tenant/t", sources_read(key("tenant/t"), "net", "parent"))
    affected = world.apply(batch(put("net", "a", 2, born=1, name="z", parent="tenant/t")))
    assert world.sources(key("tenant/t"), "net", "parent") == (key("net/b"), key("net/a"))
    assert affected.jobs[key("tenant/t")].by_readers


def test_the_walk_is_made_before_and_after_the_change() -> None:
    world = service()
    world.apply(
        snapshot(put("net", "hub", 1, net_refs=[reference("old")]), *(put("net", n, 2) for n in ("old", "new", "far")))
    )
    affected = world.apply(batch(put("net", "hub", 3, born=1, net_refs=[reference("new")])))
    assert set(affected.jobs) == keys("net/hub", "net/old", "net/new")


def test_the_neighbours_of_a_deleted_object_are_reached() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1, policy_refs=[reference("p")]), put("policy", "p", 2)))
    affected = world.apply(batch(deleted("policy", "p", 3)))
    assert set(affected.jobs) == keys("net/a")
    assert affected.deleted == keys("policy/p")
    assert affected.objects == {Name("policy", ("p",))}


def test_a_batch_is_applied_as_a_whole() -> None:
    """All but the first event of a transaction were lost by the ancestor (D3 in ``tests/defects``)."""
    world = service()
    world.apply(snapshot(put("tenant", "t", 1)))
    affected = world.apply(batch(put("net", "a", 2, parent="tenant/t"), put("net", "b", 2, net_refs=[reference("a")])))
    assert set(affected.jobs) == keys("net/a", "net/b")
    assert world.sources(key("net/a"), "net", "net") == (key("net/b"),)


def test_an_older_batch_changes_nothing() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 5)))
    world.apply(batch(deleted("net", "a", 6)))
    affected = world.apply(batch(put("net", "a", 5)))
    assert affected == Affected({}, frozenset(), frozenset(), ())
    assert world.resource(key("net/a")) is None


def test_the_same_batch_again_concerns_nobody() -> None:
    world = service()
    world.apply(snapshot(put("tenant", "t", 1)))
    world.apply(batch(put("net", "a", 2)))
    assert world.apply(batch(put("net", "a", 2))).jobs == {}


def test_a_snapshot_is_compared_with_the_cache_so_that_unseen_deletes_are_found() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1), put("net", "b", 2), put("net", "c", 3)))
    affected = world.apply(
        snapshot(put("net", "a", 1), put("net", "c", 9, born=3, text="new"), put("net", "d", 8), revision=9)
    )
    assert set(affected.jobs) == keys("net/c", "net/d")
    assert affected.deleted == keys("net/b")
    assert world.revision == 9


def test_a_snapshot_of_a_restored_store_is_taken_at_its_word() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 7, text="lost")))
    affected = world.apply(snapshot(put("net", "a", 7, text="restored"), revision=7))
    assert set(affected.jobs) == keys("net/a")


def test_the_reads_of_an_intent_that_is_gone_are_forgotten() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1), put("policy", "p", 2)))
    evaluated(world, "net/a", object_read(key("policy/p")))
    world.apply(batch(deleted("net", "a", 3)))
    evaluated(world, "net/a", object_read(key("policy/p")))
    assert world.reads.readers(object_read(key("policy/p"))) == frozenset()


def test_after_a_run_that_did_not_end_the_reads_of_both_count() -> None:
    world = service()
    world.apply(snapshot(put("net", "a", 1), put("policy", "p", 2), put("policy", "q", 3)))
    evaluated(world, "net/a", object_read(key("policy/p")))
    world.evaluated(key("net/a"), frozenset({object_read(key("policy/q"))}), (), complete=False)
    assert world.apply(batch(put("policy", "p", 4, born=2, text="x"))).jobs[key("net/a")].by_readers
    assert world.apply(batch(put("policy", "q", 5, born=3, text="x"))).jobs[key("net/a")].by_readers


def test_jobs_come_in_the_order_of_the_map_then_by_key() -> None:
    changes = (
        put("group", "g", 1),
        put("net", "b", 2),
        put("policy", "p", 3),
        put("net", "a", 4),
        put("tenant", "t", 5),
    )
    world = service()
    assert list(world.apply(snapshot(*changes)).jobs) == [
        key("tenant/t"),
        key("policy/p"),
        key("net/a"),
        key("net/b"),
        key("group/g"),
    ]


def test_kinds_that_the_schema_does_not_store_are_passed_over_and_counted() -> None:
    world = service()
    affected = world.apply(snapshot(put("unheard_of", "x", 1), put("tag", "y", 2)))
    assert affected.objects == frozenset()
    assert world.passed_over == {"unheard_of": 1, "tag": 1}


@pytest.mark.parametrize("healing", [True, False])
def test_a_change_of_a_hub_names_each_dependant_once(healing: bool) -> None:
    world = service(healing=healing)
    nets = [put("net", f"n{number:03}", 1, policy_refs=[reference("p")]) for number in range(100)]
    world.apply(snapshot(put("policy", "p", 1), *nets))
    affected = world.apply(batch(put("policy", "p", 2, born=1, text="x")))
    assert len(affected.jobs) == 101
