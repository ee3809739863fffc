"""Patterns of host names: which cover which, in Envoy's order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.model.hostname_patterns import aligned, covering, covers, is_pattern, rank

DOMAINS = st.text("ab.", min_size=1, max_size=5)
PATTERNS = st.one_of(DOMAINS, DOMAINS.map("*{}".format), DOMAINS.map("{}*".format), st.just("*"))


@pytest.mark.parametrize("text", ["", "*.*", "a*b", "**", "Shop.example", "a b", "a/b", "é.example", "a" * 256, "*a*"])
def test_an_invalid_pattern_is_recognized(text: str) -> None:
    assert not is_pattern(text)


@pytest.mark.parametrize("text", ["*", "a", "a.b:8080", "*.a-b.c", "shop.*", "*-eu.shop", "_dmarc.a", "[::1]:80"])
def test_what_is_a_pattern_is_taken(text: str) -> None:
    assert is_pattern(text)


@given(PATTERNS, st.text("ab.", min_size=1, max_size=8))
def test_a_pattern_covers_the_names_that_it_matches(pattern: str, name: str) -> None:
    matches = (
        pattern in ("*", name)
        or (pattern.startswith("*") and name.endswith(pattern[1:]) and len(name) >= len(pattern))
        or (pattern.endswith("*") and name.startswith(pattern[:-1]) and len(name) >= len(pattern))
    )
    assert covers(pattern, name) == matches
    assert (pattern in covering(name)) == matches


def test_the_best_pattern_comes_first() -> None:
    assert covering("w.b") == ("w.b", "*.b", "*b", "w.*", "w*", "*")
    assert list(covering("a.b")) == sorted(covering("a.b"), key=rank)


@pytest.mark.parametrize(
    ("pattern", "expected"), [("*", True), ("*.a", True), ("a.*", True), ("*a", False), ("a*", False)]
)
def test_a_wildcard_is_aligned_if_it_stands_for_whole_labels(pattern: str, expected: bool) -> None:
    assert aligned(pattern) is expected


@pytest.mark.parametrize(
    ("pattern", "domain", "expected"),
    [
        ("a.example.org", "a.example.org", True),
        ("a.example.org", "b.example.org", False),
        ("*.example.org", "a.example.org", True),
        ("*.example.org", ".example.org", False),
        ("*.example.org", "*.a.example.org", True),
        ("*.a.example.org", "*.example.org", False),
        ("shop.*", "shop.example.org", True),
        ("shop.*", "shop.", False),
        ("shop.*", "*", False),
        ("*", "*.example.org", True),
        ("*.org", "shop.*", False),
    ],
)
def test_a_wildcard_stands_for_one_character_or_more(pattern: str, domain: str, expected: bool) -> None:
    assert covers(pattern, domain) is expected


@given(PATTERNS, PATTERNS)
def test_the_patterns_listed_for_a_domain_are_those_that_cover_it(pattern: str, domain: str) -> None:
    assert (pattern in set(covering(domain))) == covers(pattern, domain)


@given(PATTERNS)
def test_no_pattern_is_listed_twice_and_a_domain_covers_itself(domain: str) -> None:
    listed = list(covering(domain))
    assert listed[0] == domain
    assert len(listed) == len(set(listed))
