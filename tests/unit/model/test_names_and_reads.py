"""Keys and names of objects, which are ours, and what a read is about."""

from __future__ import annotations

import pytest

from intentc.model.names import Key, Name, hostname_offers, kebab, snake
from intentc.model.ownership import Mark, object_uuid

KEY = Key("thing", "u")


def test_kinds_have_two_spellings() -> None:
    assert kebab("bgp_as_a_service") == "bgp-as-a-service"
    assert snake("bgp-as-a-service") == "bgp_as_a_service"


def test_keys_and_names_read_well_in_messages() -> None:
    assert (str(KEY), str(Name("thing", ("a", "b")))) == ("thing/u", "thing a:b")


def test_an_objects_uuid_depends_on_all_that_makes_it_ours() -> None:
    name = Name("thing", ("a", "b"))
    uuids = {
        object_uuid("one", name, "o"),
        object_uuid("two", name, "o"),
        object_uuid("one", name, "p"),
        object_uuid("one", Name("thing", ("a", "c")), "o"),
        object_uuid("one", Name("other", ("a", "b")), "o"),
    }

    assert len(uuids) == 5
    assert object_uuid("one", name, "o") in uuids


def test_a_mark_survives_its_text() -> None:
    assert Mark.parse(str(Mark("default", "contrail", "o"))) == Mark("default", "contrail", "o")


def test_the_origin_in_a_mark_may_hold_slashes() -> None:
    """A fact that is an intent of its own may be called ``namespace/name|domain``: it owns objects, too."""
    mark = Mark("default", "ambassador", "gate/http|cleartext:*")
    assert Mark.parse(str(mark)) == mark


@pytest.mark.parametrize("text", ["", "a/b", "a//c", "a/b/"])
def test_other_texts_are_no_mark(text: str) -> None:
    assert Mark.parse(text) is None


def test_a_hostname_offers_every_glob_that_covers_it() -> None:
    assert hostname_offers("a.b.c") == ("a.b.c", "*.b.c", "*.c", "*")
