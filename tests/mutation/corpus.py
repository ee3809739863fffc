"""Histories made to need each reaction: in one rich world every resource comes late, changes, or goes.

Late means that the watch delivers everything else first: an intent that read the absence must be evaluated again when
the resource comes. The end is right if it is what the oracle says of the last world.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key
from intentc.watch import protocol
from tests.mutation.stories import Corpus, MutantSystem, Story
from tests.oracle.contrail import Json
from tests.oracle.contrail_policies import name_of, naming_unknown_policies
from tests.property.resources import NAMES, PROJECTS, SYSTEMS, FqName, Put
from tests.simulation.simulated_system import LOADED

_NETWORK, _OTHER, _LAST, _UNATTACHED = NAMES[:4]
_IP_FABRIC = ("default-domain", "default-project", "ip-fabric")
_INTERFACE, _ROUTER, _BARE_ROUTER, _VXLAN_ROUTER = NAMES[0], NAMES[0], NAMES[1], NAMES[3]
_NETWORKS_VPN, _ROUTERS_VPN, _POLICY = NAMES[0], NAMES[1], NAMES[0]
_TABLE = NAMES[0]
_ROUTED: Json = {"route_table_refs": [{"to": list(_TABLE)}]}
_VXLAN_UUID = "20000000-0000-4000-8000-000000000000"
_INTERNAL = (*_VXLAN_ROUTER[:-1], f"__contrail_lr_internal_vn_{_VXLAN_UUID}__")
_GROUP, _MENTIONING = NAMES[0], NAMES[1]
_SYSTEM = ("default-global-system-config",)
_FABRIC = (*_SYSTEM, "fabric")
_SUB_CLUSTER = ("sub",)
_SERVICE, _IPAM, _SORTING = NAMES[0], NAMES[0], NAMES[0]
_SORTED: Json = {"routing_policy_refs": [{"to": list(_SORTING), "attr": {"sequence": "1.0"}}]}
_SUBNET = {"subnet": {"ip_prefix": "10.0.0.0", "ip_prefix_len": 24}, "default_gateway": "10.0.0.254"}
_SUBNETS: Json = {"network_ipam_refs": [{"to": list(_IPAM), "attr": {"ipam_subnets": [_SUBNET]}}]}
_IN_SUB_CLUSTER: Json = {"sub_cluster_refs": [{"to": list(_SUB_CLUSTER)}]}
_TARGET = ("target:1:1",)
_RULE: Json = {
    "rule_uuid": "10000000-0000-4000-8000-000000000000",
    "direction": ">",
    "protocol": "tcp",
    "ethertype": "IPv4",
    "src_addresses": [{"security_group": ":".join(_GROUP)}],
    "dst_addresses": [{"security_group": "local"}],
    "src_ports": [],
    "dst_ports": [],
}

_HOST, _DEVICE, _NETWORK = (*_SYSTEM, "host"), (*_SYSTEM, "device"), (*PROJECTS[0], "provided")
_HOSTNAME: dict[str, Any] = {"physical_router_hostname": "leaf"}
"""Of the device of that name."""


def _key_values(**pairs: str) -> dict[str, Any]:
    return {"key_value_pair": [{"key": key, "value": value} for key, value in pairs.items()]}


_SWITCHED = (
    Put("physical_interface", (*_DEVICE, "xe-0:1"), {}),
    Put("node", _HOST, {"hostname": "host"}),
    Put(
        "port",
        (*_HOST, "ens1"),
        {"bms_port_info": {"local_link_connection": {"switch_info": "leaf", "port_id": "xe-0_1"}}},
    ),
    Put("virtual_router", _HOST, {"virtual_router_sriov_physical_networks": _key_values(physnet="ens1")}),
    Put("virtual_network", _NETWORK, {"provider_properties": {"segmentation_id": 7, "physical_network": "physnet"}}),
    Put(
        "virtual_machine_interface",
        (*PROJECTS[0], "direct"),
        {
            "parent_type": "project",
            "virtual_network_refs": [{"to": list(_NETWORK)}],
            "virtual_machine_interface_bindings": _key_values(vnic_type="direct", host_id="host"),
        },
    ),
)


_OPEN, _NAMING, _REFERRED = NAMES[1], NAMES[2], NAMES[3]


def _between(source: Json, destination: Json, action: str = "pass") -> Json:
    rule = {
        "rule_uuid": "20000000-0000-4000-8000-000000000000",
        "direction": "<>",
        "protocol": "any",
        "src_addresses": [source],
        "dst_addresses": [destination],
        "src_ports": [{"start_port": -1, "end_port": -1}],
        "dst_ports": [{"start_port": -1, "end_port": -1}],
        "action_list": {"simple_action": action},
    }
    return {"network_policy_entries": {"policy_rule": [rule]}}


def _attached(*names: FqName) -> Json:
    return {"network_policy_refs": [{"to": list(name), "attr": {"sequence": {"major": 1}}} for name in names]}


def _lists(*targets: str) -> Json:
    return {"route_target_list": {"route_target": list(targets)}}


def _network_of(*names: FqName) -> Json:
    return {"parent_type": "project", "virtual_network_refs": [{"to": list(name)} for name in names]}


def _interfaces(*names: FqName) -> Json:
    return {"virtual_machine_interface_refs": [{"to": list(name)} for name in names]}


def _vpn(name: FqName) -> Json:
    return {"bgpvpn_refs": [{"to": list(name)}]}


def _policy(*uuids: str) -> Json:
    rules = [{"rule_uuid": uuid, "action_list": {"simple_action": "pass"}, "protocol": "any"} for uuid in uuids]
    return {"network_policy_entries": {"policy_rule": rules}}


def _routes(prefix: str) -> Json:
    return {"routes": {"route": [{"prefix": prefix, "next_hop": "10.0.0.9", "next_hop_type": "ip-address"}]}}


def _leading(*names: FqName) -> Json:
    return {"route_table_refs": [{"to": list(name)} for name in names]}


def _speaker(name: str) -> FqName:
    return ("default-domain", "default-project", "ip-fabric", "__default__", name)


def _parameters(**parameters: Any) -> Json:
    return {"parent_type": "routing-instance", "bgp_router_parameters": {"router_type": "router", **parameters}}


def _sessions(*names: str) -> Json:
    attribute = {"session": [{"attributes": [{"hold_time": 7}]}]}
    return {"bgp_router_refs": [{"to": list(_speaker(name)), "attr": attribute} for name in names]}


_LEFT, _RIGHT = (*PROJECTS[0], "left"), (*PROJECTS[0], "right")
_FIRST, _SECOND = (*PROJECTS[0], "s1"), (*PROJECTS[0], "s2")
_TEMPLATE, _TUPLE, _MACHINE, _CHAINING = ("default-domain", "template"), (*_FIRST, "t"), ("machine",), _LEFT
_FIRST_LEFT, _FIRST_RIGHT, _SECOND_LEFT = ((*PROJECTS[0], name) for name in ("p1", "p2", "p3"))


def _chaining(*services: FqName) -> Json:
    found = _between({"virtual_network": ":".join(_LEFT)}, {"virtual_network": ":".join(_RIGHT)})
    found["network_policy_entries"]["policy_rule"][0] |= {
        "direction": ">",
        "action_list": {"apply_service": [":".join(name) for name in services]},
    }
    return found


def _port(network: FqName, side: str, kind: str, host: FqName) -> Json:
    properties = {"virtual_machine_interface_properties": {"service_interface_type": side}}
    return {**_network_of(network), **properties, f"{kind}_refs": [{"to": list(host)}]}


def _serving(port: FqName, number: int, name: str = "") -> Put:
    fields = {"instance_ip_address": f"10.0.0.{number}", "service_instance_ip": True}
    references = {"virtual_network_refs": [{"to": list(_LEFT)}], **_interfaces(port)}
    return Put("instance_ip", (name or port[-1],), {**fields, **references})


_OF_TEMPLATE: Json = {"service_template_refs": [{"to": list(_TEMPLATE)}]}

CHAIN = (
    Put("service_template", _TEMPLATE, {"service_template_properties": {"version": 2, "service_mode": "in-network"}}),
    Put("service_instance", _FIRST, _OF_TEMPLATE),
    Put("service_instance", _SECOND, _OF_TEMPLATE),
    Put("port_tuple", _TUPLE, {}),
    Put("virtual_machine", _MACHINE, {"service_instance_refs": [{"to": list(_SECOND)}]}),
    Put("network_policy", _CHAINING, _chaining(_FIRST, _SECOND)),
    Put("virtual_network", _LEFT, {**_attached(_CHAINING), **_SUBNETS}),
    Put("virtual_network", _RIGHT, _attached(_CHAINING)),
    Put("virtual_machine_interface", _FIRST_LEFT, _port(_LEFT, "left", "port_tuple", _TUPLE)),
    Put("virtual_machine_interface", _FIRST_RIGHT, _port(_RIGHT, "right", "port_tuple", _TUPLE)),
    Put("virtual_machine_interface", _SECOND_LEFT, _port(_LEFT, "left", "virtual_machine", _MACHINE)),
    _serving(_FIRST_LEFT, 11),
    _serving(_SECOND_LEFT, 12),
    _serving(_SECOND_LEFT, 13, "second"),
    Put("floating_ip_pool", (*_LEFT, "pool"), {}),
    Put("floating_ip", (*_LEFT, "pool", "f"), {"parent_type": "floating-ip-pool", **_interfaces(_SECOND_LEFT)}),
    Put("alias_ip_pool", (*_LEFT, "pool"), {}),
    Put("alias_ip", (*_LEFT, "pool", "a"), {"parent_type": "alias-ip-pool", **_interfaces(_FIRST_RIGHT)}),
)
"""A chain of a service on a port tuple and of one on a machine, with tables on the ports between them."""

_NAT, _NAT_TEMPLATE, _LEADING, _AGGREGATE = (*PROJECTS[0], "nat"), ("default-domain", "nat"), NAMES[1], NAMES[0]
_NAT_TUPLE, _NAT_LEFT = (*_NAT, "t"), (*PROJECTS[0], "p4")
_OTHER_NAT, _OTHER_MACHINE, _OTHER_LEFT = (*PROJECTS[0], "nat2"), ("machine2",), (*PROJECTS[0], "p5")
_ONE_INTERFACE = {
    "version": 2,
    "service_mode": "in-network-nat",
    "interface_type": [{"service_interface_type": "left"}],
}

_OF_NAT: Json = {
    "service_template_refs": [{"to": list(_NAT_TEMPLATE)}],
    "service_instance_properties": {"interface_list": [{"virtual_network": ":".join(_LEFT)}]},
}
_TO_SERVICES = [
    {"prefix": "0.0.0.0/0", "next_hop": ":".join(_NAT)},
    {"prefix": "1.0.0.0/8", "next_hop": ":".join(_OTHER_NAT)},
]


def _for_left(service: FqName) -> Json:
    return {"service_instance_refs": [{"to": list(service), "attr": {"interface_type": "left"}}]}


_OLD = ("default-domain", "old")
_OF_OLD: Json = {
    "service_template_refs": [{"to": list(_OLD)}],
    "service_instance_properties": {"interface_list": [{"virtual_network": ":".join(_RIGHT)}]},
}

ROUTED = (
    Put("service_template", _OLD, {"service_template_properties": {**_ONE_INTERFACE, "version": 1}}),
    Put("service_instance", (*PROJECTS[0], "old"), _OF_OLD),
    Put("security_group", (*PROJECTS[0], "default"), {}),
    Put("service_template", _NAT_TEMPLATE, {"service_template_properties": _ONE_INTERFACE}),
    Put("service_instance", _NAT, _OF_NAT),
    Put("service_instance", _OTHER_NAT, _OF_NAT),
    Put("port_tuple", _NAT_TUPLE, {}),
    Put("virtual_machine_interface", _NAT_LEFT, _port(_NETWORK, "left", "port_tuple", _NAT_TUPLE)),
    _serving(_NAT_LEFT, 14),
    Put("virtual_machine", _OTHER_MACHINE, {"service_instance_refs": [{"to": list(_OTHER_NAT)}]}),
    Put("virtual_machine_interface", _OTHER_LEFT, _port(_LEFT, "left", "virtual_machine", _OTHER_MACHINE)),
    _serving(_OTHER_LEFT, 15),
    Put("route_table", _LEADING, {"routes": {"route": _TO_SERVICES}}),
    Put("interface_route_table", NAMES[0], _for_left(_NAT)),
    Put(
        "service_health_check",
        NAMES[0],
        {**_for_left(_NAT), "service_health_check_properties": {"health_check_type": "end-to-end"}},
    ),
    Put(
        "route_aggregate",
        _AGGREGATE,
        {
            "aggregate_route_entries": {"route": ["100.0.0.0/24"]},
            **_for_left(_FIRST),
        },
    ),
)
"""Services to which routes of a router lead, on a port tuple and on a machine, the first with a port in a network that
it does not name; one of version 1 with a machine of its own; an aggregate of the chain."""

_GATEWAY: Json = {"virtual_network_refs": [{"to": list(_UNATTACHED)}]}
_ATTACHED_SERVICE: Json = {"service_instance_refs": [{"to": list(_FIRST), "attr": {"left_sequence": "1.0"}}]}

WORLD = (
    Put("global_system_config", _SYSTEM, SYSTEMS[0]),
    Put("project", PROJECTS[0], {}),
    Put("project", PROJECTS[1], {"vxlan_routing": True}),
    Put("route_target", _TARGET, {}),
    Put("bgpvpn", _NETWORKS_VPN, _lists("target:1:5")),
    Put("bgpvpn", _ROUTERS_VPN, _lists("target:1:6")),
    Put("network_policy", _OPEN, _between({"virtual_network": "local"}, {"virtual_network": "any"})),
    Put("network_policy", _NAMING, _between({"virtual_network": "local"}, {"network_policy": ":".join(_REFERRED)})),
    Put("network_policy", _REFERRED, _between({"virtual_network": "any"}, {"virtual_network": "any"})),
    Put("virtual_network", _UNATTACHED, {}),
    Put("network_ipam", _IPAM, {}),
    Put("network_ipam", (*PROJECTS[0], "default-network-ipam"), {}),
    *CHAIN,
    *ROUTED,
    Put("routing_policy", _SORTING, _ATTACHED_SERVICE),
    Put("virtual_network", _NETWORK, {**_lists("target:1:2"), **_vpn(_NETWORKS_VPN), **_attached(_OPEN), **_SUBNETS}),
    Put("route_table", _TABLE, _routes("1.1.1.0/24")),
    Put("virtual_network", _OTHER, {**_lists(), **_SORTED, **_attached(_NAMING), **_ROUTED}),
    Put("virtual_network", _LAST, {**_lists(), **_attached(_REFERRED)}),
    Put("virtual_network", _IP_FABRIC, {"virtual_network_refs": [{"to": list(_UNATTACHED)}]}),
    Put("routing_instance", (*_LAST, "mine"), {"parent_type": "virtual-network"}),
    Put("virtual_machine_interface", _INTERFACE, _network_of(_NETWORK)),
    Put("virtual_machine_interface", NAMES[1], _network_of(_OTHER)),
    Put("logical_router", _ROUTER, {**_interfaces(_INTERFACE), "route_target_refs": [{"to": list(_TARGET)}]}),
    Put(
        "logical_router",
        _BARE_ROUTER,
        {**_interfaces(NAMES[1]), **_vpn(_ROUTERS_VPN), **_leading(_LEADING), **_GATEWAY},
    ),
    Put("bgpvpn", _VXLAN_ROUTER, _lists("target:1:8")),
    Put("logical_router", _VXLAN_ROUTER, {"uuid": _VXLAN_UUID, **_interfaces(NAMES[1]), **_vpn(_VXLAN_ROUTER)}),
    Put(
        "instance_ip",
        ("address",),
        {
            "instance_ip_address": "10.0.0.7",
            "virtual_network_refs": [{"to": list(_NETWORK)}],
            "virtual_machine_interface_refs": [{"to": list(_INTERFACE)}],
        },
    ),
    Put("bgp_as_a_service", _SERVICE, {"autonomous_system": 7, **_interfaces(_INTERFACE, _SECOND_LEFT)}),
    Put("sub_cluster", _SUB_CLUSTER, {}),
    Put("fabric", _FABRIC, {}),
    Put("bgp_router", _speaker("one"), _parameters(vendor="juniper") | _IN_SUB_CLUSTER),
    Put("bgp_router", _speaker("five"), _parameters(vendor="juniper", cluster_id=8) | _IN_SUB_CLUSTER),
    Put("bgp_router", _speaker("two"), _parameters(vendor="juniper", autonomous_system=7)),
    Put("bgp_router", _speaker("three"), _parameters() | _sessions("two")),
    Put("bgp_router", _speaker("four"), _parameters(cluster_id=7)),
    Put(
        "physical_router",
        (*_SYSTEM, "device"),
        {"bgp_router_refs": [{"to": list(_speaker("two"))}], "fabric_refs": [{"to": list(_FABRIC)}], **_HOSTNAME},
    ),
    *_SWITCHED,
    Put("security_group", _GROUP, {"configured_security_group_id": 7}),
    Put("security_group", _MENTIONING, {"security_group_entries": {"policy_rule": [_RULE]}}),
    Put("network_policy", _POLICY, _policy("r1")),
    Put(
        "security_logging_object",
        NAMES[0],
        {
            "parent_type": "project",
            "network_policy_refs": [{"to": list(_POLICY)}],
            "security_group_refs": [{"to": list(_MENTIONING)}],
        },
    ),
)

_CHANGES = (
    Put("global_system_config", _SYSTEM, SYSTEMS[1]),
    Put("bgpvpn", _NETWORKS_VPN, _lists("target:1:7")),
    Put("route_table", _TABLE, _routes("2.2.2.0/24")),
    Put("bgpvpn", _ROUTERS_VPN, _lists()),
    Put("virtual_network", _NETWORK, _lists("target:1:3")),
    Put("virtual_network", _NETWORK, _attached(_REFERRED)),
    Put("virtual_network", _IP_FABRIC, {"virtual_network_refs": []}),
    Put("network_policy", _OPEN, _between({"virtual_network": "local"}, {"virtual_network": "any"}, "deny")),
    Put("virtual_machine_interface", _INTERFACE, _network_of(_OTHER)),
    Put("logical_router", _ROUTER, _interfaces()),
    Put("logical_router", _ROUTER, {"route_target_refs": []}),
    Put("logical_router", _BARE_ROUTER, {"configured_route_target_list": {"route_target": ["target:1:4"]}}),
    Put("security_group", _GROUP, {"configured_security_group_id": 8}),
    Put("security_group", _MENTIONING, {"security_group_entries": {"policy_rule": []}}),
    Put("network_policy", _POLICY, _policy("r2")),
)
_BY_THE_SERVER = (
    *(
        Put("routing_instance", (*name, name[-1]), {})
        for name in (*(put.fq_name for put in WORLD if put.kind == "virtual_network"), _INTERNAL)
    ),
    Put("virtual_network", _INTERNAL, {}),
)
"""What comes with networks, and with the router in vxlan mode."""


class Late(NamedTuple):
    """The watch delivers it after everything else."""

    kind: str
    fq_name: FqName
    compiled: bool = False

    async def live(self, system: MutantSystem) -> None:
        uuid = await system.uuid(self.kind, self.fq_name)
        assert uuid is not None
        system.hidden.add(uuid)
        await system.settle()
        system.hidden.clear()
        assert await system.update(Key(self.kind, uuid), {"display_name": "it comes"})


class Changed(NamedTuple):
    """It was otherwise: ``put`` is what it changes to, or was; both ways."""

    put: Put
    back: bool
    compiled: bool = True

    @property
    def kind(self) -> str:
        return self.put.kind

    async def live(self, system: MutantSystem) -> None:
        former = next(put for put in WORLD if put[:2] == self.put[:2])
        fields = {field: former.fields.get(field, _EMPTY.get(field)) for field in self.put.fields}
        if self.back:
            assert await system.put(*self.put)
        await system.settle()
        assert await system.put(*(former._replace(fields=fields) if self.back else self.put))


class Gone(NamedTuple):
    """It is deleted; first whatever keeps the server from deleting it."""

    kind: str
    fq_name: FqName
    compiled: bool = True

    async def live(self, system: MutantSystem) -> None:
        await system.settle()
        for holder in reversed(WORLD):
            if holder[:2] == self[:2] or await system.delete(*self[:2]):
                break
            await system.delete(*holder[:2])
            await system.settle()
        await system.delete(*self[:2])


class TakenOver(NamedTuple):
    """The autonomous system becomes one under which a listed target is automatic; past the server, which rejects it."""

    kind: str = "global_system_config"
    compiled: bool = True

    async def live(self, system: MutantSystem) -> None:
        assert await system.put("virtual_network", _LAST, _lists("target:64999:8000103"))
        await system.settle()
        uuid = await system.uuid(self.kind, _SYSTEM)
        key = f"/contrail/{self.kind}/{uuid}"
        (item,) = (await system.store.range(key)).items
        changed = msgspec.json.encode({**msgspec.json.decode(item.value), "autonomous_system": 64999})
        await system.store.transaction([], [protocol.Put(key, changed)])


_EMPTY: Json = {
    "configured_route_target_list": {"route_target": []},
    "route_target_refs": [],
    "virtual_machine_interface_refs": [],
    "virtual_network_refs": [],
}


def _stories() -> Iterator[Story]:
    """All of them, always in the same order."""
    for put in (*WORLD, *_BY_THE_SERVER):
        yield Late(put.kind, put.fq_name)
    for put in _CHANGES:
        yield Changed(put, False)
        yield Changed(put, True)
    for put in WORLD:
        yield Gone(put.kind, put.fq_name)
    yield TakenOver()


async def _right(system: MutantSystem) -> bool:
    """Whether the outcome is what the oracle expects, and faults are reported that no object shows."""
    found, wanted = await system.outcome()
    world = await system.world()
    reported = {
        name_of(policy)
        for uuid, policy in world.get("network_policy", {}).items()
        for problem in system.engine.states.problems_of_run(Key("network_policy", uuid))
        if problem.reason == "UnknownNetworkPolicy"
    }
    return found == wanted and reported == naming_unknown_policies(world)


async def _put(system: MutantSystem) -> None:
    assert not await system.put_all(WORLD)


CORPUS = Corpus(LOADED, tuple(_stories()), _put, _right)
