"""Which patterns of host names cover which domains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.bridges.xds.domains import covering, covers

DOMAINS = st.text("ab.", min_size=1, max_size=5)
PATTERNS = st.one_of(DOMAINS, DOMAINS.map("*{}".format), DOMAINS.map("{}*".format), st.just("*"))


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
