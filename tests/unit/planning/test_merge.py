"""Claims of several origins on one object become one desired state, in any order of arrival."""

from __future__ import annotations

from itertools import permutations

import pytest

from intentc.model import Claim, Name, PropertyClaim, RelationClaim, ResourceClaim
from intentc.planning import Desired, merge
from tests.unit.planning.planning_world import SCHEMA, child, origin, parent, refer, rules, shared, struct

INSTANCE = Name("instance", ("g", "i"))
TARGET = Name("target", ("t",))


def merged(*claims: Claim, name: Name = INSTANCE) -> Desired:
    """One origin per claim; every order gives the same."""
    by_origin = [(origin(str(number)), (claim,)) for number, claim in enumerate(claims)]
    results = {
        repr(merge(SCHEMA.kind(name.kind), name, dict(order), lambda key: key.uuid))
        for order in permutations(by_origin)
    }
    assert len(results) == 1
    return merge(SCHEMA.kind(name.kind), name, dict(by_origin), lambda key: key.uuid)


def instance(**properties: object) -> ResourceClaim:
    return ResourceClaim(INSTANCE, None, "shared", tuple(sorted(properties.items())))


def test_no_claim_wants_nothing() -> None:
    assert not merged().exists


def test_one_claim_is_what_is_wanted() -> None:
    desired = merged(child("g", rules=rules(1)), name=Name("ruleset", ("g", "rules")))
    assert (desired.exists, desired.owner, desired.parent) == (True, "uuid-g", parent("g"))
    assert desired.properties == {"rules": rules(1)}


def test_a_reference_claim_alone_does_not_want_the_holder() -> None:
    desired = merged(refer(INSTANCE, TARGET))
    assert not desired.exists
    assert desired.references == {"target": {TARGET: struct("Direction")}}


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [("import", "export", ""), ("import", "", ""), ("", "export", ""), ("import", "import", "import"), ("", "", "")],
)
def test_import_and_export_make_both_and_both_wins(one: str, other: str, both: str) -> None:
    desired = merged(
        refer(INSTANCE, TARGET, struct("Direction", import_export=one)),
        refer(INSTANCE, TARGET, struct("Direction", import_export=other)),
    )
    assert desired.references["target"][TARGET].import_export == both
    assert not desired.problems


def test_a_missing_attribute_is_its_default() -> None:
    desired = merged(refer(INSTANCE, TARGET, struct("Direction", import_export="import")), refer(INSTANCE, TARGET))
    assert desired.references["target"][TARGET].import_export == ""


def test_attributes_that_nothing_merges_are_disputed() -> None:
    other = Name("instance", ("g", "o"))
    desired = merged(
        refer(INSTANCE, other, struct("Weight", weight=1)), refer(INSTANCE, other, struct("Weight", weight=2))
    )
    assert desired.references["instance"] == {}
    assert desired.disputed == {("instance", other)}
    assert [(p.name, p.reason) for p in desired.problems] == [("uuid-0", "Conflict"), ("uuid-1", "Conflict")]
    assert "instance g:o" in desired.problems[0].message


def test_two_values_of_a_property_are_a_problem_on_all_claimants() -> None:
    desired = merged(instance(note="a"), instance(note="b"), instance(note="b"))
    assert "note" not in desired.properties
    assert desired.disputed == {"note"}
    assert sorted(p.name for p in desired.problems) == ["uuid-0", "uuid-1", "uuid-2"]


def test_a_property_claim_alone_does_not_want_the_holder() -> None:
    desired = merged(PropertyClaim(INSTANCE, "note", "a"))
    assert (desired.exists, desired.properties) == (False, {"note": "a"})


def test_property_claims_and_the_owners_claim_meet_field_by_field() -> None:
    desired = merged(instance(note="a"), PropertyClaim(INSTANCE, "names", ("x",)), PropertyClaim(INSTANCE, "note", "b"))
    assert (desired.properties, desired.disputed) == ({"names": ("x",)}, frozenset({"note"}))


def test_equal_values_are_no_dispute() -> None:
    assert merged(instance(note="a"), instance(note="a")).properties == {"note": "a"}


def test_lists_whose_elements_stand_alone_are_united() -> None:
    assert merged(instance(names=("b", "a")), instance(names=("c", "a"))).properties == {"names": ("a", "b", "c")}


def test_maps_are_joined_by_key() -> None:
    desired = merged(
        instance(pairs=struct("Pairs", pair=(struct("Pair", key="x", value="1"),))),
        instance(pairs=struct("Pairs", pair=(struct("Pair", key="y", value="2"),))),
    )
    assert [(p.key, p.value) for p in desired.properties["pairs"].pair] == [("x", "1"), ("y", "2")]


def test_maps_that_differ_under_one_key_are_disputed() -> None:
    desired = merged(
        instance(pairs=struct("Pairs", pair=(struct("Pair", key="x", value="1"),))),
        instance(pairs=struct("Pairs", pair=(struct("Pair", key="x", value="2"),))),
    )
    assert desired.disputed == {"pairs"}


def test_different_owners_are_a_problem_and_the_owner_stays_undecided() -> None:
    one, other = (shared("target", "t")._replace(owner=uuid) for uuid in ("uuid-x", "uuid-y"))
    desired = merged(one, other, name=TARGET)
    assert desired.exists
    assert desired.owner is None
    assert len(desired.problems) == 2


def test_an_object_that_others_share_is_its_owners() -> None:
    desired = merged(shared("target", "t"), shared("target", "t")._replace(owner="uuid-x"), name=TARGET)
    assert desired.owner == "uuid-x"
    assert not desired.problems


def test_a_claimed_and_dropped_reference_is_disputed_and_stays_as_stored() -> None:
    router, peer = Name("router", ("a",)), Name("router", ("b",))
    desired = merged(refer(router, peer), RelationClaim(router, "router", unwanted=(peer,)), name=router)
    assert (desired.references["router"], desired.unwanted) == ({}, frozenset())
    assert desired.disputed == {("router", peer)}
    assert [(p.name, p.reason) for p in desired.problems] == [("uuid-0", "Conflict"), ("uuid-1", "Conflict")]
    assert "want a reference to router b and none on router a" in desired.problems[0].message


@pytest.mark.parametrize("unwanted", [False, True])
def test_a_list_that_stays_as_it_is_and_an_entry_that_changes_are_disputed(unwanted: bool) -> None:
    router, peer = Name("router", ("a",)), Name("router", ("b",))
    change = RelationClaim(router, "router", unwanted=(peer,)) if unwanted else refer(router, peer)
    desired = merged(change, RelationClaim(router, "router", kept=True), name=router)
    assert not any(desired.references.values())
    assert not desired.unwanted
    assert desired.kept == {"router"}
    assert [(p.name, p.reason) for p in desired.problems] == [("uuid-0", "Conflict"), ("uuid-1", "Conflict")]


def test_an_intent_that_contradicts_itself_gets_one_problem() -> None:
    router, peer = Name("router", ("a",)), Name("router", ("b",))
    claims = (refer(router, peer), RelationClaim(router, "router", unwanted=(peer,)))
    desired = merge(SCHEMA.kind("router"), router, {origin("g"): claims}, lambda key: key.uuid)
    assert [problem.message for problem in desired.problems] == [
        "group uuid-g wants a reference to router b and none on router a; what is stored stays until they agree"
    ]


def test_an_undeclared_relation_is_a_problem_of_who_claims_it() -> None:
    desired = merged(refer(INSTANCE, Name("ruleset", ("g", "rules"))))
    assert [p.reason for p in desired.problems] == ["UnknownRelation"]
