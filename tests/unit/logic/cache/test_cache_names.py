"""A name that exists twice: the object with the lower create revision is in force, the other one is held."""

from __future__ import annotations

from intentc.logic.cache import Cache, Held, State
from intentc.logic.decoding import decoded
from intentc.model import Change, Key
from tests.support.toy_kinds import broken, deleted, key, put, reference, toy_schema


def feed(cache: Cache, *changes: Change) -> None:
    """All of these as one batch."""
    arrived: dict[Key, State | None] = {
        Key(c.kind, c.uuid): decoded(cache.schema.kinds[c.kind], c) if c.value is not None else None for c in changes
    }
    cache.commit(cache.prepare(arrived))


def test_the_object_that_was_there_first_keeps_the_name() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"))
    feed(cache, put("net", "two", 2, name="blue"))
    assert cache.named("net", ("blue",)) == key("net/one")
    assert isinstance(cache.state(key("net/two")), Held)


def test_the_order_of_arrival_does_not_matter() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "two", 2, name="blue"))
    feed(cache, put("net", "one", 3, born=1, name="blue"))
    assert cache.named("net", ("blue",)) == key("net/one")
    assert isinstance(cache.state(key("net/two")), Held)


def test_the_message_names_both_uuids() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"), put("net", "two", 2, name="blue"))
    problem = cache.held[key("net/two")]
    assert problem.reason == "NameTaken"
    assert "net/one" in problem.message
    assert "net/two" in problem.message


def test_the_second_comes_into_force_when_the_first_goes() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"), put("net", "two", 2, name="blue", net_refs=[reference("other")]))
    feed(cache, deleted("net", "one", 3))
    assert cache.named("net", ("blue",)) == key("net/two")
    assert not cache.held
    feed(cache, put("net", "other", 4))
    assert cache.graph.sources(key("net/other"), "net", "net") == {key("net/two")}


def test_the_second_comes_into_force_when_the_first_is_renamed() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"), put("net", "two", 2, name="blue"))
    feed(cache, put("net", "one", 3, born=1, name="green"))
    assert cache.named("net", ("blue",)) == key("net/two")
    assert cache.named("net", ("green",)) == key("net/one")


def test_a_third_holder_waits_behind_the_second() -> None:
    cache = Cache(toy_schema())
    feed(cache, *(put("net", uuid, born, name="blue") for born, uuid in enumerate(("one", "two", "three"), start=1)))
    feed(cache, deleted("net", "one", 4))
    assert set(cache.held) == {key("net/three")}
    assert "net/two" in cache.held[key("net/three")].message


def test_delete_and_create_of_one_name_in_one_batch_leaves_nobody_held() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"))
    feed(cache, put("net", "two", 2, name="blue"), deleted("net", "one", 2))
    assert cache.named("net", ("blue",)) == key("net/two")
    assert not cache.held


def test_a_held_second_holder_takes_no_part_in_the_graph() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("tenant", "t", 1), put("net", "one", 2, name="blue", parent="tenant/t"))
    feed(cache, put("net", "two", 3, name="blue", parent="tenant/t"))
    assert cache.graph.sources(key("tenant/t"), "net", "parent") == {key("net/one")}
    assert cache.find("net", "all", "") == (key("net/one"),)


def test_an_unreadable_holder_keeps_its_name() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"), put("net", "two", 2, name="blue"))
    feed(cache, broken("net", "one", 3, born=1))
    assert cache.named("net", ("blue",)) == key("net/one")
    assert {held.uuid: problem.reason for held, problem in cache.held.items()} == {
        "one": "Malformed",
        "two": "NameTaken",
    }


def test_an_unreadable_second_holder_gets_the_name_when_the_first_goes() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"), put("net", "two", 2, name="blue"))
    feed(cache, broken("net", "two", 3, born=2))
    feed(cache, deleted("net", "one", 4))
    assert cache.named("net", ("blue",)) == key("net/two")
    assert cache.held[key("net/two")].reason == "Malformed"


def test_names_of_different_kinds_never_meet() -> None:
    cache = Cache(toy_schema())
    feed(cache, put("net", "one", 1, name="blue"), put("policy", "two", 2, name="blue"))
    assert not cache.held
    assert cache.named("policy", ("blue",)) == key("policy/two")
