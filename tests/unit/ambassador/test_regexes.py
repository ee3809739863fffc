"""Mistakes in regular expressions that are found before Envoy rejects them."""

from __future__ import annotations

import pytest

from intentc.compilers.ambassador.routing.regexes import BadRegex, check, check_substitution, shape


@pytest.mark.parametrize(
    "pattern",
    [
        "/orders/[0-9]+",
        "(?i)/Orders",
        "(?P<version>v[12])/(?:a|b)",
        "a{2,5}?",
        r"\p{Greek}+\pL",
        r"\Q.*\E",
        "[]a]",
        "[[:alpha:]_-]",
        r"[\x7f-\xff]",
        r"\x{10FFFF}",
        r"\012",
        "x{,5}",
        "a|",
    ],
)
def test_what_re2_takes_passes(pattern: str) -> None:
    check(pattern, 200)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "empty"),
        ("a{" + "1" * 100_000 + "}", "at most 1000 times"),
        ("a{1," + "1" * 100_000 + "}", "at most 1000 times"),
        ("(?=x)", "lookaround"),
        ("(?!x)", "lookaround"),
        ("(?<=a)b", "lookaround"),
        ("(?<!a)b", "lookaround"),
        (r"(a)\1", "backreference"),
        (r"(?P<a>x)\k<a>", "backreference"),
        ("(?>x)", "RE2 has nothing like"),
        ("a++", "repeated"),
        ("a**", "repeated"),
        ("*a", "repeated"),
        ("(|*)", "repeated"),
        ("a{1001}", "1000 times"),
        ("a{5,2}", "1000 times"),
        ("(", "not closed"),
        ("a)", "closing parenthesis"),
        ("[a", "not closed"),
        ("[]", "not closed"),
        ("[z-a]", "runs backwards"),
        ("a\\", "backslash"),
        (r"\y", "does not know"),
        (r"\x4", "does not know"),
        ("(" * 300 + ")" * 300, "nested"),
    ],
)
def test_what_re2_does_not_take_is_rejected_in_words(pattern: str, words: str) -> None:
    with pytest.raises(BadRegex, match=words):
        check(pattern, 10_000)


def test_a_repetition_counts_as_often_as_it_stands_in_the_program() -> None:
    assert shape("(?:ab){50}").size == 100
    with pytest.raises(BadRegex, match=r"size is 1,000 or more, and 200 is the limit"):
        check("(?:ab){500}", 200)


@pytest.mark.parametrize(
    ("pattern", "program"),
    [
        (r"\x41" * 70, 74),
        (r"\012" * 70, 74),
        ("(?:a|b|c){50}", 54),
        ("(?:food|foobar|foo){20}", 164),
        ("^{1000}x", 3),
        ("a*" * 100, 5),
        ("^/" + "a" * 250 + "[0-9]", 5),
        (r"(?:\Qab\E{3}){5}", 24),
        (r"(a|b)\b{9}", 8),
    ],
)
def test_a_size_is_never_larger_than_that_of_the_program_of_re2(pattern: str, program: int) -> None:
    """``program``: of RE2 itself (google-re2 1.1)."""
    assert shape(pattern).size <= program


def test_the_largest_of_several_branches_counts() -> None:
    assert shape("(?:ab|abcde|x){2}").size == 10


def test_only_capturing_groups_are_counted() -> None:
    assert shape("(a)(?:b)(?P<c>d)(?i)").groups == 2


@pytest.mark.parametrize("substitution", ["", "/new", r"\1/\0", r"a\\b"])
def test_a_substitution_may_name_groups_that_there_are(substitution: str) -> None:
    check_substitution(substitution, 1)


@pytest.mark.parametrize(
    ("substitution", "words"), [(r"\2", "there are 1"), (r"\n", "a digit"), ("a\\", "a digit"), ("a\n", "characters")]
)
def test_a_substitution_that_envoy_would_reject_is_rejected(substitution: str, words: str) -> None:
    with pytest.raises(BadRegex, match=words):
        check_substitution(substitution, 1)
