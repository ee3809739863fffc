"""References by uuid and by name, single references, elements of collections (docs/contrail.md B.2, B.5.6)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.collections import ElementUpdate
from intentc.apiserver.references import ReferenceUpdate
from intentc.model import Key
from intentc.watch.memory import MemoryStore

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


async def test_uuid_and_name_of_a_reference_complete_each_other(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    by_uuid = await api.create(
        "virtual_network", "a", network_policy_refs=[{"uuid": policy["uuid"], "href": "http://x"}]
    )
    by_name = await api.create("virtual_network", "b", network_policy_refs=[{"to": [*PROJECT, "p"]}])
    assert by_uuid["network_policy_refs"] == by_name["network_policy_refs"] == [
        {"uuid": policy["uuid"], "to": policy["fq_name"]}
    ]  # fmt: skip


async def test_a_name_that_nobody_has_is_rejected_with_its_place(api: Api) -> None:
    with rejected(400, "network_policy_refs[0]", "default-domain:default-project:nope"):
        await api.create("virtual_network", "n", network_policy_refs=[{"to": [*PROJECT, "nope"]}])


async def test_a_uuid_that_nobody_has_is_rejected_with_its_place(api: Api) -> None:
    with rejected(409, "network_policy_refs[0]", "5b0f0000-0000-4000-8000-00000000dead"):
        await api.create("virtual_network", "n", network_policy_refs=[{"uuid": "5b0f0000-0000-4000-8000-00000000dead"}])


async def test_an_attribute_is_kept_and_checked(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    attribute = {"sequence": {"major": 1, "minor": 2}}
    made = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"], "attr": attribute}])
    assert made["network_policy_refs"][0]["attr"] == attribute
    with rejected(400, "attr.sequence"):
        await api.update(
            "virtual_network",
            made["uuid"],
            network_policy_refs=[{"uuid": policy["uuid"], "attr": {"sequence": 1}}],
        )


async def test_a_relation_without_attribute_takes_none(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    references = [{"uuid": network["uuid"], "attr": {"x": 1}}]
    with rejected(400, "have no attr"):
        await api.create("virtual_machine_interface", "i", parent_type="project", virtual_network_refs=references)


async def test_back_references_are_shown_and_not_stored(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    shown = await api.get("network_policy", policy["uuid"])
    assert shown["virtual_network_back_refs"] == [{"uuid": network["uuid"], "to": network["fq_name"]}]


def _update(holder: dict[str, Any], add: bool, **fields: Any) -> ReferenceUpdate:
    return ReferenceUpdate(Key("virtual_network", holder["uuid"]), "network_policy", add, **fields)


async def test_adding_and_removing_a_reference_are_idempotent(api: Api, store: MemoryStore) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n")
    attribute = {"sequence": {"major": 1}}
    revisions = [
        await api.server.update_reference(_update(network, True, uuid=policy["uuid"], attribute=attribute))
        for _ in range(2)
    ]
    assert revisions[0] == revisions[1] == (await store.range("/")).revision
    now = await api.get("virtual_network", network["uuid"])
    assert now["network_policy_refs"] == [{"uuid": policy["uuid"], "to": policy["fq_name"], "attr": attribute}]
    for _ in range(2):
        await api.server.update_reference(_update(network, False, uuid=policy["uuid"]))
    assert "network_policy_refs" not in await api.get("virtual_network", network["uuid"])


async def test_adding_again_rewrites_the_attribute(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    attribute = {"sequence": {"major": 3}}
    await api.server.update_reference(_update(network, True, fq_name=(*PROJECT, "p"), attribute=attribute))
    now = await api.get("virtual_network", network["uuid"])
    assert [entry["attr"] for entry in now["network_policy_refs"]] == [attribute]


async def test_an_unknown_pair_of_kinds_is_rejected(api: Api) -> None:
    group = await api.create("security_group", "g")
    update = ReferenceUpdate(Key("security_group", group["uuid"]), "network_policy", True, group["uuid"])
    with rejected(400, "invalid kind"):
        await api.server.update_reference(update)


async def test_elements_of_a_map_are_set_and_deleted_by_key(api: Api) -> None:
    made = await api.create("network_policy", "p", annotations={"key_value_pair": [{"key": "a", "value": "1"}]})
    await api.server.update_collections(
        made["uuid"],
        [
            ElementUpdate("annotations", "set", {"key": "b", "value": "2"}, "b"),
            ElementUpdate("annotations", "set", {"key": "a", "value": "3"}),
        ],
    )
    now = await api.get("network_policy", made["uuid"])
    assert {pair["key"]: pair["value"] for pair in now["annotations"]["key_value_pair"]} == {"a": "3", "b": "2"}
    await api.server.update_collections(made["uuid"], [ElementUpdate("annotations", "delete", None, "a")])
    now = await api.get("network_policy", made["uuid"])
    assert [pair["key"] for pair in now["annotations"]["key_value_pair"]] == ["b"]


async def test_a_key_that_stands_twice_is_set_once(api: Api) -> None:
    pairs = [{"key": key, "value": value} for key, value in (("a", "1"), ("b", "2"), ("a", "3"))]
    made = await api.create("network_policy", "p", annotations={"key_value_pair": pairs})
    update = ElementUpdate("annotations", "set", {"key": "a", "value": "4"}, "a")
    await api.server.update_collections(made["uuid"], [update])
    now = await api.get("network_policy", made["uuid"])
    assert [(pair["key"], pair["value"]) for pair in now["annotations"]["key_value_pair"]] == [("a", "4"), ("b", "2")]


async def test_elements_of_a_list_are_added_modified_and_deleted_by_index(api: Api) -> None:
    network = await api.create("virtual_network", "n")
    made = await api.create(
        "virtual_machine_interface", "i", parent_type="project", virtual_network_refs=[{"uuid": network["uuid"]}]
    )
    field = "virtual_machine_interface_fat_flow_protocols"
    await api.server.update_collections(
        made["uuid"],
        [
            ElementUpdate(field, "add", {"port": 1}),
            ElementUpdate(field, "add", {"port": 2}),
            ElementUpdate(field, "modify", {"port": 3}, "0"),
            ElementUpdate(field, "delete", None, "1"),
        ],
    )
    assert (await api.get("virtual_machine_interface", made["uuid"]))[field] == {"fat_flow_protocol": [{"port": 3}]}


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (ElementUpdate("display_name", "set", "x", "x"), "no collection 'display_name'"),
        (ElementUpdate("annotations", "add", {"key": "x"}), "annotations is a map"),
        (ElementUpdate("annotations", "set", {"value": "x"}), "position"),
    ],
)
async def test_a_wrong_element_is_rejected(api: Api, update: ElementUpdate, words: str) -> None:
    made = await api.create("network_policy", "p")
    with rejected(400, words):
        await api.server.update_collections(made["uuid"], [update])
