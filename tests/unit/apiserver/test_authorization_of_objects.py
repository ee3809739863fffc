"""What a share, a parent, a target, a rule and an owner allow, over HTTP in this process with ``rbac``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.authorization import Caller, Mode, Policy
from intentc.apiserver.documents import encode
from intentc.apiserver.startup import write_seeds
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .tenants import DEMO, OTHER, World, access_list, opened_world, perm

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str) -> AsyncIterator[World]:
    async with opened_world() as opened:
        yield opened


async def test_a_share_lets_another_project_do_what_it_says_and_no_more(world: World) -> None:
    thing = await world.thing()
    path = f"/network-policy/{thing.policy}"
    owner_refers = {"network-policy": {"display_name": "x"}}
    for access, reads, writes in ((4, 200, 403), (6, 200, 200), (1, 403, 403)):
        share = {"network-policy": {"perms2": {"share": [{"tenant": "tenant:other", "tenant_access": access}]}}}
        assert (await world.call(Mode.RBAC, "member", "PUT", path, share)).status_code == 200
        assert (await world.call(Mode.RBAC, "stranger", "GET", path)).status_code == reads
        assert (await world.call(Mode.RBAC, "stranger", "PUT", path, owner_refers)).status_code == writes


@pytest.mark.parametrize(("access", "status"), [(0, 403), (1, 200), (6, 403)])
async def test_a_new_reference_asks_its_target(world: World, access: int, status: int) -> None:
    thing = await world.thing()
    shared = {"network-policy": {"perms2": {"share": [{"tenant": "other", "tenant_access": access}]}}}
    assert (await world.call(Mode.RBAC, "member", "PUT", f"/network-policy/{thing.policy}", shared)).status_code == 200
    refs = [{"uuid": thing.policy, "attr": {"sequence": {"major": 0, "minor": 0}}}]
    own = await world.made("virtual-network", {"fq_name": [*OTHER, world.name()]}, "stranger")
    body = {"fq_name": [*OTHER, world.name()], "network_policy_refs": refs}
    calls: list[tuple[str, str, Any]] = [
        ("POST", "/virtual-networks", {"virtual-network": body}),
        ("PUT", f"/virtual-network/{own['uuid']}", {"virtual-network": {"network_policy_refs": refs}}),
        ("POST", "/sync", {"resources": [{"kind": "virtual_network", "data": {**body, "fq_name": [*OTHER, "s"]}}]}),
    ]
    for method, path, content in calls:
        answer = await world.call(Mode.RBAC, "stranger", method, path, content)
        assert answer.status_code == status, answer.text
    linked = {"operation": "ADD", "type": "virtual-network", "uuid": own["uuid"], "ref-type": "network-policy",
              "ref-uuid": thing.policy, "attr": refs[0]["attr"]}  # fmt: skip
    await world.call(Mode.RBAC, "compiler", "PUT", calls[1][1], {"virtual-network": {"network_policy_refs": []}})
    assert (await world.call(Mode.RBAC, "stranger", "POST", "/ref-update", linked)).status_code == status
    if status == 200:
        await world.call(Mode.RBAC, "compiler", "DELETE", f"/virtual-network/{await _uuid(world, [*OTHER, 's'])}")


async def test_an_unauthorized_caller_learns_nothing_about_faults_of_its_change(world: World) -> None:
    thing = await world.thing()
    absent = {"operation": "ADD", "type": "virtual-network", "uuid": thing.network, "ref-type": "network-policy",
              "ref-fq-name": [*DEMO, "no such policy"]}  # fmt: skip
    assert (await world.call(Mode.RBAC, "stranger", "POST", "/ref-update", absent)).status_code == 403
    element = {"field": "annotations", "operation": "set", "value": {"key": "a"}, "position": "b"}
    update = {"uuid": thing.network, "updates": [element]}
    assert (await world.call(Mode.RBAC, "stranger", "POST", "/prop-collection-update", update)).status_code == 403


async def _uuid(world: World, fq_name: list[str]) -> str:
    body = {"type": "virtual-network", "fq_name": fq_name}
    found: str = (await world.call(Mode.RBAC, "compiler", "POST", "/fqname-to-id", body)).json()["uuid"]
    return found


async def test_a_reference_that_stands_is_not_asked_for_again(world: World) -> None:
    """A network's owner writes it although the policy that it refers to is no more shared."""
    thing = await world.thing()
    closed = {"network-policy": {"perms2": {"owner": "other"}}}
    assert (await world.call(Mode.RBAC, "admin", "PUT", f"/network-policy/{thing.policy}", closed)).status_code == 200
    whole = (await world.call(Mode.RBAC, "member", "GET", f"/virtual-network/{thing.network}")).json()
    changed = {"virtual-network": {**whole["virtual-network"], "display_name": "x"}}
    answer = await world.call(Mode.RBAC, "member", "PUT", f"/virtual-network/{thing.network}", changed)
    assert answer.status_code == 200, answer.text


