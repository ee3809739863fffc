"""What compilers wrote is no input: its echo changes objects, and affects no reader."""

from __future__ import annotations

from collections.abc import Callable

from intentc.logic import Affected, Service
from intentc.logic.dependencies import load
from intentc.model import Change, Key, Name, object_uuid
from intentc.model.reads import object_read, targets_read
from tests.support.toy_kinds import batch, key, keys, put, reference, snapshot, toy_schema

OURS = object_uuid("lab", Name("target", ("made",)), "x")
"""The uuid of the target that we make for port x."""


def service() -> Service:
    """A net and a port that were evaluated, beside the objects that they refer to."""
    reactions = load("intent-compiler:\n  net: {self: [port]}\n  port: {net: []}\n")
    kinds = {"net": False, "port": False, "group": False}
    world = Service(toy_schema(), reactions, intent_kinds=kinds, settings={}, installation="lab")
    world.apply(
        snapshot(
            put("net", "a", 1),
            put("port", "x", 1, net_refs=[reference("a")]),
            put("target", "t", 1),
            put("target", OURS, 1, name="made"),
            put("target", "auto", 1, name="auto-1"),
            put("group", "g", 1),
        )
    )
    for intent in keys("net/a", "port/x", "group/g"):
        reads = frozenset({object_read(intent), targets_read(intent, "target"), targets_read(intent, "net")})
        world.evaluated(intent, reads, (), complete=True)
    return world


def made(kind: str, name: str) -> Callable[..., Change]:
    """What puts an object that we made: revision, born and fields → the change."""
    mark = {"annotations": {"key_value_pair": [{"key": "intentc", "value": "lab/toy/shared"}]}}
    uuid = object_uuid("lab", Name(kind, (name,)), "shared")

    def change(revision: int, *, born: int, **fields: object) -> Change:
        return put(kind, uuid, revision, born=born, name=name, **{**mark, **fields})

    return change


def only_objects(affected: Affected) -> bool:
    return not affected.jobs and not affected.deleted and len(affected.objects) == 1


def test_a_field_that_compilers_write() -> None:
    assert only_objects(service().apply(batch(put("net", "a", 2, born=1, number=7))))


def test_a_list_that_compilers_write() -> None:
    world = service()
    assert only_objects(world.apply(batch(put("net", "a", 2, born=1, target_refs=[reference("t")]))))
    assert world.sources(key("target/t"), "net", "target") == (key("net/a"),)


def test_the_mark() -> None:
    assert only_objects(service().apply(batch(put("net", "a", 2, born=1, mark="shared"))))


def test_a_field_that_says_its_default() -> None:
    assert only_objects(service().apply(batch(put("net", "a", 2, born=1, text=None))))


def test_an_entry_of_ours_in_a_shared_list() -> None:
    entry = {"uuid": OURS, "to": ["made"]}
    affected = service().apply(batch(put("port", "x", 2, born=1, net_refs=[reference("a")], target_refs=[entry])))
    assert only_objects(affected)


def test_an_entry_that_fits_the_pattern_of_ours_in_a_shared_list() -> None:
    entry = {"uuid": "auto", "to": ["auto-1"]}
    affected = service().apply(batch(put("port", "x", 2, born=1, net_refs=[reference("a")], target_refs=[entry])))
    assert only_objects(affected)


def test_an_entry_with_our_attribute_in_a_shared_list() -> None:
    entry = {"uuid": "t", "to": ["t"], "attr": {"weight": 9}}
    affected = service().apply(batch(put("port", "x", 2, born=1, net_refs=[reference("a")], target_refs=[entry])))
    assert only_objects(affected)


def test_an_entry_between_two_objects_that_we_made() -> None:
    world, port, target = service(), made("port", "p"), made("target", "q")
    world.apply(batch(port(2, born=2), target(2, born=2)))
    key = Key("port", port(2, born=2).uuid)
    world.evaluated(key, frozenset({object_read(key), targets_read(key, "target")}), (), complete=True)
    entry = {"uuid": target(2, born=2).uuid, "to": ["q"]}
    assert only_objects(world.apply(batch(port(3, born=2, target_refs=[entry]))))
    # Without the mark it is a user's object, and so the entry is a user's.
    assert world.apply(batch(port(4, born=2, target_refs=[entry], annotations={}))).jobs[key].by_readers


def test_an_entry_of_the_user_in_a_shared_list_is_input() -> None:
    entry = {"uuid": "t", "to": ["t"]}
    affected = service().apply(batch(put("port", "x", 2, born=1, net_refs=[reference("a")], target_refs=[entry])))
    assert affected.jobs[key("port/x")].by_readers


def test_a_field_that_the_server_fills_in_is_input_where_the_schema_declares_it() -> None:
    affected = service().apply(batch(put("group", "g", 2, born=1, number=8000001)))
    assert affected.jobs[key("group/g")].by_readers


def test_another_attribute_of_a_reference_is_input() -> None:
    affected = service().apply(batch(put("port", "x", 2, born=1, net_refs=[reference("a", weight=3)])))
    assert affected.jobs[key("port/x")].by_readers


def test_another_attribute_wakes_those_who_read_only_the_relation() -> None:
    world = service()
    world.evaluated(key("group/g"), frozenset({targets_read(key("port/x"), "net")}), (), complete=True)
    affected = world.apply(batch(put("port", "x", 2, born=1, net_refs=[reference("a", weight=3)])))
    assert affected.jobs[key("group/g")].by_readers


def test_the_revision_is_known_after_an_echo() -> None:
    world = service()
    world.apply(batch(put("net", "a", 2, born=1, number=7)))
    found = world.resource(key("net/a"))
    assert found is not None
    assert found.mod_revision == 2
