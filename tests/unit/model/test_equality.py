"""Whether an input changed: by meaning, of the fields that count (docs/engine.md §2.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from intentc.model.resource import Resource

Decode = Callable[..., Resource]


def same(one: Resource, other: Resource) -> bool:
    return one.kind.same_input(one, other)


@pytest.mark.parametrize(
    "empty",
    [
        {"route_target_list": None},
        {"route_target_list": {}},
        {"route_target_list": {"route_target": []}},
        {"route_target_list": {"route_target": None}},
        {"is_shared": False},
        {"port_security_enabled": True},
        {"network_policy_refs": []},
        {"provider_properties": {}},
        {"virtual_network_properties": {"max_flows": 0, "rpf": ""}},
        {"configuration_version": 7, "id_perms": {"last_modified": "now"}, "href": "x"},
    ],
)
def test_what_says_nothing_equals_what_is_missing(decode: Decode, empty: dict[str, Any]) -> None:
    assert same(decode("virtual_network"), decode("virtual_network", **empty))


@pytest.mark.parametrize(
    "said",
    [
        {"port_security_enabled": False},
        {"route_target_list": {"route_target": ["target:1:1"]}},
        {"network_policy_refs": [{"uuid": "p"}]},
        {"virtual_network_network_id": 5},
        {"parent_uuid": "p", "parent_type": "project"},
        {"fq_name": ["a", "c"]},
    ],
)
def test_what_says_something_is_a_change(decode: Decode, said: dict[str, Any]) -> None:
    assert not same(decode("virtual_network"), decode("virtual_network", **said))


def test_what_compilers_write_is_no_change(decode: Decode) -> None:
    written = decode("routing_instance", route_target_refs=[{"uuid": "r", "to": ["target:1:1"], "attr": {}}])

    assert same(decode("routing_instance"), written)


def test_a_list_in_which_some_entries_are_the_users_counts(decode: Decode) -> None:
    assert not same(decode("logical_router"), decode("logical_router", route_target_refs=[{"uuid": "r"}]))


def test_the_order_of_rules_counts(decode: Decode) -> None:
    rules = [{"protocol": "tcp"}, {"protocol": "udp"}]

    assert not same(
        decode("security_group", security_group_entries={"policy_rule": rules}),
        decode("security_group", security_group_entries={"policy_rule": rules[::-1]}),
    )