async def test_a_whole_resource_is_written_back_by_whoever_may_write_it(world: World) -> None:
    """Fields of compilers, and perms2, count where they change."""
    thing = await world.thing()
    output = {"access-control-list": {"access_control_list_hash": 5}}
    path = f"/access-control-list/{thing.acl}"
    assert (await world.call(Mode.RBAC, "compiler", "PUT", path, output)).status_code == 200
    whole = (await world.call(Mode.RBAC, "member", "GET", path)).json()
    whole["access-control-list"]["display_name"] = "mine"
    assert (await world.call(Mode.RBAC, "member", "PUT", path, whole)).status_code == 200
    whole["access-control-list"]["access_control_list_hash"] = 6
    answer = await world.call(Mode.RBAC, "member", "PUT", path, whole)
    assert answer.status_code == 403
    assert "access-control-list.access_control_list_hash is written by the compiler alone" in answer.text


async def test_ownership_is_given_by_administrators_and_shares_by_owners(world: World) -> None:
    thing = await world.thing()
    path = f"/network-policy/{thing.policy}"
    for who, perms, status in (
        ("member", {"owner": "other"}, 403),
        ("member", {"owner": ""}, 403),
        ("member", {"owner": "demo"}, 200),
        ("member", {"global_access": 6}, 200),
        ("stranger", {"global_access": 7}, 403),
        ("stranger", {"owner": "other"}, 403),
        ("admin", {"owner": "other", "global_access": 0}, 200),
    ):
        answer = await world.call(Mode.RBAC, who, "PUT", path, {"network-policy": {"perms2": perms}})
        assert answer.status_code == status, (who, perms, answer.text)
    foreign = {"network-policy": {"fq_name": [*DEMO, world.name()], "perms2": {"owner": "other"}}}
    assert (await world.call(Mode.RBAC, "member", "POST", "/network-policys", foreign)).status_code == 403


async def test_a_new_resource_asks_its_parent(world: World) -> None:
    body = {"network-policy": {"fq_name": [*DEMO, world.name()]}}
    answer = await world.call(Mode.RBAC, "stranger", "POST", "/network-policys", body)
    assert answer.status_code == 403
    assert "does not let the project other write it" in answer.text


async def test_children_and_back_references_that_one_may_not_read_are_not_shown(world: World) -> None:
    thing = await world.thing()
    path = f"/network-policy/{thing.policy}"
    shared = {"network-policy": {"perms2": {"global_access": 4}}}
    assert (await world.call(Mode.RBAC, "member", "PUT", path, shared)).status_code == 200
    for who, shown in (("member", True), ("reader", True), ("stranger", False)):
        one = (await world.call(Mode.RBAC, who, "GET", path)).json()["network-policy"]
        query = f"obj_uuids={thing.policy}&fields=virtual_network_back_refs"
        listed = await world.call(Mode.RBAC, who, "GET", f"/network-policys?{query}")
        assert ("virtual_network_back_refs" in one) is shown
        assert ("virtual_network_back_refs" in listed.json()["network-policys"][0]) is shown


