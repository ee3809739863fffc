"""Paths as patterns, and their order in a map (docs/appgw.md §6.7)."""

from __future__ import annotations

import pytest

from intentc.compilers.appgw.path_patterns import covers, patterns_of, rank


@pytest.mark.parametrize(
    ("path", "path_type", "patterns"),
    [
        ("/cart", "Exact", ("/cart",)),
        ("/cart*", "Exact", ("/cart",)),
        ("/cart", "Prefix", ("/cart", "/cart/*")),
        ("/cart/", "Prefix", ("/cart", "/cart/*")),
        ("/cart/*", "Prefix", ("/cart/*",)),
        ("/cart", "ImplementationSpecific", ("/cart",)),
        ("/cart*", "ImplementationSpecific", ("/cart*",)),
        ("/cart", "", ("/cart",)),
    ],
)
def test_the_type_of_a_path_decides_its_patterns(path: str, path_type: str, patterns: tuple[str, ...]) -> None:
    assert patterns_of(path, path_type, by_element=True).patterns == patterns


def test_a_prefix_may_match_as_a_text() -> None:
    assert patterns_of("/cart", "Prefix", by_element=False).patterns == ("/cart*",)
    assert patterns_of("/cart*", "Prefix", by_element=False).patterns == ("/cart*",)


@pytest.mark.parametrize("path", ["", "/", "/*"])
@pytest.mark.parametrize("path_type", ["Exact", "Prefix", "ImplementationSpecific", ""])
def test_some_paths_match_everything(path: str, path_type: str) -> None:
    found = patterns_of(path, path_type, by_element=True)
    assert found.catch_all
    assert bool(found.note) == (path_type == "Exact")


@pytest.mark.parametrize("path", ["cart", "/ca*rt", "/a?b", "/a b", "/%20", "/a**", "/ä"])
def test_a_path_that_the_gateway_cannot_match_is_wrong(path: str) -> None:
    assert patterns_of(path, "Prefix", by_element=True).wrong


def test_exact_patterns_come_first_and_then_the_longest() -> None:
    given = [("/a/*",), ("/a/b*",), ("/long/exact",), ("/a", "/a/*"), ("/x",)]
    assert sorted(given, key=rank) == [("/long/exact",), ("/x",), ("/a/b*",), ("/a/*",), ("/a", "/a/*")]


@pytest.mark.parametrize(
    ("target", "pattern", "covered"),
    [
        ("/*", "/a", True),
        ("", "/*", True),
        ("/a", "/A", True),
        ("/a", "/a/b", False),
        ("/a/*", "/a", True),
        ("/a*", "/a/b/*", True),
        ("/a/*", "/ab", False),
        ("/a/*", "/*", False),
    ],
)
def test_a_target_covers_itself_and_with_a_star_the_tree_below(target: str, pattern: str, covered: bool) -> None:
    assert covers(target, pattern) == covered
