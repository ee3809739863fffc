"""Identity and order of routes, as pure functions of what they match (docs/ambassador.md §4.4)."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from intentc.compilers.ambassador.routing.route_action import (
    EXACT,
    REGEX,
    Condition,
    RouteMatch,
    group_name,
    route_name,
    sort_key,
)

BASE = RouteMatch(("|*",), "/orders/", authority="*")
VARIANTS = [
    BASE,
    RouteMatch(("|shop.example",), "/orders/", authority="shop.example"),
    RouteMatch(("|*", "shop:h|*"), "/orders/", authority="*"),
    RouteMatch(("|*",), "/orders/", path_sort=EXACT, authority="*"),
    RouteMatch(("|*",), "/orders/", path_sort=REGEX, authority="*"),
    RouteMatch(("|*",), "/orders/", case_sensitive=False, authority="*"),
    RouteMatch(("|*",), "/orders/", authority="*", method="GET"),
    RouteMatch(("|*",), "/orders/", authority="*", method="GET", method_regex=True),
    RouteMatch(("|*",), "/orders/", authority="*", precedence=1),
    RouteMatch(("|*",), "/orders/", authority="*", headers=(Condition("ab", EXACT, "c"),)),
    RouteMatch(("|*",), "/orders/", authority="*", headers=(Condition("a", EXACT, "bc"),)),
    RouteMatch(("|*",), "/orders/", authority="*", headers=(Condition("a", REGEX, "bc"),)),
    RouteMatch(("|*",), "/orders/", authority="*", headers=(Condition("a"), Condition("bc"))),
    RouteMatch(("|*",), "/orders/", authority="*", query=(Condition("a", EXACT, "bc"),)),
]


def test_two_that_differ_in_anything_are_two_groups() -> None:
    """Defect 8: the headers {ab: c} and {a: bc} were one group."""
    assert len({route_name(match) for match in VARIANTS}) == len(VARIANTS)


def test_the_tables_are_no_part_of_the_group_but_of_the_route() -> None:
    elsewhere = msgspec.structs.replace(BASE, tables=("shop:h|*",))
    assert group_name(BASE) == group_name(elsewhere)
    assert route_name(BASE) != route_name(elsewhere)


def test_the_name_begins_readably_and_can_stand_in_a_url() -> None:
    name = route_name(RouteMatch(("|*",), "/Größe/%20/" + "x" * 300, method="POST"))
    assert name.startswith("POST-Gr-e-20-xxx")
    assert name.replace("-", "").isalnum()
    assert len(name) <= 73


def test_the_root_has_a_readable_name_too() -> None:
    assert route_name(RouteMatch(("|*",), "/")).startswith("root-")


def order(*matches: RouteMatch) -> list[RouteMatch]:
    """In Envoy's order."""
    return sorted(matches, key=lambda match: sort_key(match, route_name(match)), reverse=True)


RANKED = [
    RouteMatch(("|*",), "/", precedence=10),
    RouteMatch(("|*",), "/orders/new/"),
    RouteMatch(("|*",), "/orders/", headers=(Condition("x-client", EXACT, "mobile-app"),)),
    RouteMatch(("|*",), "/orders/", headers=(Condition("x-id", REGEX, "[0-9]{3,}"),)),
    RouteMatch(("|*",), "/orders/", method="DELETE"),
    RouteMatch(("|*",), "/orders/", query=(Condition("page", EXACT, "1"), Condition("size", EXACT, "100"))),
    RouteMatch(("|*",), "/orders/", query=(Condition("page", EXACT, "1"),)),
    RouteMatch(("|*",), "/orders/", path_sort=EXACT),
    RouteMatch(("|*",), "/orders/"),
    RouteMatch(("|*",), "/orders/", case_sensitive=False),
    RouteMatch(("|*",), "/custom/"),
    RouteMatch(("|*",), "/"),
    RouteMatch(("|*",), "/orders/older/", precedence=-1),
]


def test_the_order_is_precedence_then_prefix_then_headers_then_query_then_reverse_alphabetical() -> None:
    for start in range(len(RANKED)):
        assert order(*RANKED[start:], *RANKED[:start]) == RANKED


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(VARIANTS, 2)))
def test_no_two_have_the_same_place(first: RouteMatch, second: RouteMatch) -> None:
    assert sort_key(first, route_name(first)) != sort_key(second, route_name(second))


def test_a_hostname_counts_among_the_headers() -> None:
    named = RouteMatch(("|shop.example",), "/orders/", authority="shop.example")
    anywhere = RouteMatch(("|*",), "/orders/", authority="*")
    assert order(anywhere, named) == [named, anywhere]
