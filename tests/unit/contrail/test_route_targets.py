"""The form of route targets, and the algebra of a network's lists (docs/contrail.md D.1; E.1 TestParseRouteTarget)."""

from __future__ import annotations

from ipaddress import IPv4Address
from itertools import permutations
from typing import Any

import pytest

from intentc.compilers.contrail.route_targets import parse_route_target, united


def test_with_an_address() -> None:
    assert parse_route_target("target:10.0.0.1:100") == (IPv4Address("10.0.0.1"), 100)


def test_with_an_autonomous_system() -> None:
    assert parse_route_target("target:64512:8000100") == (64512, 8000100)


@pytest.mark.parametrize(
    "text",
    [
        "goal:64512:100",
        "target::100",
        "target:text:100",
        "target:9223372036854775808:100",
        "target:64512:9223372036854775808",
        "target::text",
        "target",
        "target:10.0.0.256:1",
        "target:64512:1:2",
        "target:64512:-1",
        " target:64512:1",
        "",
    ],
)
def test_malformed_ones_are_rejected(text: Any) -> None:
    with pytest.raises(ValueError, match="route target"):
        parse_route_target(text)


A, B, C = "target:1:1", "target:2:1", "target:3:1"


@pytest.mark.parametrize(
    ("both", "imported", "exported", "expected"),
    [
        ([A], [C], [B], {A: "", B: "export", C: "import"}),
        ([], [A], [A], {A: ""}),
        ([A], [A], [], {A: ""}),
        ([A], [], [A], {A: ""}),
        ([A], [A, B], [A, B], {A: "", B: ""}),
        ([], [], [], {}),
    ],
)
def test_what_is_imported_and_exported_is_both(both: Any, imported: Any, exported: Any, expected: Any) -> None:
    lists = [dict.fromkeys(both, ""), dict.fromkeys(imported, "import"), dict.fromkeys(exported, "export")]
    for order in permutations(lists):
        assert list(united(*order).items()) == list(expected.items())
