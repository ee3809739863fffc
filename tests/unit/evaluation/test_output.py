"""What may be yielded: claims made of plain values become strict, frozen structs, or a problem with the path."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.evaluation import Status, assign, drop_references, keep_references, refer, shared
from intentc.model import Fact, Key, Name, Parent
from tests.unit.evaluation.toy import evaluate, toy_world


def claims_of(body: Any) -> tuple[Any, Any]:
    world = toy_world()
    outcome = evaluate(world, world.put("box", "a:b", uuid="U"), body)
    assert outcome.status is Status.DONE, outcome.problems
    return world.schema, outcome.claims


def rejection_of(body: Any) -> str:
    world = toy_world()
    outcome = evaluate(world, world.put("box", "a:b", uuid="U"), body)
    assert (outcome.status, outcome.claims, outcome.facts) == (Status.FAILED, (), ())
    assert outcome.problems[-1].reason == "InvalidOutput"
    return outcome.problems[-1].message


def test_a_child_stands_below_its_intent_and_belongs_to_it() -> None:
    _, (claim,) = claims_of(lambda box, ctx: [box.child("part", "p")])
    assert (claim.name, claim.owner) == (Name("part", ("a", "b", "p")), "U")
    assert claim.parent == Parent(Key("box", "U"), ("a", "b"))


def test_an_owned_object_is_a_root_and_belongs_to_its_intent() -> None:
    _, (claim,) = claims_of(lambda box, ctx: [box.owned("sticker", ("s",))])
    assert (claim.name, claim.owner, claim.parent) == (Name("sticker", ("s",)), "U", None)


def test_a_shared_object_belongs_to_nobody_alone() -> None:
    _, (claim,) = claims_of(lambda box, ctx: [shared("sticker", ("s",))])
    assert (claim.owner, claim.parent) == ("shared", None)


def test_plain_values_become_the_schemas_structs() -> None:
    schema, (claim,) = claims_of(
        lambda box, ctx: [box.child("part", "p", weights=[{"grams": 1, "tags": ["x"]}, box.weight], name_of="n")]
    )
    weight = schema.kind("box").types.struct("Weight")
    assert claim.properties == (("name_of", "n"), ("weights", (weight(grams=1, tags=("x",)), weight())))


def test_sets_come_out_sorted() -> None:
    _, (claim,) = claims_of(lambda box, ctx: [box.child("part", "p", weight={"tags": {"c", "a", "b"}})])
    assert claim.properties[0][1].tags == ("a", "b", "c")


def test_a_reference_carries_the_struct_of_its_attribute() -> None:
    schema, claims = claims_of(
        lambda box, ctx: [
            refer(box, shared("sticker", ("s",)), tight=True),
            refer(box, shared("sticker", ("t",))),
            refer(box, box.child("part", "p")),
        ]
    )
    fit = schema.kind("box").types.struct("Fit")
    assert [(c.holder, c.relation, c.target.fq_name, c.attribute) for c in claims] == [
        (Name("box", ("a", "b")), "sticker", ("s",), fit(tight=True)),
        (Name("box", ("a", "b")), "sticker", ("t",), fit()),
        (Name("box", ("a", "b")), "part", ("a", "b", "p"), None),
    ]


def test_a_property_of_an_object_that_is_not_ours_carries_the_schemas_value() -> None:
    schema, (total, weight) = claims_of(
        lambda box, ctx: [assign(box, "total", 3), assign(box.child("part", "p"), "weight", {"grams": 2})]
    )
    assert total == (Name("box", ("a", "b")), "total", 3)
    assert weight.value == schema.kind("box").types.struct("Weight")(grams=2)


def test_a_part_of_a_users_property_and_lists_of_references_can_be_claimed() -> None:
    _, (part, kept, dropped) = claims_of(
        lambda box, ctx: [
            assign(box, "weight.grams", 3),
            keep_references(box, "sticker"),
            drop_references(box, "sticker", [box]),
        ]
    )
    assert part == (Name("box", ("a", "b")), "weight.grams", 3)
    assert (kept.kept, dropped.unwanted) == (True, (Name("box", ("a", "b")),))


def test_an_object_that_we_make_may_hold_references_that_are_a_compilers_there() -> None:
    def body(box: Any, ctx: Any) -> Any:
        part = box.child("part", "p")
        yield part
        yield refer(part, shared("sticker", ("s",)))

    assert len(claims_of(body)[1]) == 2


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda box, ctx: [box.child("part", "p", weight={"grams": "7"})], "Expected `int`, got `str` - at `$.grams`"),
        (lambda box, ctx: [box.child("part", "p", weight={"gram": 7})], "unknown field `gram`"),
        (lambda box, ctx: [box.child("part", "p", weights=[{"tags": [3]}])], "at `$[0].tags[0]`"),
        (lambda box, ctx: [box.child("part", "p", weight=None)], "got `null`"),
        (lambda box, ctx: [box.child("part", "p", weight=object())], "part a:b:p: weight"),
        (lambda box, ctx: [box.child("part", "p", wieght={})], "did you mean weight"),
        (lambda box, ctx: [box.child("sticker", "p")], "sticker a:b:p can't be a child of box/U"),
        (lambda box, ctx: [box.child("part", "")], "string that isn't empty"),
        (lambda box, ctx: [shared("sticker", ())], "without a name"),
        (lambda box, ctx: [shared("sum", ("s",))], "is a fact"),
        (lambda box, ctx: [refer(box, shared("sticker", ("s",)), loose=True)], "unknown field `loose`"),
        (lambda box, ctx: [refer(box, box.child("part", "p"), tight=True)], "have no attribute"),
        (lambda box, ctx: [refer(box, shared("sum", ("s",)))], "no such reference"),
        (lambda box, ctx: [refer(box, box)], "written by users"),
        (lambda box, ctx: [part := box.child("part", "p"), refer(part, box)], "also on objects that compilers make"),
        (lambda box, ctx: [box.owned("box", ("b",), size=1)], "declare `writer_if_made: compiler`"),
        (lambda box, ctx: [assign(box, "size", 1)], "box.size is not written by compilers"),
        (lambda box, ctx: [assign(box, "weight", {})], "box.weight is not written by compilers"),
        (lambda box, ctx: [assign(box, "weight.tags", [])], "no property 'weight.tags'"),
        (lambda box, ctx: [keep_references(box, "part")], "no list that users and compilers share"),
        (lambda box, ctx: [assign(box, "total", "1")], "box a:b: total: Expected `int`"),
        (lambda box, ctx: [assign(box, "totl", 1)], "did you mean total"),
        (lambda box, ctx: [Fact("box", "s", 1)], "is stored, so it is no fact"),
        (lambda box, ctx: [Fact("sum", "s", object())], "fact sum s"),
        (lambda box, ctx: [Fact("sum", "s", 1), Fact("sum", "s", 2)], "yielded twice"),
        (lambda box, ctx: ["part"], "evaluate yields str"),
        (lambda box, ctx: box.child("part", "p"), "evaluate yields Name"),
    ],
)
def test_nonsense_is_rejected_with_its_place(body: Any, words: Any) -> None:
    message = rejection_of(body)
    assert words in message


def test_an_unknown_kind_is_rejected_with_the_nearest_known() -> None:
    world = toy_world()
    outcome = evaluate(world, world.put("box", "a"), lambda box, ctx: [shared("stickr", ("s",))])
    assert "did you mean sticker" in outcome.problems[0].message
