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


async def test_the_lists_of_the_default_group_hold_its_rules(write: Any, load: Any) -> None:
    """Its own number stands as source, the subnets as destinations (docs/contrail.md ★2)."""
    await contrail_service(write_service=write, cached=[load("project.yml")]).create(load("security-group.yml"))
    made = {operation.fq_name[-1]: operation for operation in operations(write.create)}
    own = {"security_group": "8000002"}
    assert rules(made["ingress-access-control-list"]) == [
        {"rule_uuid": "bdf042c0-d2c2-4241-ba15-1c702c896e03", "ethertype": "IPv4", "src": own, "dst": {}},
        {"rule_uuid": "1f77914a-0863-4f0d-888a-aee6a1988f6a", "ethertype": "IPv6", "src": own, "dst": {}},
    ]
    all_v6 = {"subnet": {"ip_prefix": "::", "ip_prefix_len": 0}}
    egress = made["egress-access-control-list"]
    assert [(rule["src"], normal(rule["dst"])) for rule in rules(egress)] == [
        ({}, normal(ALL_V4)),
        ({}, normal(all_v6)),
    ]
    assert {operation.parent.key.uuid for operation in made.values()} == {"3dfbd820-e4fc-414f-b1d9-d720ebe93cd8"}


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
async def test_of_a_deleted_group_the_list_that_cannot_be_deleted_is_reported_and_the_other_goes(
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


async def test_a_primary_routing_instance_gets_a_route_target_of_its_own(write: Any, load: Any) -> None:
    """One number, one target, one reference (docs/contrail.md ★3)."""
    write.allocate.return_value = 8000100
    await contrail_service(write_service=write).create(load("routing-instance.yml"))
    (target,) = operations(write.create)
    assert (target.kind, target.fq_name) == ("route_target", ("target:64512:8000100",))
    (update,) = operations(write.update)
    assert update.key.uuid == "a8edf702-7dd6-4cbc-b599-a7f8ace1d22b"
    assert [entry.fq_name for entry in update.references["route_target"]] == [("target:64512:8000100",)]
    assert [normal(thaw(entry.attribute)) for entry in update.references["route_target"]] in ([{}], [None])
    write.allocate.assert_awaited_once()


@pytest.mark.parametrize("name", ["ip-fabric:__default__", "__link_local__:__link_local__"])
async def test_the_routing_instances_of_the_fabric_get_none(write: Any, load: Any, name: str) -> None:
    """No number is asked for, and nothing is written (docs/contrail.md ★3)."""
    fq_name = ["default-domain", "default-project", *name.split(":")]
    await contrail_service(write_service=write).create(load("routing-instance.yml").changed(fq_name=fq_name))
    assert write.mock_calls == []


async def test_a_router_gets_a_route_target_of_its_own(write: Any, load: Any) -> None:
    """The target is created, then the router refers to it (docs/contrail.md ★4)."""
    write.allocate.return_value = 8000100
    await contrail_service(write_service=write, cached=[load("project.yml")]).create(load("logical-router.yml"))
    assert [operation.name for operation in operations(write.create)] == [("route_target", ("target:64512:8000100",))]
    (reference,) = operations(write.add_ref)
    assert (reference.name.kind, reference.relation) == ("logical_router", "route_target")
    assert reference.target.fq_name == ("target:64512:8000100",)


GIVEN_TARGET = {"kind": "route_target", "data": {"fq_name": ["target:64512:3"]}}
GIVEN_REFERENCE = {"route_target_refs": [{"to": ["target:64512:3"]}]}


async def test_a_router_with_a_given_route_target_gets_no_other(write: Any, load: Any) -> None:
    """A user has made the router refer to it (docs/contrail.md ★4)."""
    service = contrail_service(write_service=write, cached=[load("project.yml"), GIVEN_TARGET])
    await service.create(load("logical-router.yml").changed(**GIVEN_REFERENCE))
    assert write.mock_calls == []


def joining(load: Any, **fields: Any) -> Any:
    interface = {"to": ["default-domain", "project-blue", "test-vmi"]}
    return load("logical-router.yml").changed(virtual_machine_interface_refs=[interface], **fields)


async def test_a_router_joins_the_primary_routing_instance_of_its_network(write: Any, load: Any) -> None:
    """docs/contrail.md ★4: the instance keeps its own target, and gets the router's."""
    write.allocate.return_value = 8000101
    service = contrail_service(write_service=write, cached=[load("project.yml"), load("joined-network.yml")])
    await service.create(joining(load))
    assert [operation.fq_name for operation in operations(write.create)] == [("target:64512:8000101",)]
    assert [operation.name.kind for operation in operations(write.add_ref)] == ["logical_router"]
    (update,) = operations(write.update)
    assert update.name.fq_name[-1] == "test-vn"
    assert ("target:64512:8000101",) in [entry.fq_name for entry in update.references["route_target"]]
    assert len(update.references["route_target"]) == 2


async def test_a_given_route_target_is_what_joins_the_networks(write: Any, load: Any) -> None:
    """The instance of the network refers to the user's target (docs/contrail.md ★4)."""
    cached = [load("project.yml"), load("joined-network.yml"), GIVEN_TARGET]
    service = contrail_service(write_service=write, cached=cached)
    await service.create(joining(load, **GIVEN_REFERENCE))
    write.allocate.assert_not_awaited()
    (update,) = operations(write.update)
    assert ("target:64512:3",) in [entry.fq_name for entry in update.references["route_target"]]


async def test_under_vxlan_routing_no_network_is_joined(write: Any, load: Any) -> None:
    """Only the router refers to its target (docs/contrail.md ★4)."""
    write.allocate.return_value = 8000101
    cached = [load("project.yml").changed(vxlan_routing=True), load("joined-network.yml")]
    await contrail_service(write_service=write, cached=cached).create(joining(load))
    assert [operation.name.kind for operation in operations(write.add_ref)] == ["logical_router"]
    write.update.assert_not_awaited()
