"""Relations are resolved when they are read, both ways, by uuid, name, selector and glob."""

from __future__ import annotations

import pytest

from intentc.logic.cache import Cache, Pending, State
from intentc.logic.decoding import decoded
from intentc.model import Change, Key, Link
from tests.support.toy_kinds import broken, deleted, key, keys, manifest, put, reference, toy_schema


@pytest.fixture
def cache() -> Cache:
    return Cache(toy_schema())


def feed(cache: Cache, *changes: Change) -> None:
    """Each of these as a batch of its own."""
    for change in changes:
        kind = cache.schema.kinds[change.kind]
        state: State | None = decoded(kind, change) if change.value is not None else None
        cache.commit(cache.prepare({Key(change.kind, change.uuid): state}))


@pytest.mark.parametrize("by_uuid", [True, False], ids=["uuid", "name"])
def test_a_forward_reference_holds_once_its_target_arrives(cache: Cache, by_uuid: bool) -> None:
    feed(cache, put("net", "a", 1, net_refs=[reference("b", uuid=by_uuid)]))
    assert cache.graph.targets(key("net/a"), "net") == set()
    feed(cache, put("net", "b", 2))
    assert cache.graph.targets(key("net/a"), "net") == keys("net/b")
    assert cache.graph.sources(key("net/b"), "net", "net") == keys("net/a")


def test_a_reference_by_name_leads_to_whoever_has_the_name_now(cache: Cache) -> None:
    feed(cache, put("net", "a", 1, net_refs=[reference("blue", uuid=False)]), put("net", "one", 2, name="blue"))
    feed(cache, deleted("net", "one", 3), put("net", "two", 4, name="blue"))
    assert cache.graph.targets(key("net/a"), "net") == keys("net/two")


def test_a_reference_by_uuid_does_not_lead_to_a_new_object_of_the_name(cache: Cache) -> None:
    feed(cache, put("net", "a", 1, net_refs=[reference("one")]), put("net", "one", 2, name="blue"))
    feed(cache, deleted("net", "one", 3), put("net", "two", 4, name="blue"))
    assert cache.graph.targets(key("net/a"), "net") == set()


def test_a_dropped_reference_leaves_no_way_back(cache: Cache) -> None:
    feed(cache, put("net", "b", 1), put("net", "a", 2, net_refs=[reference("b")]), put("net", "a", 3, born=2))
    assert cache.graph.sources(key("net/b"), "net", "net") == set()


def test_two_references_to_one_target_count_until_both_are_gone(cache: Cache) -> None:
    both = [reference("b"), reference("b")]
    feed(cache, put("net", "b", 1), put("net", "a", 2, net_refs=both), put("net", "a", 3, born=2, net_refs=both[:1]))
    assert cache.graph.sources(key("net/b"), "net", "net") == keys("net/a")


def test_children_arrive_before_or_after_their_parent(cache: Cache) -> None:
    feed(cache, put("net", "early", 1, parent="tenant/t"), put("tenant", "t", 2))
    feed(cache, put("net", "late", 3, parent="tenant/t"))
    assert cache.graph.sources(key("tenant/t"), "net", "parent") == keys("net/early", "net/late")
    assert cache.graph.targets(key("net/late"), "parent") == keys("tenant/t")


def test_a_mention_in_a_property_is_a_relation(cache: Cache) -> None:
    feed(cache, put("group", "g", 1, name="t:g", rules={"rule": [{"group": "t:h"}, {"group": "any"}]}))
    feed(cache, put("group", "h", 2, name="t:h"))
    assert cache.graph.targets(key("group/g"), "mentioned") == keys("group/h")
    assert cache.graph.sources(key("group/h"), "group", "mentioned") == keys("group/g")


def test_an_object_may_mention_itself(cache: Cache) -> None:
    feed(cache, put("group", "g", 1, name="t:g", rules={"rule": [{"group": "t:g"}]}))
    assert cache.graph.sources(key("group/g"), "group", "mentioned") == keys("group/g")


