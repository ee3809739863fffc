"""Which resources of an input a change of a part is owed to."""

from __future__ import annotations

from intentc.model import Key
from intentc.offline.preview.planning import blamed

ONE, OTHER = frozenset({Key("network", "1")}), frozenset({Key("network", "2")})


def test_a_part_is_owed_to_its_own_reasons() -> None:
    assert blamed({"": OTHER, "rules[0]": ONE}, ["rules[0].port"]) == ONE


def test_a_part_without_reasons_is_owed_to_those_of_the_whole_object() -> None:
    assert blamed({"": OTHER, "rules[0]": ONE}, ["color"]) == OTHER
    assert blamed({"rules[0]": ONE}, ["color"]) == frozenset()
