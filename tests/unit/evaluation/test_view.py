"""What a view shows, what it hides, and which read each access records."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import MARK_KEY, Key, Name, object_uuid
from tests.unit.evaluation.toy import INSTALLATION, evaluate, seen, toy_world


def test_a_property_is_an_attribute_with_the_schemas_default() -> None:
    world = toy_world()
    key = world.put("box", "a")
    assert seen(world, key, lambda box, ctx: (box.size, box.weight.grams)) == (7, 0)


def test_identity_is_part_of_the_view() -> None:
    world = toy_world()
    key = world.put("box", "a:b")
    assert seen(world, key, lambda box, ctx: (box.kind, box.uuid, box.fq_name, box.name)) == (
        "box",
        key.uuid,
        ("a", "b"),
        "b",
    )


def test_a_property_called_like_a_method_is_read_by_field() -> None:
    world = toy_world()
    key = world.put("box", "a", children="many")
    assert seen(world, key, lambda box, ctx: box.field("children")) == "many"


def test_what_the_server_fills_in_can_be_read() -> None:
    world = toy_world()
    key = world.put("box", "a", number=4)
    assert seen(world, key, lambda box, ctx: box.number) == 4


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("total", "written by compilers"),
        ("box_refs", r"use `.references('box')`"),
        ("sise", "did you mean size"),
        ("annotations", "carry the compilers' own mark"),
        ("parent_uuid", "use `.parent()`"),
    ],
)
def test_a_hidden_or_unknown_property_is_rejected_with_the_rule(field: Any, words: Any) -> None:
    world = toy_world()
    key = world.put("box", "a", total=3)
    error = seen(world, key, lambda box, ctx: getattr(box, field))
    assert isinstance(error, AttributeError)
    assert words in str(error)


def test_references_come_with_their_attributes_sorted_by_name() -> None:
    world = toy_world()
    first, second = world.put("box", "a"), world.put("box", "b")
    key = world.put(
        "box", "holder", box_refs=[{"uuid": second.uuid, "attr": {"tight": True}}, {"uuid": first.uuid, "attr": {}}]
    )
    found = seen(world, key, lambda box, ctx: [(v.name, a.tight) for v, a in box.reference_attributes("box")])
    assert found == [("a", False), ("b", True)]


def test_a_reference_by_name_counts_once_its_target_is_there() -> None:
    world = toy_world()
    key = world.put("box", "holder", box_refs=[{"to": ["late"]}])
    assert seen(world, key, lambda box, ctx: box.references("box")) == ()
    world.put("box", "late")
    assert seen(world, key, lambda box, ctx: [v.name for v in box.references("box")]) == ["late"]


def test_entries_of_a_shared_list_that_we_wrote_are_left_out() -> None:
    world = toy_world()
    users = world.put("sticker", "users")
    holder = Key("box", "11111111-1111-4111-8111-111111111111")
    ours = world.put("sticker", "ours", uuid=object_uuid(INSTALLATION, Name("sticker", ("ours",)), holder.uuid))
    by_pattern = world.put("sticker", "auto-1")
    world.put("box", "a", uuid=holder.uuid, sticker_refs=[{"uuid": k.uuid} for k in (users, ours, by_pattern)])
    assert seen(world, holder, lambda box, ctx: [v.name for v in box.references("sticker")]) == ["users"]
    assert seen(world, ours, lambda it, ctx: it.back_references("box")) == ()
    assert seen(world, users, lambda it, ctx: [v.name for v in it.back_references("box")]) == ["a"]


def test_entries_of_a_shared_list_that_have_our_attribute_are_left_out() -> None:
    world = toy_world()
    ours, users = world.put("link", "ours"), world.put("link", "users")
    holder = world.put("box", "a", link_refs=[{"uuid": ours.uuid, "attr": {"tight": True}}, {"uuid": users.uuid}])
    assert seen(world, holder, lambda box, ctx: [v.name for v in box.references("link")]) == ["users"]
    assert seen(world, ours, lambda it, ctx: it.back_references("box")) == ()
    assert seen(world, users, lambda it, ctx: [v.name for v in it.back_references("box")]) == ["a"]


def test_entries_of_a_shared_list_between_two_objects_that_we_made_are_left_out() -> None:
    world = toy_world()
    marks = {"annotations": {"key_value_pair": [{"key": MARK_KEY, "value": f"{INSTALLATION}/toy/shared"}]}}
    uuids = [object_uuid(INSTALLATION, Name(kind, ("made",)), "shared") for kind in ("box", "sticker")]
    target = world.put("sticker", "made", uuid=uuids[1], **marks)
    users = world.put("sticker", "users")
    holder = world.put(
        "box", "made", uuid=uuids[0], sticker_refs=[{"uuid": target.uuid}, {"uuid": users.uuid}], **marks
    )
    assert seen(world, holder, lambda box, ctx: [v.name for v in box.references("sticker")]) == ["users"]
    other = world.put("box", "users", sticker_refs=[{"uuid": target.uuid}])
    assert seen(world, other, lambda box, ctx: [v.name for v in box.references("sticker")]) == ["made"]


def test_a_target_that_we_made_for_another_holder_is_seen() -> None:
    world = toy_world()
    other = object_uuid(INSTALLATION, Name("sticker", ("theirs",)), "another holder")
    world.put("sticker", "theirs", uuid=other)
    key = world.put("box", "a", sticker_refs=[{"uuid": other}])
    assert seen(world, key, lambda box, ctx: [v.name for v in box.references("sticker")]) == ["theirs"]


@pytest.mark.parametrize(
    ("relation", "words"), [("part", "written by compilers"), ("stickr", "did you mean sticker"), ("x", "no relation")]
)
def test_a_hidden_or_unknown_relation_is_rejected_with_the_rule(relation: Any, words: Any) -> None:
    world = toy_world()
    error = seen(world, world.put("box", "a"), lambda box, ctx: box.references(relation))
    assert isinstance(error, AttributeError)
    assert words in str(error)


def test_parents_and_children_find_each_other() -> None:
    world = toy_world()
    box = world.put("box", "a")
    part = world.put("part", "a:p", parent_type="box")
    assert seen(world, part, lambda it, ctx: it.parent().key) == box
    assert seen(world, box, lambda it, ctx: [child.key for child in it.children("part")]) == [part]
    assert seen(world, box, lambda it, ctx: it.parent()) is None


def test_back_references_take_the_relation_of_the_own_kind() -> None:
    world = toy_world()
    target = world.put("box", "target")
    world.put("box", "holder", box_refs=[{"uuid": target.uuid}])
    assert seen(world, target, lambda box, ctx: [v.name for v in box.back_references("box")]) == ["holder"]


def test_mentions_are_navigable_both_ways() -> None:
    world = toy_world()
    target = world.put("box", "target")
    key = world.put("box", "speaker", label="target")
    assert seen(world, key, lambda box, ctx: [v.key for v in box.references("named")]) == [target]
    assert seen(world, target, lambda box, ctx: [v.key for v in box.mentioned_by("box", "named")]) == [key]


@pytest.mark.parametrize(
    ("look", "read"),
    [
        (lambda box, ctx: box.size, ("object", "box", "U")),
        (lambda box, ctx: box.references("box"), ("targets", "box", "U", "box")),
        (lambda box, ctx: box.parent(), ("targets", "box", "U", "parent")),
        (lambda box, ctx: box.children("part"), ("sources", "box", "U", "part", "parent")),
        (lambda box, ctx: box.back_references("box"), ("sources", "box", "U", "box", "box")),
        (lambda box, ctx: box.mentioned_by("box", "named"), ("sources", "box", "U", "box", "named")),
        (lambda box, ctx: ctx.get("part", "x"), ("object", "part", "x")),
        (lambda box, ctx: ctx.find("part", ("a", "b")), ("name", "part", "a:b")),
        (lambda box, ctx: ctx.select("box", "label", "red"), ("index", "box", "label", "red")),
        (lambda box, ctx: ctx.all("part"), ("index", "part", "all", "")),
        (lambda box, ctx: ctx.fact("sum", "s"), ("fact", "sum", "s")),
        (lambda box, ctx: ctx.setting("speed"), ("setting", "speed")),
    ],
)
def test_every_look_leaves_its_read(look: Any, read: Any) -> None:
    world = toy_world(speed=1)
    key = world.put("box", "a", uuid="U")

    def body(box: Any, ctx: Any) -> Any:
        look(box, ctx)
        return ()

    assert evaluate(world, key, body).reads == {("object", "box", "U"), read}


def test_key_and_uuid_of_another_view_read_nothing() -> None:
    world = toy_world()
    world.put("box", "b")
    key = world.put("box", "a", uuid="U")

    def body(box: Any, ctx: Any) -> Any:
        assert ctx.find("box", ("b",)).uuid
        return ()

    assert evaluate(world, key, body).reads == {("object", "box", "U"), ("name", "box", "b")}


def test_an_object_is_made_if_it_is_there_and_its_claims_own() -> None:
    world = toy_world()
    key = world.put("box", "a")

    def made(box: Any, ctx: Any) -> bool:
        return bool(ctx.is_made(box.owned("sticker", ("one",))))

    name = Name("sticker", ("one",))
    assert seen(world, key, made) is False
    theirs = world.put("sticker", "one", uuid=object_uuid(INSTALLATION, name, "another box"))
    assert seen(world, key, made) is False
    del world.resources[theirs]
    world.put("sticker", "one", uuid=object_uuid(INSTALLATION, name, key.uuid))
    assert seen(world, key, made) is True
