"""What a user names in texts is asked as a reference is, over HTTP in this process with ``rbac``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from intentc.apiserver.authorization import Mode

from .tenants import DEMO, OTHER, World, access_list, opened_world, perm

pytestmark = pytest.mark.anyio

FOREIGN = ":".join([*DEMO, "theirs"])
"""The name of each of demo's objects that the other project names."""
KINDS = ("route-table", "firewall-rule", "network-ipam", "virtual-DNS", "virtual-DNS-record")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def world(anyio_backend: str) -> AsyncIterator[World]:
    async with opened_world() as opened:
        rules = [{"rule_object": kind, "rule_perms": [perm("Member:CRUD")]} for kind in KINDS]
        await opened.made("api-access-list", access_list(["default-global-system-config", "b"], rules))
        for kind in ("virtual-network", "service-instance", "network-policy"):
            await opened.made(kind, {"fq_name": FOREIGN.split(":")}, "member")
        for kind in ("address-group", "qos-config"):
            body = {"fq_name": FOREIGN.split(":"), "parent_type": "project", "perms2": {"owner": "demo"}}
            await opened.made(kind, body)
        await opened.made("virtual-DNS", {"fq_name": ["default-domain", "theirs"], "perms2": {"owner": "demo"}})
        await opened.made("virtual-network", {"fq_name": [*OTHER, "ours"]}, "stranger")
        yield opened


def rule(**fields: Any) -> dict[str, Any]:
    return {"policy_rule": [{"action_list": {"simple_action": "pass"}, **fields}]}


def action(**fields: Any) -> dict[str, Any]:
    return rule(action_list=fields)


def local(**fields: Any) -> dict[str, Any]:
    """The rules of a group with this action."""
    return rule(action_list=fields, dst_addresses=[{"security_group": "local"}])


def port(instance: str) -> dict[str, Any]:
    return {
        "virtual_network_refs": [{"to": [*OTHER, "ours"]}],
        "virtual_machine_interface_properties": {"interface_mirror": {"mirror_to": {"routing_instance": instance}}},
    }


