"""Priorities of rules, as a function of all of them (docs/appgw.md §8.2)."""

from __future__ import annotations

from intentc.bridges.azure.document.parts import Owner
from intentc.bridges.azure.document.priorities import Rule, priorities

OWNERS = {"shop:old": Owner("2026-01-01", "shop", "old"), "shop:new": Owner("2026-01-02", "shop", "new")}


def rule(name: str, *hosts: str, requested: int = 0, by: str = "", order: tuple[int, ...] = ()) -> Rule:
    return Rule(name, hosts, "port", requested, by, order)


def numbers(*rules: Rule, taken: tuple[int, ...] = ()) -> dict[str, int]:
    return priorities(rules, OWNERS, taken)[0]


def reasons(*rules: Rule, taken: tuple[int, ...] = ()) -> list[tuple[str, str]]:
    return [(trouble.owner, trouble.reason) for trouble in priorities(rules, OWNERS, taken)[1]]


def test_exact_names_come_before_wildcards_and_these_before_all_names() -> None:
    found = numbers(rule("a"), rule("b", "*.test"), rule("c", "z.test"), rule("d", "*.long.test"))
    assert found == {"c": 19000, "d": 19005, "b": 19010, "a": 19500}


def test_numbers_of_others_are_skipped() -> None:
    assert numbers(rule("a", "a.test"), rule("b", "b.test"), taken=(19000, 19010)) == {"a": 19005, "b": 19015}


def test_more_names_than_steps_form_one_block_that_ends_at_20000() -> None:
    many = [rule(f"{number:03}", f"h{number:03}.test") for number in range(101)]
    found = numbers(*many, rule("all"), taken=(19990,))
    assert found["all"] == 20000
    assert found["100"] == 19999
    assert 19990 not in found.values()
    assert sorted(found.values()) == [found[name] for name in sorted(found, key=lambda name: found[name])]
    assert len(set(found.values())) == 102


def test_rules_of_an_ingress_follow_the_number_that_it_asks_for() -> None:
    redirected = rule("a", "a.test", requested=10, by="shop:old", order=(1, 1))
    secure = rule("b", "a.test", requested=10, by="shop:old", order=(1, 0))
    assert numbers(redirected, secure) == {"b": 10, "a": 11}


def test_the_older_ingress_gets_the_number_and_the_other_the_next_free_one() -> None:
    new = rule("a", "a.test", requested=10, by="shop:new", order=(1, 0))
    old = rule("b", "b.test", requested=10, by="shop:old", order=(1, 0))
    assert numbers(new, old, taken=(11,)) == {"b": 10, "a": 12}
    assert reasons(new, old) == [("shop:new", "PriorityTaken")]


def test_the_last_number_is_taken_once() -> None:
    asked = [rule(name, f"{name}.test", requested=20000, by="shop:old", order=(1, 0)) for name in "ab"]
    assert numbers(*asked) == {"a": 20000, "b": 19999}


def test_a_wildcard_before_an_exact_name_is_reported() -> None:
    wide = rule("w", "*.test", requested=10, by="shop:new", order=(1, 0))
    assert reasons(wide, rule("e", "a.test")) == [("shop:new", "PriorityShadowsHost")]
    assert reasons(wide, rule("e", "a.example")) == []
