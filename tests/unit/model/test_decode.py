"""Decoding: a stored value becomes a resource with identity and links, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from intentc.model.events import Change
from intentc.model.names import Key
from intentc.model.ownership import Mark
from intentc.model.problem import InvalidInput
from intentc.model.resource import Link, Resource
from intentc.model.schema import Schema

Decode = Callable[..., Resource]


def rejected(schema: Schema, raw: bytes) -> str:
    with pytest.raises(InvalidInput) as caught:
        schema.kind("security_group").decode(Change("security_group", "u", raw, 1, 7))
    assert caught.value.reason == "Malformed"
    return str(caught.value)


def test_identity_parent_and_revisions(decode: Decode) -> None:
    group = decode("security_group", parent_type="project", parent_uuid="p")

    assert (group.key, group.fq_name, group.parent) == (Key("security_group", "u"), ("a", "b"), Key("project", "p"))
    assert (group.create_revision, group.mod_revision) == (1, 2)


def test_parent_types_come_in_kebab_case(decode: Decode) -> None:
    assert decode("floating_ip", parent_type="floating-ip-pool", parent_uuid="p").parent == Key("floating_ip_pool", "p")


def test_a_reference_links_by_uuid_if_it_has_one_else_by_name(decode: Decode) -> None:
    port = decode(
        "virtual_machine_interface",
        virtual_network_refs=[{"uuid": "n", "to": ["a", "net"]}],
        security_group_refs=[{"to": ["a", "b", "web"]}],
    )

    assert set(port.links) == {
        Link("virtual_network", "virtual_network", "uuid", "n"),
        Link("security_group", "security_group", "fq_name", "a:b:web"),
    }


def test_rules_mention_other_groups(decode: Decode) -> None:
    group = decode(
        "security_group",
        security_group_entries={
            "policy_rule": [
                {"src_addresses": [{"security_group": "local"}], "dst_addresses": [{"security_group": "a:b:c"}]},
                {"src_addresses": [{"security_group": "any"}, {"security_group": "a:b:c"}], "dst_addresses": None},
            ]
        },
    )

    assert group.links == (Link("security_group", "security_group", "fq_name", "a:b:c"),)


def test_policies_mention_services_and_policies(decode: Decode) -> None:
    policy = decode(
        "network_policy",
        network_policy_entries={
            "policy_rule": [
                {
                    "src_addresses": [{"virtual_network": "any"}],
                    "dst_addresses": [{"network_policy": "a:b:other"}],
                    "action_list": {"apply_service": ["a:b:s1"], "mirror_to": {"analyzer_name": "a:b:s2"}},
                }
            ]
        },
    )

    assert {(link.relation, link.value) for link in policy.links} == {
        ("service_instance", "a:b:s1"),
        ("service_instance", "a:b:s2"),
        ("network_policy", "a:b:other"),
    }


def test_what_cannot_be_the_name_of_a_service_is_no_mention(decode: Decode) -> None:
    hops = ["10.0.0.9", "2001:db8::9", "a:b:s"]
    table = decode("route_table", routes={"route": [{"prefix": "0.0.0.0/0", "next_hop": hop} for hop in hops]})
    rule = {"action_list": {"mirror_to": {"analyzer_name": "collector"}}}
    policy = decode("network_policy", network_policy_entries={"policy_rule": [rule]})

    assert [link.value for link in table.links] == ["a:b:s"]
    assert policy.links == ()


def test_an_attribute_of_a_reference_is_typed(decode: Decode) -> None:
    instance = decode(
        "routing_instance",
        route_target_refs=[{"uuid": "r", "to": ["target:1:1"], "attr": {"import_export": "import"}}, {"uuid": "s"}],
    )

    assert [reference.attribute.import_export for reference in instance.references("route_target")] == ["import", ""]


def test_our_mark_is_read_from_the_annotations(decode: Decode) -> None:
    pairs = [{"key": "owner", "value": "x/y/z"}, {"key": "intentc", "value": "default/contrail/o"}]

    assert decode("route_target", annotations={"key_value_pair": pairs}).mark == Mark("default", "contrail", "o")
    assert decode("route_target").mark is None


def test_fields_that_no_schema_knows_are_passed_over(decode: Decode) -> None:
    assert decode("route_target", href="http://x", to=["a", "b"], children=[1]).fq_name == ("a", "b")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"not json", "security_group/u@7: value can't be read: "),
        (b"\xff\xfe", "security_group/u@7: value can't be read: "),
        (b"[]", "security_group/u@7: value can't be read: Expected `object`, got `array`"),
        (b"{}", "security_group/u@7: fq_name is missing"),
        (b'{"fq_name": []}', "security_group/u@7: fq_name is missing"),
        (b'{"fq_name": ["a"], "uuid": "v"}', "security_group/u@7: value has uuid v"),
        (b'{"fq_name": ["a"], "security_group_id": "many"}', "security_group/u@7: value can't be read: Expected `int`"),
        (b"[" * 100_000, "security_group/u@7: value can't be read: "),
        (b'{"fq_name": null, "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "security_group/u@7: value can't be"),
    ],
)
def test_a_bad_value_names_its_key_and_revision(contrail: Schema, raw: bytes, message: str) -> None:
    assert rejected(contrail, raw).startswith(message)


def test_a_wrong_field_names_its_path(contrail: Schema) -> None:
    raw = b'{"fq_name": ["a"], "security_group_entries": {"policy_rule": [{"src_ports": [{"start_port": "x"}]}]}}'

    assert "$.security_group_entries.policy_rule[0].src_ports[0].start_port" in rejected(contrail, raw)
