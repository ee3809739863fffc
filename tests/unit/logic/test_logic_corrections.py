"""What an audit found is applied whatever its revision, and reverts no later change (docs/engine.md §1.5)."""

from __future__ import annotations

import pytest

from intentc.logic import Affected, Service
from intentc.logic.dependencies import load
from intentc.model import Change, Correction, Name
from intentc.model.reads import object_read
from tests.support.toy_kinds import batch, broken, deleted, key, keys, put, snapshot, toy_schema

NOBODY = Affected({}, frozenset(), frozenset(), ())


@pytest.fixture
def world() -> Service:
    """The nets a and b of revisions 1 and 2, at revision 9."""
    service = Service(toy_schema(), load("intent-compiler: {}\n"), intent_kinds={"net": False}, settings={})
    service.apply(snapshot(put("net", "a", 1), put("net", "b", 2)))
    service.apply(batch(put("tenant", "later", 9)))
    return service


def correction(*changes: Change, revision: int) -> Correction:
    return Correction(revision, changes)


def test_a_missed_delete_is_applied_later_although_newer_batches_were_applied(world: Service) -> None:
    affected = world.apply(correction(deleted("net", "a", 5), revision=5))
    assert affected.deleted == keys("net/a")
    assert not world.exists(key("net/a"))


def test_a_missed_put_is_applied_later_and_wakes_its_readers(world: Service) -> None:
    world.evaluated(key("net/b"), frozenset({object_read(key("net/a"))}), (), complete=True)
    affected = world.apply(correction(put("net", "a", 4, born=1, text="missed"), revision=5))
    assert affected.jobs[key("net/b")].by_readers
    assert affected.objects == {Name("net", ("a",))}


def test_a_missed_creation_is_applied_later(world: Service) -> None:
    assert set(world.apply(correction(put("net", "c", 3), revision=5)).jobs) == keys("net/c")


def test_it_does_not_move_the_applied_revision(world: Service) -> None:
    world.apply(correction(deleted("net", "a", 5), revision=5))
    assert world.revision == 9
    world.apply(correction(deleted("net", "b", 12), revision=12))
    assert world.revision == 9
    assert set(world.apply(batch(put("net", "c", 10))).jobs) == keys("net/c")


def test_what_was_written_since_is_left_as_it_is(world: Service) -> None:
    world.apply(batch(put("net", "a", 10, born=1, text="newer")))
    stale = (put("net", "a", 4, born=1, text="older"), deleted("net", "a", 5))
    for change in stale:
        assert world.apply(correction(change, revision=5)) == NOBODY
    assert world.resource(key("net/a")).values().text == "newer"  # type: ignore[union-attr]


def test_a_held_value_that_was_written_since_stays(world: Service) -> None:
    world.apply(batch(broken("net", "a", 10, born=1)))
    assert world.apply(correction(deleted("net", "a", 5), revision=5)) == NOBODY
    assert set(world.held) == keys("net/a")


def test_the_other_keys_of_a_partly_stale_correction_count(world: Service) -> None:
    world.apply(batch(put("net", "a", 10, born=1)))
    affected = world.apply(correction(deleted("net", "a", 5), deleted("net", "b", 5), revision=5))
    assert affected.deleted == keys("net/b")


def test_the_store_counts_where_the_cache_has_a_revision_that_never_was(world: Service) -> None:
    """As after a restore of an older state that has grown past the old revision since."""
    world.apply(correction(put("net", "b", 1, text="restored"), revision=8))
    assert world.resource(key("net/b")).values().text == "restored"  # type: ignore[union-attr]


def test_a_correction_of_what_is_known_concerns_nobody(world: Service) -> None:
    assert world.apply(correction(deleted("net", "never", 5), revision=5)) == NOBODY