async def test_rules_of_a_project_concern_its_own_users_alone(world: World) -> None:
    rule = {"rule_object": "route-table", "rule_perms": [perm("Member:CR")]}
    listed = await world.made("api-access-list", access_list([*DEMO, "a"], [rule]))
    for who, status in (("member", 200), ("stranger", 403)):
        answer = await world.call(Mode.RBAC, who, "GET", "/route-tables")
        assert answer.status_code == status, answer.text
    path = f"/api-access-list/{listed['uuid']}"
    assert (await world.call(Mode.RBAC, "admin", "DELETE", path)).status_code == 200
    answer = await world.call(Mode.RBAC, "member", "GET", "/route-tables")
    assert answer.status_code == 403
    assert "no rule of an access list lets the roles Member read route-table" in answer.text


async def test_a_field_has_rules_of_its_own(world: World) -> None:
    rules = [{"rule_object": "security-group", "rule_field": "annotations", "rule_perms": [perm("Boss:CRUD")]}]
    listed = await world.made("api-access-list", access_list([*DEMO, "b"], rules))
    group = await world.made("security-group", {"fq_name": [*DEMO, world.name()]}, "member")
    path = f"/security-group/{group['uuid']}"
    pairs = {"key_value_pair": [{"key": "a", "value": "b"}]}
    for body, mask, status in (
        ({"display_name": "x"}, None, 200),
        ({"annotations": pairs}, None, 403),
        ({"annotations": pairs}, {"paths": ["annotations.key_value_pair"]}, 403),
    ):
        content = {"security-group": body, **({"field_mask": mask} if mask else {})}
        assert (await world.call(Mode.RBAC, "member", "PUT", path, content)).status_code == status
    element = {"field": "annotations", "operation": "set", "value": pairs["key_value_pair"][0]}
    update = {"uuid": group["uuid"], "updates": [element]}
    assert (await world.call(Mode.RBAC, "member", "POST", "/prop-collection-update", update)).status_code == 403
    await world.call(Mode.RBAC, "admin", "DELETE", f"/api-access-list/{listed['uuid']}")


async def test_a_rejected_element_of_sync_is_named(world: World) -> None:
    items = [{"kind": "network_policy", "data": {"fq_name": [*project, world.name()]}} for project in (DEMO, OTHER)]
    answer = await world.call(Mode.RBAC, "member", "POST", "/sync", {"resources": items})
    assert (answer.status_code, answer.json()["item"]) == (403, 1)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"rule_perms": []}, "rule_object is missing"),
        ({"rule_object": "*", "rule_perms": [{"role_crud": "R"}]}, "role_name is missing"),
        ({"rule_object": "*", "rule_perms": [{"role_name": "Member", "role_crud": "RX"}]}, "give letters of CRUD"),
        ({"rule_object": "*", "rule_perms": [{"role_name": "Member"}]}, "give letters of CRUD"),
    ],
)
async def test_a_rule_that_grants_nothing_is_rejected(world: World, rule: dict[str, Any], words: str) -> None:
    body = {"api-access-list": access_list([*DEMO, world.name()], [rule])}
    answer = await world.call(Mode.RBAC, "admin", "POST", "/api-access-lists", body)
    assert answer.status_code == 400
    assert words in answer.text


@pytest.mark.parametrize("perms2", [{"owner_access": 8}, {"global_access": "7"}, {"share": [{"tenant_access": 1}]}])
async def test_perms2_has_its_shape(world: World, perms2: dict[str, Any]) -> None:
    body = {"network-policy": {"fq_name": [*DEMO, world.name()], "perms2": perms2}}
    answer = await world.call(Mode.RBAC, "admin", "POST", "/network-policys", body)
    assert answer.status_code == 400
    assert "perms2" in answer.text


