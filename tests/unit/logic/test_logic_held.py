"""Values that can't be used are reported and held, and delay no other (docs/engine.md §7)."""

from __future__ import annotations

import pytest

from intentc.logic import Service
from intentc.logic.dependencies import load
from intentc.model import HeldInput, Name
from intentc.model.reads import index_read, name_read, object_read
from tests.support.toy_kinds import batch, broken, deleted, key, keys, put, reference, snapshot, toy_schema


@pytest.fixture
def world() -> Service:
    kinds = {"net": False, "policy": False}
    return Service(toy_schema(), load("intent-compiler: {}\n"), intent_kinds=kinds, settings={})


def test_a_malformed_value_is_a_problem_with_key_and_revision(world: Service) -> None:
    affected = world.apply(snapshot(broken("net", "bad", 4), put("net", "good", 5)))
    (problem,) = affected.problems
    assert (problem.kind, problem.name, problem.reason) == ("net", "bad", "Malformed")
    assert problem.source == "net/bad@4"
    assert set(world.held) == keys("net/bad")


def test_a_held_intent_delays_no_other(world: Service) -> None:
    affected = world.apply(snapshot(broken("net", "bad", 4), put("net", "good", 5)))
    assert key("net/good") in affected.jobs
    assert world.resource(key("net/good")) is not None
    assert world.select("net", "uuid", "bad") == ()


def test_it_is_one_of_all_though_nobody_ever_could_read_it(world: Service) -> None:
    """Whoever looks at all must learn that one of them says nobody knows what."""
    world.apply(snapshot(put("net", "good", 3)))
    world.evaluated(key("net/good"), frozenset({index_read("net", "all", "")}), (), complete=True)
    affected = world.apply(batch(broken("net", "bad", 4)))
    assert affected.jobs[key("net/good")].by_readers
    assert world.select("net", "all", "") == (key("net/bad"), key("net/good"))
    assert world.apply(batch(deleted("net", "bad", 5))).jobs[key("net/good")].by_readers
    assert world.select("net", "all", "") == (key("net/good"),)


def test_its_key_counts_as_present(world: Service) -> None:
    affected = world.apply(snapshot(broken("net", "bad", 4)))
    assert world.exists(key("net/bad"))
    assert key("net/bad") in affected.jobs
    with pytest.raises(HeldInput, match="net/bad is held"):
        world.resource(key("net/bad"))


def test_a_cached_resource_that_becomes_unreadable_is_held_not_gone(world: Service) -> None:
    world.apply(snapshot(put("net", "a", 1, name="blue", policy_refs=[reference("p")]), put("policy", "p", 1)))
    affected = world.apply(batch(broken("net", "a", 2, born=1)))
    assert affected.deleted == frozenset()
    assert affected.objects == {Name("net", ("blue",))}
    assert world.named("net", ("blue",)) == key("net/a")
    assert world.sources(key("policy/p"), "net", "policy") == (key("net/a"),)
    with pytest.raises(HeldInput):
        world.resource(key("net/a"))


def test_readers_are_woken_when_it_becomes_unreadable_and_when_it_is_repaired(world: Service) -> None:
    world.apply(snapshot(put("net", "a", 1), put("policy", "p", 1)))
    world.evaluated(key("net/a"), frozenset({object_read(key("policy/p"))}), (), complete=True)
    assert world.apply(batch(broken("policy", "p", 2, born=1))).jobs[key("net/a")].by_readers
    assert not world.apply(batch(broken("policy", "p", 3, born=1, value=b"[]"))).jobs
    assert world.apply(batch(put("policy", "p", 4, born=1))).jobs[key("net/a")].by_readers
    assert not world.held


def test_a_value_that_becomes_readable_runs_readers_of_its_name_and_sets(world: Service) -> None:
    world.apply(snapshot(put("net", "a", 1), put("net", "b", 1), broken("policy", "p", 1)))
    world.evaluated(key("net/a"), frozenset({name_read("policy", ("blue",))}), (), complete=True)
    world.evaluated(key("net/b"), frozenset({index_read("policy", "all", "")}), (), complete=True)
    jobs = world.apply(batch(put("policy", "p", 2, born=1, name="blue"))).jobs
    assert jobs[key("net/a")].by_readers
    assert jobs[key("net/b")].by_readers


def test_the_name_is_known_where_only_other_fields_are_unreadable(world: Service) -> None:
    world.apply(snapshot(broken("net", "a", 1, value=b'{"uuid": "a", "fq_name": ["blue"], "text": 7}')))
    assert world.named("net", ("blue",)) == key("net/a")


@pytest.mark.parametrize(
    "value",
    [b"", b"\xff\xfe", b"[]", b"7", b'{"fq_name": "a"}', b'{"fq_name": []}', b'{"uuid": "b", "fq_name": ["b"]}'],
    ids=["empty", "no utf-8", "list", "number", "wrong type", "no name", "wrong uuid"],
)
def test_every_unreadable_value_is_held(world: Service, value: bytes) -> None:
    world.apply(snapshot(broken("net", "a", 1, value=value)))
    assert set(world.held) == keys("net/a")


def test_deeply_nested_json_is_held(world: Service) -> None:
    world.apply(snapshot(broken("net", "a", 1, value=b'{"fq_name":' + b"[" * 100_000)))
    assert set(world.held) == keys("net/a")


def test_a_manifest_without_a_name_is_held(world: Service) -> None:
    world.apply(
        snapshot(
            broken("route", "one", 1, value=b'{"metadata": {}, "spec": {}}'),
            broken("route", "two", 1, value=b'{"metadata": {"name": "r"}, "spec": {"hosts": 7}}'),
        )
    )
    assert set(world.held) == keys("route/one", "route/two")
    assert world.named("route", ("default", "r")) == key("route/two")


def test_deleting_a_held_value_ends_it(world: Service) -> None:
    world.apply(snapshot(broken("net", "a", 1)))
    affected = world.apply(batch(deleted("net", "a", 2)))
    assert affected.deleted == keys("net/a")
    assert not world.held


def test_an_unchanged_held_value_is_reported_once(world: Service) -> None:
    world.apply(snapshot(broken("net", "a", 1)))
    assert world.apply(snapshot(broken("net", "a", 1), revision=2)).problems == ()


def test_the_second_holder_of_a_name_is_held_until_the_first_goes(world: Service) -> None:
    affected = world.apply(snapshot(put("net", "one", 1, name="blue"), put("net", "two", 2, name="blue")))
    assert [problem.reason for problem in affected.problems] == ["NameTaken"]
    world.evaluated(key("net/two"), frozenset({object_read(key("net/two"))}), (), complete=False)
    jobs = world.apply(batch(deleted("net", "one", 3))).jobs
    assert jobs[key("net/two")].by_readers
    assert world.resource(key("net/two")) is not None
