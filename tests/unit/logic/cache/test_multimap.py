"""A table of members that keeps a single one without a set."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from intentc.model.multimap import MultiMap

STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from("kl"), st.sampled_from(["a", "b", "c"])), max_size=30)


@given(STEPS)
def test_it_holds_what_a_dict_of_sets_would(steps: list[tuple[bool, str, str]]) -> None:
    table: MultiMap[str, str] = MultiMap()
    plain: dict[str, set[str]] = {}
    for adding, key, member in steps:
        if adding:
            table.add(key, member)
            plain.setdefault(key, set()).add(member)
        else:
            table.discard(key, member)
            plain.get(key, set()).discard(member)
        assert {key: set(table.get(key)) for key in "kl"} == {key: plain.get(key, set()) for key in "kl"}
        assert len(table) == sum(map(bool, plain.values()))
        assert ("k" in table) == bool(plain.get("k"))


def test_a_member_may_be_a_tuple() -> None:
    table: MultiMap[str, tuple[str, str]] = MultiMap()
    table.add("k", ("a", "b"))
    table.add("k", ("a", "b"))
    assert list(table.get("k")) == [("a", "b")]
