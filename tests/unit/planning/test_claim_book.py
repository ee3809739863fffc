"""The claim book returns the objects affected by a change of an origin's claims."""

from __future__ import annotations

from intentc.model import Name
from intentc.planning import ClaimBook
from intentc.planning.claims import LATER
from tests.unit.planning.planning_world import child, origin, owned, refer, rules

ONE, TWO = origin("one"), origin("two")
RULES = child("one", rules=rules(1))
TARGET = Name("target", ("t",))
INSTANCE = Name("instance", ("one", "i"))


def test_objects_with_new_claims_are_concerned() -> None:
    book = ClaimBook()
    assert book.replace(ONE, [RULES, refer(INSTANCE, TARGET)]) == {RULES.name, INSTANCE}
    assert book.on(INSTANCE) == {ONE: (refer(INSTANCE, TARGET),)}


def test_an_object_whose_claims_are_the_same_is_not_concerned() -> None:
    book = ClaimBook()
    book.replace(ONE, [RULES, refer(INSTANCE, TARGET)])
    assert book.replace(ONE, [child("one", rules=rules(1)), refer(INSTANCE, TARGET)]) == frozenset()
    assert book.replace(ONE, [child("one", rules=rules(2)), refer(INSTANCE, TARGET)]) == {RULES.name}


def test_an_object_that_is_claimed_no_more_is_concerned_and_forgotten() -> None:
    book = ClaimBook()
    book.replace(ONE, [RULES, refer(INSTANCE, TARGET)])
    assert book.replace(ONE, [RULES]) == {INSTANCE}
    assert set(book.names()) == {RULES.name}
    assert book.drop(ONE) == {RULES.name}
    assert not set(book.names())


def test_claims_of_another_origin_stay() -> None:
    book = ClaimBook()
    book.replace(ONE, [refer(INSTANCE, TARGET)])
    book.replace(TWO, [refer(INSTANCE, TARGET)])
    assert book.drop(ONE) == {INSTANCE}
    assert set(book.on(INSTANCE)) == {TWO}


def test_a_held_origin_keeps_its_claims() -> None:
    book = ClaimBook()
    book.replace(ONE, [RULES])
    book.complete = True
    assert book.retain(ONE) == frozenset()
    assert set(book.names()) == {RULES.name}
    assert not book.unknown


def test_a_held_origins_claims_from_before_a_complete_view_do_not_count() -> None:
    book = ClaimBook()
    book.replace(ONE, [RULES])
    assert book.retain(ONE) == {RULES.name}
    assert not set(book.names())
    assert book.unknown
    assert not book.withdrawn(RULES.name)


def test_an_origin_held_unevaluated_is_unknown_until_it_is_evaluated_or_deleted() -> None:
    book = ClaimBook()
    book.retain(ONE)
    book.retain(TWO)
    assert book.unknown
    book.replace(ONE, [])
    book.drop(TWO)
    assert not book.unknown


def test_an_origin_that_came_after_the_first_pass_contributed_nothing_before() -> None:
    book = ClaimBook()
    book.complete = True
    book.retain(ONE)
    assert not book.unknown


def test_work_deferred_for_an_origin_is_planned_at_its_next_evaluation() -> None:
    book = ClaimBook()
    book.replace(ONE, [owned("target", "t", "one")])
    book.complete = True
    book.retain(ONE)
    book.defer(INSTANCE, ONE.uuid)
    assert book.replace(TWO, []) == frozenset()
    assert book.replace(ONE, [owned("target", "t", "one")]) == {INSTANCE}
    assert book.replace(ONE, []) == {TARGET}


def test_work_deferred_for_unknown_origins_is_planned_once_all_are_known() -> None:
    book = ClaimBook()
    book.retain(ONE)
    book.retain(TWO)
    book.defer(INSTANCE, LATER)
    assert book.replace(ONE, []) == frozenset()
    assert book.drop(TWO) == {INSTANCE}