async def test_a_compilers_entries_of_a_shared_list_are_its_own(world: World) -> None:
    """A router's targets: its owner keeps own ones, and changes none that the compiler has put there."""
    marked = {"annotations": {"key_value_pair": [{"key": "intentc", "value": "default/contrail/shared"}]}}
    (own, foreign), perms = ["target:64512:500", "target:64512:501"], {"perms2": {"global_access": 7}}
    uuids = {
        name: (await world.made("route-target", {"fq_name": [name], **perms, **more}))["uuid"]
        for name, more in ((own, {}), (foreign, marked))
    }
    body = {"fq_name": [*DEMO, world.name()], "perms2": {"owner": "demo"}}
    refs = [{"uuid": uuid} for uuid in uuids.values()]
    router = await world.made("logical-router", {**body, "route_target_refs": refs})
    rule = {"rule_object": "logical-router", "rule_perms": [perm("Member:CRUD")]}
    listed = await world.made("api-access-list", access_list([*DEMO, "c"], [rule]))
    path = f"/logical-router/{router['uuid']}"
    for targets, status in (([own], 403), ([own, foreign], 200), ([foreign], 200), ([], 403)):
        for who in ("member", "admin"):
            changed = {"logical-router": {"route_target_refs": [{"uuid": uuids[name]} for name in targets]}}
            answer = await world.call(Mode.RBAC, who, "PUT", path, changed)
            assert answer.status_code == status, (who, targets, answer.text)
    for call, where, content in (
        ("POST", "/ref-update", {"operation": "DELETE", "type": "logical-router", "uuid": router["uuid"],
                                 "ref-type": "route-target", "ref-uuid": uuids[foreign]}),
        ("POST", "/sync", {"resources": [{"kind": "logical_router", "operation": "UPDATE",
                                          "data": {"uuid": router["uuid"], "route_target_refs": []}}]}),
    ):  # fmt: skip
        answer = await world.call(Mode.RBAC, "member", call, where, content)
        assert (answer.status_code, "is the compiler's alone" in answer.text) == (403, True), answer.text
    await world.call(Mode.RBAC, "admin", "DELETE", f"/api-access-list/{listed['uuid']}")


@pytest.mark.parametrize("mode", Mode)
async def test_a_server_with_another_role_for_administrators_writes_its_seeds(mode: Mode) -> None:
    store = MemoryStore(max_txn_ops=128)
    server = ApiServer(store, load_schema("contrail"), policy=Policy(mode, "boss"))
    await write_seeds(server)
    await write_seeds(server)
    assert await server.identify("project", ["default-domain", "default-project"], caller=Caller(privileged=True))
    await store.close()


async def test_a_hand_written_reference_without_a_uuid_hinders_nobody_who_may_write(world: World) -> None:
    thing = await world.thing()
    raw = {"uuid": thing.network, "fq_name": [*DEMO, "by-hand"], "perms2": {"owner": "demo", "owner_access": 7},
           "network_policy_refs": [{"to": ["x"]}]}  # fmt: skip
    await world.store.transaction((), [Put(f"/contrail/virtual_network/{thing.network}", encode(raw))])
    path = f"/virtual-network/{thing.network}"
    answer = await world.call(Mode.RBAC, "member", "PUT", path, {"virtual-network": {"display_name": "x"}})
    assert answer.status_code == 200, answer.text


async def test_a_list_that_can_not_be_read_stops_everybody_it_may_restrict(world: World) -> None:
    thing = await world.thing()
    uuid = "00000000-0000-4000-8000-000000000001"
    key = f"/contrail/api_access_list/{uuid}"
    await world.store.transaction((), [Put(key, b'{"api_access_list_entries": 7')])
    for who, status in (("member", 403), ("reader", 200), ("admin", 200)):
        answer = await world.call(Mode.RBAC, who, "GET", f"/network-policy/{thing.policy}")
        assert answer.status_code == status, (who, answer.text)
        assert (key in answer.text) is (who == "member")
    assert (await world.call(Mode.RBAC, "admin", "DELETE", f"/api-access-list/{uuid}")).status_code == 200
    assert (await world.call(Mode.RBAC, "member", "GET", f"/network-policy/{thing.policy}")).status_code == 200


async def test_what_comes_along_with_a_resource_has_its_owner(world: World) -> None:
    """Whoever made it: a network that an administrator makes for a project, with its routing instance."""
    thing = await world.thing()
    network = (await world.call(Mode.RBAC, "member", "GET", f"/virtual-network/{thing.network}")).json()
    (instance,) = network["virtual-network"]["routing_instances"]
    for who, status in (("member", 200), ("stranger", 403)):
        answer = await world.call(Mode.RBAC, who, "GET", f"/routing-instance/{instance['uuid']}")
        assert answer.status_code == status, answer.text


