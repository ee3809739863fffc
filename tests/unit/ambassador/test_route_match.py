"""Identity and order of routes, as pure functions of what they match (docs/ambassador.md §4.4)."""

from __future__ import annotations

import itertools

import pytest

from intentc.compilers.ambassador.routing.route_action import (
    EXACT,
    REGEX,
    Condition,
    RouteMatch,
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


def test_routes_are_in_order_of_precedence_prefix_headers_and_query() -> None:
    for start in range(len(RANKED)):
        assert order(*RANKED[start:], *RANKED[:start]) == RANKED


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(VARIANTS, 2)))
def test_no_two_have_the_same_place(first: RouteMatch, second: RouteMatch) -> None:
    assert sort_key(first, route_name(first)) != sort_key(second, route_name(second))
