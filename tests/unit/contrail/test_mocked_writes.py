"""The intents through the whole engine to a mocked ``WriteService`` (docs/contrail.md E.1; E.3 ★2, ★3, ★4)."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_mock import MockerFixture

from intentc.model.values import thaw
from intentc.testing import Create, Rejected, Update, WriteService
from tests.oracle.contrail import normal
from tests.unit.contrail.service import contrail_service

pytestmark = pytest.mark.anyio

LISTS = ["ingress-access-control-list", "egress-access-control-list"]
ALL_V4 = {"subnet": {"ip_prefix": "0.0.0.0", "ip_prefix_len": 0}}
RULE = {
    "rule_uuid": "b7c07625-e03e-43b9-a9fc-d11a6c863cc6",
    "direction": ">",
    "ethertype": "IPv4",
    "protocol": "any",
    "src_addresses": [{"security_group": "local"}],
    "dst_addresses": [ALL_V4],
    "src_ports": [{"start_port": 0, "end_port": 65535}],
    "dst_ports": [{"start_port": 0, "end_port": 65535}],
}
"""Whatever goes out of the machine."""


@pytest.fixture
def write(mocker: MockerFixture) -> Any:
    return mocker.AsyncMock(spec=WriteService)


def operations(method: Any) -> list[Any]:
    """What one method of the mock was called with, in order."""
    return [call.args[0] for call in method.await_args_list]


def rules(operation: Create | Update) -> list[dict[str, Any]]:
    """The rules that a write gives a list: (rule_uuid, ethertype, source, destination) of each."""
    entries = normal(thaw(operation.properties["access_control_list_entries"])).get("acl_rule", [])
    return [
        {
            "rule_uuid": rule["rule_uuid"],
            "ethertype": rule["match_condition"]["ethertype"],
            "src": rule["match_condition"].get("src_address", {}),
            "dst": rule["match_condition"].get("dst_address", {}),
        }
        for rule in entries
    ]


async def test_security_group_gets_its_acls(mocker: MockerFixture, load: Any) -> None:
    """docs/authoring.md, to the letter."""
    write = mocker.AsyncMock(spec=WriteService)
    service = contrail_service(write_service=write, cached=[load("project.yml")])  # the whole engine, over memory
    await service.create(load("security-group.yml"))  # returns when it is quiet
    assert [c.args[0].fq_name[-1] for c in write.create.await_args_list] == [
        "ingress-access-control-list",
        "egress-access-control-list",
    ]


async def test_an_updated_group_gets_its_lists_updated_and_none_made(write: Any, load: Any) -> None:
    """TestSecurityGroupUpdate"""
    ingress = RULE | {"src_addresses": [ALL_V4], "dst_addresses": [{"security_group": "local"}]}
    group = load("security-group.yml")
    before = group.changed(security_group_entries={"policy_rule": [ingress]})
    service = contrail_service(write_service=write, cached=[load("project.yml"), before])
    await service.update(group.changed(security_group_entries={"policy_rule": [RULE]}))
    updates = {operation.name.fq_name[-1]: operation for operation in operations(write.update)}
    assert sorted(updates) == sorted(LISTS)
    assert rules(updates["ingress-access-control-list"]) == []
    assert [normal(rule["dst"]) for rule in rules(updates["egress-access-control-list"])] == [normal(ALL_V4)]
    assert {tuple(operation.properties) for operation in updates.values()} == {("access_control_list_entries",)}
    assert (write.create.await_count, write.delete.await_count) == (0, 0)


async def test_a_deleted_group_takes_both_lists_with_it(write: Any, load: Any) -> None:
    """TestSecurityGroupDelete"""
    group = load("security-group.yml")
    service = contrail_service(write_service=write, cached=[load("project.yml"), group])
    await service.delete(group)
    assert sorted(operation.name.fq_name[-1] for operation in operations(write.delete)) == sorted(LISTS)
    assert write.create.await_count == 0


@pytest.mark.parametrize("failing", [LISTS[:1], LISTS[1:], LISTS], ids=["ingress", "egress", "both"])
async def test_a_list_that_cannot_be_deleted_is_reported_and_the_other_goes(
    write: Any, load: Any, failing: list[str]
) -> None:
    """TestSecurityGroupDelete"""

    async def delete(operation: Any, fence: str | None) -> None:
        if operation.name.fq_name[-1] in failing:
            raise Rejected(403, "not today")

    write.delete.side_effect = delete
    group = load("security-group.yml")
    service = contrail_service(write_service=write, cached=[load("project.yml"), group])
    await service.delete(group)
    assert {operation.name.fq_name[-1] for operation in operations(write.delete)} == set(LISTS)
    rejected = {problem.name.rpartition(":")[2] for problem in service.problems if problem.reason == "Rejected"}
    assert rejected == set(failing)


async def test_a_router_gets_a_route_target_of_its_own(write: Any, load: Any) -> None:
    """The target is created, then the router refers to it (docs/contrail.md ★4)."""
    await contrail_service(write_service=write, cached=[load("project.yml")]).create(load("logical-router.yml"))
    assert [operation.name for operation in operations(write.create)] == [("route_target", ("target:64512:8000102",))]
    (reference,) = operations(write.add_ref)
    assert (reference.name.kind, reference.relation) == ("logical_router", "route_target")
    assert reference.target.fq_name == ("target:64512:8000102",)
