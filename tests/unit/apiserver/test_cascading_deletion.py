"""What blocks a deletion and what goes along with it (docs/contrail.md A.3 "derived", B.7)."""

from __future__ import annotations

import pytest

from intentc.apiserver.queries import Query
from intentc.model import Key
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


async def test_children_block(api: Api) -> None:
    project = await api.create("project", fq_name=["default-domain", "p"])
    await api.create("network_policy", fq_name=["default-domain", "p", "x"])
    with rejected(409, "held by network_policy/", "(child)"):
        await api.delete("project", project["uuid"])


async def test_references_block_until_they_are_gone(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    with rejected(409, f"virtual_network/{network['uuid']} (reference)"):
        await api.delete("network_policy", policy["uuid"])
    await api.update("virtual_network", network["uuid"], network_policy_refs=[])
    await api.delete("network_policy", policy["uuid"])


async def test_references_of_a_deleted_resource_vanish(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    await api.delete("virtual_network", network["uuid"])
    assert "virtual_network_back_refs" not in await api.get("network_policy", policy["uuid"])
    await api.delete("network_policy", policy["uuid"])


async def test_derived_children_survive_as_orphans(api: Api) -> None:
    group = await api.create("security_group", "g")
    orphan = await api.create(
        "access_control_list", fq_name=[*PROJECT, "g", "ingress-access-control-list"], parent_type="security-group"
    )
    await api.delete("security_group", group["uuid"])
    assert await api.exists("access_control_list", orphan["uuid"])
    await api.delete("access_control_list", orphan["uuid"])


async def test_a_derived_reference_does_not_block_and_is_dropped(api: Api) -> None:
    instance = await api.create("service_instance", "s")
    machine = await api.create("virtual_machine", fq_name=["m"], service_instance_refs=[{"to": [*PROJECT, "s"]}])
    await api.delete("service_instance", instance["uuid"])
    assert "service_instance_refs" not in await api.get("virtual_machine", machine["uuid"])


async def test_a_relaxed_reference_does_not_block_and_is_dropped_with_its_target(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    other = await api.create("network_policy", "q")
    references = [{"uuid": policy["uuid"]}, {"uuid": other["uuid"]}]
    network = await api.create("virtual_network", "n", network_policy_refs=references)
    await api.server.relax_reference(network["uuid"], policy["uuid"])
    await api.server.relax_reference(network["uuid"], policy["uuid"])
    assert (await api.get("network_policy", policy["uuid"]))["virtual_network_back_refs"]
    await api.delete("network_policy", policy["uuid"])
    now = await api.get("virtual_network", network["uuid"])
    assert [entry["uuid"] for entry in now["network_policy_refs"]] == [other["uuid"]]


async def test_a_relaxed_reference_stays_so_while_it_stands(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    await api.server.relax_reference(network["uuid"], policy["uuid"])
    attribute = {"sequence": {"major": 1}}
    references = [{"uuid": policy["uuid"], "attr": attribute}]
    await api.update("virtual_network", network["uuid"], network_policy_refs=references)
    await api.delete("network_policy", policy["uuid"])


async def test_a_relaxed_reference_that_is_taken_away_leaves_nothing_in_the_index(api: Api, store: MemoryStore) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    await api.server.relax_reference(network["uuid"], policy["uuid"])
    await api.update("virtual_network", network["uuid"], network_policy_refs=[])
    keys = [item.key for item in (await store.range("/intentc/", "/intentc0")).items]
    assert not [key for key in keys if f"/holds/{policy['uuid']}/" in key or f"/links/{policy['uuid']}/" in key]


async def test_only_what_refers_can_be_relaxed(api: Api) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n")
    with rejected(404, "does not refer"):
        await api.server.relax_reference(network["uuid"], policy["uuid"])


async def test_index_entries_without_a_holder_block_nobody(api: Api, store: MemoryStore) -> None:
    """Keys may be deleted in etcd behind the server's back."""
    project = await api.create("project", fq_name=["default-domain", "p"])
    policy = await api.create("network_policy", fq_name=["default-domain", "p", "x"])
    await store.transaction((), [Delete(f"/contrail/network_policy/{policy['uuid']}")])
    again = await api.create("network_policy", fq_name=["default-domain", "p", "x"])
    await store.transaction((), [Delete(f"/contrail/network_policy/{again['uuid']}")])
    await api.delete("project", project["uuid"])


async def test_a_malformed_value_is_hidden_in_lists_named_in_errors_and_can_be_deleted(
    api: Api, store: MemoryStore
) -> None:
    made = await api.create("network_policy", "p")
    key = f"/contrail/network_policy/{made['uuid']}"
    for value in (b"{", b"[]", b'{"fq_name": []}', b"\xff", b'{"fq_name": ["a"], "network_policy_entries": 7}'):
        await store.transaction((), [Put(key, value)])
        assert await api.server.find("network_policy", Query()) == []
        with rejected(422, key):
            await api.get("network_policy", made["uuid"])
        with rejected(422, key):
            await api.update("network_policy", made["uuid"], display_name="x")
    await api.delete("network_policy", made["uuid"])
    with rejected(404):
        await api.get("network_policy", made["uuid"])
    await api.create("network_policy", "p")


async def test_a_malformed_value_that_no_server_wrote_can_be_deleted(api: Api, store: MemoryStore) -> None:
    await store.transaction((), [Put("/contrail/network_policy/stray", b"{")])
    await api.server.delete(Key("network_policy", "stray"))
    assert not (await store.range("/contrail/network_policy/stray")).items


async def test_deleting_a_copy_in_etcd_leaves_the_name_to_the_original(api: Api, store: MemoryStore) -> None:
    made = await api.create("network_policy", "p")
    copy = "5b0f0000-0000-4000-8000-0000000000aa"
    value = (await store.range(f"/contrail/network_policy/{made['uuid']}")).items[0].value
    copied = value.replace(made["uuid"].encode(), copy.encode())
    await store.transaction((), [Put(f"/contrail/network_policy/{copy}", copied)])
    await api.delete("network_policy", copy)
    assert await api.server.identify("network_policy", [*PROJECT, "p"]) == made["uuid"]


NO_UUID = "/contrail/network_policy/not-a-uuid"
NO_TEXT = "/contrail/network_policy/\udcff/\udcfe"


async def test_unreadable_values_are_listed_apart_and_deleted_by_their_listed_uuid(
    api: Api, store: MemoryStore
) -> None:
    made = await api.create("network_policy", "p")
    broken = f"/contrail/network_policy/{made['uuid']}"
    await store.transaction((), [Put(broken, b"{"), Put(NO_TEXT, b'{"fq_name": ["a"]}'), Put(NO_UUID, b"[")])
    found = {one["uuid"]: one for one in await api.server.unreadable("network_policy")}
    assert set(found) == {made["uuid"], "not-a-uuid", "%FF%2F%FE"}
    assert found[made["uuid"]]["fq_name"] == made["fq_name"]
    assert "/contrail/network_policy/\\xff/\\xfe" in found["%FF%2F%FE"]["message"]
    for uuid in found:
        await api.delete("network_policy", uuid)
    assert await api.server.unreadable("network_policy") == []
    assert not (await store.range(NO_TEXT)).items


async def test_a_key_that_is_no_uuid_is_listed_with_its_resource(api: Api, store: MemoryStore) -> None:
    await store.transaction((), [Put(NO_UUID, b'{"fq_name": ["a"]}')])
    assert [one["uuid"] for one in await api.server.find("network_policy", Query())] == ["not-a-uuid"]


async def test_a_whole_resource_replaces_a_value_that_cant_be_read(api: Api, store: MemoryStore) -> None:
    """Its name, its number and its companion are those that it had; a part of it replaces nothing."""
    made = await api.create("virtual_network", "n")
    key = f"/contrail/virtual_network/{made['uuid']}"
    instance = await api.server.identify("routing_instance", [*made["fq_name"], "n"])
    await store.transaction((), [Put(key, b"{")])
    with rejected(422, "send the whole resource"):
        await api.update("virtual_network", made["uuid"], display_name="only a part")
    await api.update("virtual_network", made["uuid"], fq_name=made["fq_name"], display_name="whole")
    now = await api.get("virtual_network", made["uuid"])
    assert now["display_name"] == "whole"
    assert now["virtual_network_network_id"] == made["virtual_network_network_id"]
    assert await api.server.identify("virtual_network", made["fq_name"]) == made["uuid"]
    assert await api.server.identify("routing_instance", [*made["fq_name"], "n"]) == instance
    await api.delete("virtual_network", made["uuid"])


async def test_replacing_an_unreadable_resource_by_another_name_frees_the_former_name(
    api: Api, store: MemoryStore
) -> None:
    made = await api.create("network_policy", "p")
    await store.transaction((), [Put(f"/contrail/network_policy/{made['uuid']}", b"{")])
    await api.update("network_policy", made["uuid"], fq_name=[*PROJECT, "q"])
    assert await api.server.identify("network_policy", [*PROJECT, "q"]) == made["uuid"]
    await api.create("network_policy", "p")
