"""When an update would change nothing; when in doubt it is sent."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.cli.transfer import says_the_same

STORED = {
    "uuid": "u",
    "fq_name": ["d", "p", "g"],
    "parent_type": "project",
    "href": "http://server/g",
    "display_name": "g",
    "id_perms": {"enable": True, "created": "today"},
    "entries": {"rule": [{"protocol": "tcp", "rule_uuid": "given"}]},
    "flag": False,
    "network_refs": [
        {"uuid": "n1", "to": ["d", "p", "n1"], "href": "http://server/n1"},
        {"uuid": "n2", "to": ["d", "p", "n2"], "attr": {"sequence": {"major": 1}}},
    ],
    "ipam_refs": [{"uuid": "i", "to": ["d", "i"], "attr": {"subnets": [{"prefix": "10.0.0.0", "subnet_uuid": "s"}]}}],
}
FIRST: dict[str, Any] = {"to": ["d", "p", "n1"]}
SECOND: dict[str, Any] = {"uuid": "n2", "attr": {"sequence": {"major": 1}}}


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"fq_name": ["d", "p", "g"], "parent_type": "project"},
        {"display_name": "g", "flag": False},
        {"entries": {"rule": [{"protocol": "tcp"}]}},
        {"entries": {"rule": [{"protocol": "tcp", "ports": None}]}},
        {"id_perms": {"enable": True}},
        {"network_refs": [SECOND, FIRST]},
        {"ipam_refs": [{"to": ["d", "i"], "attr": {"subnets": [{"prefix": "10.0.0.0"}]}}]},
        {"absent": None},
    ],
)
def test_what_the_server_filled_in_and_the_order_of_references_make_no_difference(wanted: dict[str, Any]) -> None:
    assert says_the_same(wanted, STORED)


@pytest.mark.parametrize(
    "wanted",
    [
        {"display_name": "h"},
        {"display_name": None},
        {"parent_type": "domain"},
        {"flag": 0},
        {"absent": 0},
        {"entries": {"rule": []}},
        {"entries": {"rule": [{"protocol": "udp"}]}},
        {"entries": {"rule": [{}]}},
        {"entries": {"rule": [{"protocol": "tcp", "ports": [1]}]}},
        {"id_perms": {"enable": False}},
        {"network_refs": [FIRST]},
        {"ipam_refs": [{"to": ["d", "i"], "attr": {"subnets": [{"prefix": "10.1.0.0"}]}}]},
        {"network_refs": [FIRST, FIRST]},
        {"network_refs": [FIRST, {"uuid": "n2"}]},
        {"network_refs": [FIRST, {"to": ["d", "p", "n3"]}]},
        {"network_refs": None},
    ],
)
def test_whatever_the_file_adds_takes_away_or_changes_is_a_difference(wanted: dict[str, Any]) -> None:
    assert not says_the_same(wanted, STORED)
