"""Lists with every parameter of docs/contrail.md B.1."""

from __future__ import annotations

import pytest

from intentc.apiserver.queries import Query

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


async def names(api: Api, kind: str, query: Query) -> list[str]:
    return sorted(":".join(found["fq_name"][1:]) for found in await api.server.find(kind, query))


@pytest.fixture
async def policies(api: Api) -> Api:
    """Policies a, b, c in the default project and d in another; a network that refers to a and b."""
    await api.create("project", fq_name=["default-domain", "other"])
    for name in "abc":
        await api.create("network_policy", name, display_name=f"policy {name}")
    await api.create("network_policy", fq_name=["default-domain", "other", "d"])
    references = [{"to": [*PROJECT, name]} for name in "ab"]
    await api.create("virtual_network", "n", network_policy_refs=references, is_shared=True)
    return api


async def test_all_of_a_kind_by_uuid(policies: Api) -> None:
    found = await policies.server.find("network_policy", Query())
    assert len(found) == 4
    assert [one["uuid"] for one in found] == sorted(one["uuid"] for one in found)


async def test_filters_of_one_field_are_alternatives_and_fields_all_hold(policies: Api) -> None:
    filters = [("display_name", "policy a"), ("display_name", "policy b"), ("name", "b")]
    assert await names(policies, "network_policy", Query(filters=filters[:2])) == [
        "default-project:a",
        "default-project:b",
    ]
    assert await names(policies, "network_policy", Query(filters=filters)) == ["default-project:b"]


@pytest.mark.parametrize("text", ["true", "false"])
async def test_a_filter_on_a_boolean(policies: Api, text: str) -> None:
    shared = "default-project:n" in await names(policies, "virtual_network", Query(filters=[("is_shared", text)]))
    assert shared is (text == "true")


async def test_a_filter_may_be_json(policies: Api) -> None:
    assert await names(policies, "network_policy", Query(filters=[("name", '"c"')])) == ["default-project:c"]


async def test_children_of_parents_by_uuid_and_by_name(policies: Api) -> None:
    other = await policies.server.identify("project", ["default-domain", "other"])
    assert await names(policies, "network_policy", Query(parent_ids=[other])) == ["other:d"]
    by_name = Query(parent_fq_names=["default-domain:other"], parent_type="project")
    assert await names(policies, "network_policy", by_name) == ["other:d"]
    assert await names(policies, "network_policy", Query(parent_fq_names=["default-domain:nowhere"])) == []
    assert len(await names(policies, "network_policy", Query(parent_type="project"))) == 4
    with rejected(400, "parent_type"):
        await names(policies, "network_policy", Query(parent_type="nonsense"))


async def test_holders_of_a_target(policies: Api) -> None:
    target = await policies.server.identify("network_policy", [*PROJECT, "a"])
    assert await names(policies, "virtual_network", Query(back_ref_ids=[target])) == ["default-project:n"]
    unused = await policies.server.identify("network_policy", [*PROJECT, "c"])
    assert await names(policies, "virtual_network", Query(back_ref_ids=[unused])) == []


async def test_by_uuids_and_several_conditions_together(policies: Api) -> None:
    wanted = [await policies.server.identify("network_policy", [*PROJECT, name]) for name in "ac"]
    assert len(await names(policies, "network_policy", Query(uuids=[*wanted, "unknown"]))) == 2
    other = await policies.server.identify("project", ["default-domain", "other"])
    assert await names(policies, "network_policy", Query(uuids=wanted, parent_ids=[other])) == []


async def test_fields_choose_what_is_shown(policies: Api) -> None:
    found = await policies.server.find("network_policy", Query(fields=["display_name", "virtual_network_back_refs"]))
    by_name = {one["name"]: one for one in found}
    assert set(by_name["c"]) == {"uuid", "fq_name", "name", "parent_type", "parent_uuid", "display_name"}
    assert by_name["a"]["virtual_network_back_refs"][0]["to"] == [*PROJECT, "n"]


async def test_pages_follow_each_other(policies: Api) -> None:
    whole = [one["uuid"] for one in await policies.server.find("network_policy", Query())]
    paged: list[str] = []
    marker = ""
    while page := await policies.server.find("network_policy", Query(limit=3, marker=marker)):
        paged += [one["uuid"] for one in page]
        marker = paged[-1]
    assert paged == whole