INSTANCE = f"{FOREIGN}:theirs"
NAMING: list[tuple[str, str, dict[str, Any]]] = [
    ("network-policy", "virtual-network", {"network_policy_entries": action(mirror_to={"routing_instance": INSTANCE})}),
    ("network-policy", "virtual-network", {"network_policy_entries": action(assign_routing_instance=INSTANCE)}),
    ("network-policy", "qos-config", {"network_policy_entries": action(qos_action=FOREIGN)}),
    ("network-policy", "network-policy", {"network_policy_entries": rule(dst_addresses=[{"network_policy": FOREIGN}])}),
    ("security-group", "virtual-network", {"security_group_entries": local(mirror_to={"routing_instance": INSTANCE})}),
    ("security-group", "service-instance", {"security_group_entries": local(mirror_to={"analyzer_name": FOREIGN})}),
    ("virtual-machine-interface", "virtual-network", {"parent_type": "project", **port(INSTANCE)}),
    ("service-instance", "virtual-network", {"service_instance_properties": {"left_virtual_network": FOREIGN}}),
    ("route-table", "service-instance", {"routes": {"route": [{"prefix": "0.0.0.0/0", "next_hop": FOREIGN}]}}),
    ("firewall-rule", "virtual-network", {"parent_type": "project", "endpoint_1": {"virtual_network": FOREIGN}}),
    ("firewall-rule", "address-group", {"parent_type": "project", "endpoint_2": {"address_group": FOREIGN}}),
    ("firewall-rule", "virtual-network",
     {"parent_type": "project", "action_list": {"mirror_to": {"routing_instance": INSTANCE}}}),
    ("network-ipam", "virtual-DNS",
     {"network_ipam_mgmt": {"ipam_dns_server": {"virtual_dns_server_name": "default-domain:theirs"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "target", "fields"), NAMING)
async def test_what_is_named_must_be_shared(world: World, kind: str, target: str, fields: dict[str, Any]) -> None:
    """Before it is shared the object is neither created, nor changed, with the name; afterwards it is."""
    theirs = ["default-domain", "theirs"] if target == "virtual-DNS" else FOREIGN.split(":")
    found = await world.call(Mode.RBAC, "compiler", "POST", "/fqname-to-id", {"type": target, "fq_name": theirs})
    place = {key: value for key, value in fields.items() if key in {"parent_type", "virtual_network_refs"}}
    plain = await world.made(kind, {"fq_name": [*OTHER, world.name()], **place}, "stranger")
    for access, status in ((0, 403), (6, 403), (1, 200)):
        shared = {target: {"perms2": {"share": [{"tenant": "other", "tenant_access": access}]}}}
        path = f"/{target}/{found.json()['uuid']}"
        assert (await world.call(Mode.RBAC, "compiler", "PUT", path, shared)).status_code == 200
        body = {kind: {"fq_name": [*OTHER, world.name()], **fields}}
        answer = await world.call(Mode.RBAC, "stranger", "POST", f"/{kind}s", body)
        assert answer.status_code == status, answer.text
        only = {name: value for name, value in fields.items() if name not in place}
        changed = await world.call(Mode.RBAC, "stranger", "PUT", f"/{kind}/{plain['uuid']}", {kind: only})
        assert changed.status_code == status, changed.text
    closed: dict[str, Any] = {target: {"perms2": {"share": []}}}
    assert (await world.call(Mode.RBAC, "compiler", "PUT", path, closed)).status_code == 200
    assert (await world.call(Mode.RBAC, "compiler", "POST", f"/{kind}s", body)).status_code in {200, 409}
    again = await world.call(Mode.RBAC, "stranger", "PUT", f"/{kind}/{plain['uuid']}", {kind: only})
    assert again.status_code == 200, "a name that stands is not asked for again"


@pytest.mark.parametrize(
    ("instance", "status"),
    [
        (f"{':'.join(OTHER)}:ours:ours", 200),
        (f"{':'.join(OTHER)}:ours:later", 200),
        (f"{':'.join(OTHER)}:later:later", 200),
        ("-1", 200),
        (f"{':'.join(DEMO)}:later:later", 403),
        ("default-domain:default-project:ip-fabric:__default__", 403),
        ("ip-fabric", 403),
        (":", 403),
    ],
)
async def test_a_routing_instance_is_the_own_one_or_shared(world: World, instance: str, status: int) -> None:
    for who, expected in (("stranger", status), ("admin", 200)):
        body = {"fq_name": [*OTHER, world.name()], "parent_type": "project", **port(instance)}
        path = "/virtual-machine-interfaces"
        answer = await world.call(Mode.RBAC, who, "POST", path, {"virtual-machine-interface": body})
        assert answer.status_code == expected, answer.text


async def test_an_instance_may_be_shared_alone(world: World) -> None:
    network = await world.made("virtual-network", {"fq_name": [*DEMO, world.name()]}, "member")
    name = [*network["fq_name"], network["name"]]
    found = await world.call(
        Mode.RBAC, "compiler", "POST", "/fqname-to-id", {"type": "routing-instance", "fq_name": name}
    )
    shared = {"routing-instance": {"perms2": {"share": [{"tenant": "other", "tenant_access": 1}]}}}
    await world.call(Mode.RBAC, "compiler", "PUT", f"/routing-instance/{found.json()['uuid']}", shared)
    body = {"fq_name": [*OTHER, world.name()], "parent_type": "project", **port(":".join(name))}
    await world.made("virtual-machine-interface", body, "stranger")


@pytest.mark.parametrize(
    ("record", "status"),
    [
        ({"record_type": "NS", "record_data": "default-domain:theirs"}, 403),
        ({"record_type": "NS", "record_data": "192.0.2.1"}, 200),
        ({"record_type": "CNAME", "record_data": "www:1"}, 200),
    ],
)
async def test_a_record_delegates_to_shared_name_servers_alone(
    world: World, record: dict[str, Any], status: int
) -> None:
    own = ["default-domain", world.name()]
    await world.made("virtual-DNS", {"fq_name": own, "perms2": {"owner": "other"}})
    body = {"fq_name": [*own, "r"], "virtual_DNS_record_data": record}
    answer = await world.call(Mode.RBAC, "stranger", "POST", "/virtual-DNS-records", {"virtual-DNS-record": body})
    assert answer.status_code == status, answer.text
    (uuid,) = [
        one["uuid"]
        for one in (await world.call(Mode.RBAC, "compiler", "GET", "/virtual-DNSs")).json()["virtual-DNSs"]
        if one["fq_name"] == own
    ]
    server = {"virtual-DNS": {"virtual_DNS_data": {"next_virtual_DNS": record["record_data"]}}}
    expected = 403 if record["record_data"] in {"default-domain:theirs", "www:1"} else 200
    answer = await world.call(Mode.RBAC, "stranger", "PUT", f"/virtual-DNS/{uuid}", server)
    assert answer.status_code == expected, answer.text