def test_a_selector_means_those_with_all_its_labels(cache: Cache) -> None:
    feed(cache, manifest("chooser", "c", 1, selector={"tier": "front", "zone": "north"}))
    feed(cache, manifest("app", "both", 2, labels={"tier": "front", "zone": "north", "more": "x"}))
    feed(cache, manifest("app", "half", 3, labels={"tier": "front"}))
    assert cache.graph.targets(key("chooser/c"), "chosen") == keys("app/both")
    assert cache.graph.sources(key("app/both"), "chooser", "chosen") == keys("chooser/c")
    assert cache.graph.sources(key("app/half"), "chooser", "chosen") == set()


def test_a_selector_lets_go_of_an_object_that_loses_a_label(cache: Cache) -> None:
    feed(
        cache,
        manifest("chooser", "c", 1, selector={"tier": "front"}),
        manifest("app", "a", 2, labels={"tier": "front"}),
    )
    feed(cache, manifest("app", "a", 3, labels={"tier": "back"}))
    assert cache.graph.targets(key("chooser/c"), "chosen") == set()


def test_a_glob_means_every_hostname_that_it_covers(cache: Cache) -> None:
    feed(
        cache, manifest("route", "r", 1, hosts=["*.example.org"]), manifest("host", "in", 2, hostname="a.b.example.org")
    )
    feed(cache, manifest("host", "out", 3, hostname="example.com"))
    assert cache.graph.targets(key("route/r"), "hosts") == keys("host/in")
    assert cache.graph.sources(key("host/in"), "route", "hosts") == keys("route/r")


def test_a_name_without_a_namespace_is_looked_up_in_the_holders_own(cache: Cache) -> None:
    feed(cache, manifest("chooser", "c", 1, backend="store"), manifest("app", "store", 2))
    assert cache.graph.targets(key("chooser/c"), "backend") == keys("app/store")


def test_related_unites_all_relations_of_a_kind_both_ways(cache: Cache) -> None:
    feed(cache, put("net", "a", 1, net_refs=[reference("b")]), put("net", "b", 2))
    feed(cache, put("net", "c", 3, net_refs=[reference("a")]), put("port", "p", 4, net_refs=[reference("a")]))
    assert cache.graph.related(key("net/a"), "net") == keys("net/b", "net/c")
    assert cache.graph.related(key("net/a"), "port") == keys("port/p")
    assert cache.graph.related(key("net/absent"), "port") == set()


def test_pending_lists_the_references_whose_target_has_not_arrived(cache: Cache) -> None:
    feed(cache, put("net", "a", 1, parent="tenant/t", net_refs=[reference("b")]), put("tenant", "t", 2))
    assert list(cache.pending()) == [Pending(key("net/a"), Link("net", "net", "uuid", "b"))]
    feed(cache, put("net", "b", 3))
    assert list(cache.pending()) == []


def test_a_key_counts_as_a_target_whatever_its_value_is(cache: Cache) -> None:
    feed(cache, put("net", "a", 1, net_refs=[reference("b")]), broken("net", "b", 2))
    assert cache.graph.targets(key("net/a"), "net") == keys("net/b")
    assert list(cache.pending()) == []


def test_an_object_that_becomes_unreadable_keeps_its_relations(cache: Cache) -> None:
    feed(cache, put("net", "b", 1), put("net", "a", 2, net_refs=[reference("b")]), broken("net", "a", 3, born=2))
    assert cache.graph.sources(key("net/b"), "net", "net") == keys("net/a")


def test_find_answers_declared_indexes_and_those_that_every_kind_has(cache: Cache) -> None:
    feed(cache, put("group", "g", 1, name="t:g", rules={"rule": [{"group": "t:h"}]}))
    assert list(cache.find("group", "names", "t:h")) == [key("group/g")]
    assert list(cache.find("group", "uuid", "g")) == [key("group/g")]
    assert list(cache.find("group", "fq_name", "t:g")) == [key("group/g")]
    assert list(cache.find("group", "all", "")) == [key("group/g")]
    feed(cache, deleted("group", "g", 2))
    assert [
        len(cache.find("group", *at)) for at in (("names", "t:h"), ("uuid", "g"), ("fq_name", "t:g"), ("all", ""))
    ] == [
        0,
        0,
        0,
        0,
    ]