async def test_every_project_refers_to_the_default_ipam_and_changes_it_not(world: World) -> None:
    ipam = ["default-domain", "default-project", "default-network-ipam"]
    body = {"fq_name": [*DEMO, world.name()], "network_ipam_refs": [{"to": ipam, "attr": {"ipam_subnets": []}}]}
    made = await world.made("virtual-network", body, "member")
    (reference,) = made["network_ipam_refs"]
    change = {"network-ipam": {"display_name": "mine"}}
    answer = await world.call(Mode.RBAC, "member", "PUT", f"/network-ipam/{reference['uuid']}", change)
    assert answer.status_code == 403


@pytest.mark.parametrize(("access", "status"), [(0, 403), (1, 200)])
async def test_a_service_asks_its_networks(world: World, access: int, status: int) -> None:
    """docs/contrail.md D.8.6, D.8.10"""
    name = world.name()
    network = await world.made("virtual-network", {"fq_name": [*DEMO, name]}, "member")
    shared = {"virtual-network": {"perms2": {"share": [{"tenant": "other", "tenant_access": access}]}}}
    assert (
        await world.call(Mode.RBAC, "member", "PUT", f"/virtual-network/{network['uuid']}", shared)
    ).status_code == 200
    interfaces = [{"virtual_network": ":".join(network["fq_name"])}, {"virtual_network": ":".join([*OTHER, "later"])}]
    own = {"service_instance_properties": {"interface_list": interfaces}}
    body = {"fq_name": [*OTHER, name], "parent_type": "project"}
    answer = await world.call(
        Mode.RBAC, "stranger", "POST", "/service-instances", {"service-instance": {**body, **own}}
    )
    assert answer.status_code == status, answer.text
    service = await world.made("service-instance", {**body, "fq_name": [*OTHER, f"{name}-2"]}, "stranger")
    path = f"/service-instance/{service['uuid']}"
    assert (await world.call(Mode.RBAC, "stranger", "PUT", path, {"service-instance": own})).status_code == status


async def test_a_service_names_no_network_that_may_be_somebody_elses_tomorrow(world: World) -> None:
    interfaces = [{"virtual_network": ":".join([*DEMO, "not-there-yet"])}]
    own = {"service_instance_properties": {"auto_policy": True, "interface_list": interfaces}}
    body = {"service-instance": {"fq_name": [*OTHER, world.name()], "parent_type": "project", **own}}
    answer = await world.call(Mode.RBAC, "stranger", "POST", "/service-instances", body)
    assert answer.status_code == 403 and "not-there-yet" in answer.text


@pytest.mark.parametrize(("access", "status"), [(0, 403), (1, 200)])
async def test_what_names_a_service_asks_it(world: World, access: int, status: int) -> None:
    """docs/contrail.md D.8.1, D.8.7"""
    name = world.name()
    service = {"fq_name": [*DEMO, name], "parent_type": "project"}
    uuid = (await world.made("service-instance", service, "member"))["uuid"]
    shared = {"service-instance": {"perms2": {"share": [{"tenant": "other", "tenant_access": access}]}}}
    assert (await world.call(Mode.RBAC, "member", "PUT", f"/service-instance/{uuid}", shared)).status_code == 200
    network = await world.made("virtual-network", {"fq_name": [*OTHER, name]}, "stranger")
    for analyzer, expected in ((":".join([*DEMO, name]), status), ("a machine of mine", 200)):
        policies = [
            {"fq_name": [*OTHER, world.name()], "network_policy_entries": {"policy_rule": [{"action_list": action}]}}
            for action in ({"mirror_to": {"analyzer_name": analyzer}}, {"apply_service": [analyzer]})
        ]
        mirror = {"interface_mirror": {"mirror_to": {"analyzer_name": analyzer}}}
        port = {
            "fq_name": [*OTHER, world.name()],
            "parent_type": "project",
            "virtual_network_refs": [{"uuid": network["uuid"]}],
            "virtual_machine_interface_properties": mirror,
        }
        for kind, path, body in (
            *(("network-policy", "/network-policys", policy) for policy in policies),
            ("virtual-machine-interface", "/virtual-machine-interfaces", port),
        ):
            answer = await world.call(Mode.RBAC, "stranger", "POST", path, {kind: body})
            assert answer.status_code == expected, answer.text
