"""Patterns of host names: which cover which, in Envoy's order (``routing/hostnames.py``)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.bridges.xds.route_configurations import covering as covering_domain
from intentc.compilers.ambassador.routing.hostnames import aligned, covering, covers, is_pattern, rank

PATTERNS = ["*", "a.b", "*.b", "*b", "a.*", "a*", "x.a.b", "*.a.b", "*a.b", "x.*", "x.a.*", "b"]


@pytest.mark.parametrize("text", ["", "*.*", "a*b", "**", "Shop.example", "a b", "a/b", "é.example", "a" * 256, "*a*"])
def test_an_invalid_pattern_is_recognized(text: str) -> None:
    assert not is_pattern(text)


@pytest.mark.parametrize("text", ["*", "a", "a.b:8080", "*.a-b.c", "shop.*", "*-eu.shop", "_dmarc.a", "[::1]:80"])
def test_what_is_a_pattern_is_taken(text: str) -> None:
    assert is_pattern(text)


@pytest.mark.parametrize(("pattern", "domain"), [*itertools.product(PATTERNS, PATTERNS)])
def test_covering_names_exactly_the_patterns_that_cover(pattern: str, domain: str) -> None:
    assert (pattern in covering(domain)) == covers(pattern, domain)


@given(st.from_regex(r"(\*|\*?[ab.]{1,6}|[ab.]{1,6}\*)", fullmatch=True), st.text("ab.", min_size=1, max_size=8))
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


@given(st.from_regex(r"(\*|\*?[ab.]{1,6}|[ab.]{1,6}\*)", fullmatch=True))
def test_the_xds_server_puts_routes_under_the_same_patterns(pattern: str) -> None:
    """It has its own rules, since it knows no compiler; they must be the same."""
    assert set(covering_domain(pattern)) == set(covering(pattern))
