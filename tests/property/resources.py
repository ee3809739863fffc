"""Random Contrail resources whose names and targets come from so few that they meet (docs/engine.md §10).

Values only: nothing here applies them, or knows what follows from them.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.oracle.contrail import Json
from tests.property.policies import SERVICES, chain_rule, policy_references, policy_rules
from tests.property.service_machines import machine_parts
from tests.property.service_ports import Leading, attached, end_to_end, leading
from tests.property.services import IPAM, Part, parts, serving, subnets
from tests.property.switches import DEVICES, bindings, provided, ways
from tests.property.vpns import bgpvpn_fields, bgpvpn_references, logging_fields, table_fields

FqName = tuple[str, ...]


class Put(NamedTuple):
    """A user's resource: ``fields`` are all that the user says of it."""

    kind: str
    fq_name: FqName
    fields: Json


PROJECTS = (("default-domain", "p1"), ("default-domain", "p2"))
NAMES: tuple[FqName, ...] = tuple(
    (*project, name) for project, names in zip(PROJECTS, ("abc", "ab"), strict=True) for name in names
)
"""Five, for networks, groups, interfaces and routers alike."""

_FABRIC = ("default-domain", "default-project", "ip-fabric")
_EXTERNAL: Json = {"logical_router_virtual_network_type": "ExternalGateway"}
_rarely = st.sampled_from([*[False] * 9, True])

UNKNOWN = "default-domain:p1:nobody"
TARGETS = ("target:1:1", "target:1:2", "target:10.0.0.1:3", "target:64512:9")
AUTOMATIC_TARGETS = ("target:64512:8000103", "target:64512:8000104")
"""Such as the compiler makes. The server rejects a resource whose list names one."""

SYSTEMS = (
    {"autonomous_system": 64512, "enable_4byte_as": False},
    {"autonomous_system": 64999, "enable_4byte_as": False},
    {"autonomous_system": 4200000000, "enable_4byte_as": True},
)

names = st.sampled_from(NAMES)
_target = st.sampled_from((*TARGETS * 15, *AUTOMATIC_TARGETS, "nonsense", "nonsense"))
_target_list = st.lists(_target, max_size=3).map(lambda targets: {"route_target": targets})
_ports = st.lists(st.sampled_from([{"end_port": 65535}, {"start_port": 80, "end_port": 80}]), max_size=2)
_LOCAL: Json = {"security_group": "local"}
_others = st.one_of(
    names.map(lambda name: {"security_group": ":".join(name)}),
    names.map(lambda name: {"security_group": ":".join(name)}),
    st.sampled_from(
        [
            _LOCAL,
            {"security_group": UNKNOWN},
            {"security_group": "any"},
            {"subnet": {"ip_prefix": "10.0.0.0", "ip_prefix_len": 8}},
        ]
    ),
)


@st.composite
def _rules(draw: st.DrawFn) -> list[Json]:
    """The rules of one group; their uuids are the users', so that they are the same in every world."""
    found = []
    for place in range(draw(st.integers(0, 3))):
        local, others = [_LOCAL], draw(st.lists(_others, min_size=1, max_size=2))
        source, destination = (local, others) if draw(st.booleans()) else (others, local)
        found.append(
            {
                "rule_uuid": f"10000000-0000-4000-8000-{place:012x}",
                "direction": ">",
                "protocol": draw(st.sampled_from(["any", "tcp", "icmp", "47"])),
                "ethertype": "IPv4",
                "src_addresses": source,
                "dst_addresses": destination,
                "src_ports": draw(_ports),
                "dst_ports": draw(_ports),
            }
        )
    return found


def _references(targets: st.SearchStrategy[FqName], size: int, least: int = 0) -> st.SearchStrategy[list[Json]]:
    return st.lists(targets, min_size=least, max_size=size, unique=True).map(
        lambda found: [{"to": list(name)} for name in found]
    )


projects = st.builds(
    Put, st.just("project"), st.sampled_from(PROJECTS), st.fixed_dictionaries({"vxlan_routing": st.booleans()})
)
groups = st.builds(
    Put,
    st.just("security_group"),
    names,
    st.fixed_dictionaries(
        {
            "configured_security_group_id": st.sampled_from([0, 0, 0, 7, 8]),
            "security_group_entries": _rules().map(lambda rules: {"policy_rule": rules}),
        }
    ),
)


def _allowed(fields: Json) -> Json:
    """The same without route targets that the server rejects on networks with multi-policy chains."""
    if not fields["multi_policy_service_chains_enabled"]:
        return fields
    imported = fields["import_route_target_list"]["route_target"]
    exported = [target for target in fields["export_route_target_list"]["route_target"] if target not in imported]
    return fields | {"route_target_list": {}, "export_route_target_list": {"route_target": exported}}


networks = st.builds(
    Put,
    st.just("virtual_network"),
    names,
    st.fixed_dictionaries(
        {
            "route_target_list": _target_list,
            "import_route_target_list": _target_list,
            "export_route_target_list": _target_list,
            "bgpvpn_refs": bgpvpn_references(names),
            "route_table_refs": _references(names, 1),
            "network_policy_refs": policy_references(names),
            "virtual_network_refs": st.sampled_from([[], [], [], [{"to": list(_FABRIC)}]]),
            "fabric_snat": _rarely,
            "multi_policy_service_chains_enabled": _rarely,
            "virtual_network_properties": _rarely.map(lambda transit: {"allow_transit": transit}),
            "network_ipam_refs": subnets(),
            "provider_properties": provided,
        }
    ).map(_allowed),
)
_policy = st.fixed_dictionaries(
    {"network_policy_entries": policy_rules(names).map(lambda rules: {"policy_rule": rules})}
)
policies = st.builds(Put, st.just("network_policy"), names, _policy)
route_tables = st.builds(Put, st.just("route_table"), names, table_fields)
bgpvpns = st.builds(Put, st.just("bgpvpn"), names, bgpvpn_fields(_target_list))
logging_objects = st.builds(Put, st.just("security_logging_object"), names, logging_fields(names))
interfaces = st.builds(
    Put,
    st.just("virtual_machine_interface"),
    names,
    st.fixed_dictionaries(
        {
            "parent_type": st.just("project"),
            "virtual_network_refs": _references(names, 1, 1),
            "virtual_machine_interface_bindings": bindings,
        }
    ),
)
routers = st.builds(
    Put,
    st.just("logical_router"),
    names,
    st.fixed_dictionaries(
        {
            "configured_route_target_list": _target_list,
            "virtual_machine_interface_refs": _references(names, 3),
            "bgpvpn_refs": bgpvpn_references(names),
            "route_table_refs": _references(names, 1),
        },
        # Left out it stays as it is; given, it replaces our own entry, too.
        optional={"route_target_refs": _references(st.sampled_from(TARGETS).map(lambda target: (target,)), 1)},
    ),
)
gateways = st.builds(
    Put,
    st.just("logical_router"),
    names,
    st.fixed_dictionaries(
        {
            "virtual_machine_interface_refs": _references(names, 1),
            "virtual_network_refs": st.tuples(names, st.sampled_from([{}, _EXTERNAL])).map(
                lambda gateway: [{"to": list(gateway[0]), "attr": gateway[1]}]
            ),
        }
    ),
)
"""Routers with a gateway: the addresses of the machines of their services depend on the order of arrival, so that
``anything`` has none."""

route_targets = st.builds(
    Put, st.just("route_target"), st.sampled_from(TARGETS).map(lambda target: (target,)), st.just({})
)
systems = st.builds(
    Put, st.just("global_system_config"), st.just(("default-global-system-config",)), st.sampled_from(SYSTEMS)
)

_SPEAKERS = tuple(
    ("default-domain", "default-project", "ip-fabric", "__default__", name) for name in ("r1", "r2", "r3")
)
_speakers = st.sampled_from(_SPEAKERS)
_SUB_CLUSTERS = (("s1",), ("s2",))
_sessions = st.lists(
    st.tuples(_speakers, st.sampled_from([{}, {"session": [{"attributes": [{"hold_time": 9}]}]}])), max_size=1
)
sub_clusters = st.builds(Put, st.just("sub_cluster"), st.sampled_from(_SUB_CLUSTERS), st.just({}))
speakers = st.builds(
    Put,
    st.just("bgp_router"),
    _speakers,
    st.fixed_dictionaries(
        {
            "parent_type": st.just("routing-instance"),
            "bgp_router_parameters": st.fixed_dictionaries(
                {
                    "router_type": st.sampled_from(["control-node", "control-node", "router"]),
                    "vendor": st.sampled_from(["", "contrail", "juniper"]),
                    "autonomous_system": st.sampled_from([64512, 64999]),
                    "cluster_id": st.sampled_from([0, 0, 7]),
                }
            ),
            "sub_cluster_refs": _references(st.sampled_from(_SUB_CLUSTERS), 1),
        },
        # Left out the links stay as they are; given, they replace our own, too.
        optional={
            "bgp_router_refs": _sessions.map(lambda found: [{"to": list(to), "attr": attr} for to, attr in found])
        },
    ),
)


def _of_service(part: Part) -> Put:
    kind, data = part
    return Put(kind, tuple(data["fq_name"]), {field: value for field, value in data.items() if field != "fq_name"})


service_parts = parts(names).map(_of_service)
"""Templates, service instances, their hosts, and the ports and addresses of these."""

on_ports = attached(names).map(_of_service)
"""Interface route tables and health checks of services."""

end_to_end_checks = end_to_end(names).map(_of_service)
"""With addresses that depend on the order of arrival, so that ``anything`` has none."""

machine_services = machine_parts(names).map(lambda found: tuple(map(_of_service, found)))
"""Services of version 1: the addresses of their ports depend on the order of arrival, so that ``anything`` has none."""

bgp_services = st.builds(
    Put,
    st.just("bgp_as_a_service"),
    st.just(NAMES[0]),
    st.fixed_dictionaries(
        {
            "autonomous_system": st.sampled_from([64600, 64600, 64601, 0]),
            "bgpaas_ip_address": st.sampled_from(["", "10.9.9.9"]),
            "bgpaas_session_attributes": st.sampled_from([{}, {"hold_time": 30}]),
            "virtual_machine_interface_refs": _references(st.sampled_from(NAMES[:3]), 2),
        }
    ),
)
"""One BGP service. Two with one interface, or two interfaces of one name in one network, would dispute a client."""

mesh_switches = st.builds(
    Put,
    st.just("global_system_config"),
    st.just(("default-global-system-config",)),
    st.fixed_dictionaries({"ibgp_auto_mesh": st.booleans()}),
)
"""Switched off, links stay as they were: then the outcome depends on the history (docs/contrail.md D.12)."""

switches = ways.map(lambda part: Put(*part))
"""What leads from machines with SR-IOV to the ports of a switch."""

anything = st.one_of(
    groups,
    groups,
    networks,
    networks,
    interfaces,
    routers,
    routers,
    speakers,
    speakers,
    sub_clusters,
    projects,
    route_targets,
    systems,
    bgpvpns,
    route_tables,
    logging_objects,
    policies,
    policies,
    service_parts,
    service_parts,
    on_ports,
    switches,
)


@st.composite
def tenants(draw: st.DrawFn, fewest: tuple[int, int, int, int] = (2, 2, 2, 1)) -> list[Put]:
    """Resources to begin with, each name once per kind, some of every kind, in any order; projects come first.
    ``fewest``: groups, networks, interfaces and routers at least."""
    found: list[Put] = []
    for strategy, least in zip((groups, networks, interfaces, routers), fewest, strict=True):
        found += draw(st.lists(strategy, min_size=least, max_size=len(NAMES), unique_by=_name))
    found += draw(st.lists(route_targets, max_size=2, unique_by=_name))
    found += draw(st.lists(bgpvpns, max_size=3, unique_by=_name))
    found += [Put("network_policy", name, draw(_policy)) for name in NAMES]
    found += draw(st.lists(route_tables, max_size=3, unique_by=_name))
    found += draw(st.lists(logging_objects, max_size=2, unique_by=_name))
    found += draw(st.lists(on_ports, max_size=4, unique_by=lambda put: put[:2]))
    found += draw(st.lists(systems, max_size=1))
    found += draw(st.lists(st.one_of(speakers, speakers, sub_clusters), max_size=4, unique_by=_name))
    found = draw(_with_chain(found))
    there = {(put.kind, put.fq_name) for put in found}
    plugs = sorted(name for kind, name in there if kind == "virtual_network")
    found = [referring_to(_plugged_in(put, plugs), there) for put in found]
    found += draw(st.lists(switches, max_size=6, unique_by=lambda put: put[:2]))
    first = [Put("project", name, draw(_routing)) for name in PROJECTS]
    above = [Put(*part) for part in DEVICES]
    return [*first, Put("network_ipam", IPAM, {}), *above, *draw(st.permutations(found))]


_TENANTS_OWN = (
    "route_table",
    "bgpvpn",
    "virtual_machine_interface",
    "network_policy",
    "service_instance",
    "interface_route_table",
    "service_health_check",
)


def _plugged_in(put: Put, networks: list[FqName]) -> Put:
    """The same; an interface of a network that is not there is in another, as the server rejects those of none."""
    entries = put.fields.get("virtual_network_refs") or []
    if put.kind != "virtual_machine_interface" or not entries or tuple(entries[0]["to"]) in networks:
        return put
    other = networks[len(put.fq_name[-1]) % len(networks)]
    return put._replace(fields=put.fields | {"virtual_network_refs": [{"to": list(other)}]})


def referring_to(put: Put, there: Container[tuple[str, FqName]]) -> Put:
    """The same without references to what is not ``there`` ((kind, name)), for which the server would reject all of
    it."""
    fields = {
        field: [entry for entry in value if (field.removesuffix("_refs"), tuple(entry["to"])) in there]
        if field.removesuffix("_refs") in _TENANTS_OWN
        else value
        for field, value in put.fields.items()
    }
    return put._replace(fields=fields)


@st.composite
def _with_chain(draw: st.DrawFn, puts: list[Put]) -> list[Put]:
    """The same with a policy that leads traffic between two of the networks through one to four services."""
    left, right = draw(st.permutations([put.fq_name for put in puts if put.kind == "virtual_network"]))[:2]
    services = draw(st.lists(st.sampled_from(SERVICES), min_size=1, max_size=4, unique=True))
    policy = draw(names)
    rule = draw(chain_rule(left, right, services))
    joined = draw(st.sampled_from([{}, {}, {}, {"multi_policy_service_chains_enabled": True}]))
    found = []
    for put in puts:
        fields = put.fields
        if put.kind == "network_policy" and put.fq_name == policy:
            rules = fields["network_policy_entries"]["policy_rule"]
            fields = {"network_policy_entries": {"policy_rule": [rule, *rules[:2]]}}
        elif put.kind == "virtual_network" and put.fq_name in (left, right):
            attached = {"to": list(policy), "attr": {"sequence": {"major": 0, "minor": 1}}}
            others = [entry for entry in fields["network_policy_refs"] if entry["to"] != list(policy)]
            fields = _allowed(fields | joined | {"network_policy_refs": [attached, *others]})
        found.append(put._replace(fields=fields))
    for service in services:
        found += [_of_service(part) for part in draw(serving(service, names, left, right))]
    if draw(st.booleans()):
        found = _with_route(found, draw(leading(services, names)))
    return found


def _with_route(puts: list[Put], route: Leading) -> list[Put]:
    """The same with a route to a service that translates addresses, in a table of each router."""
    template, table = ("default-domain", route.service.split(":")[-1]), tuple(route.table)
    found = [put for put in puts if (put.kind, put.fq_name) != ("route_table", table)]
    for place, put in enumerate(found):
        fields = put.fields
        if put.kind == "service_template" and put.fq_name == template:
            properties = fields["service_template_properties"] | {"service_mode": "in-network-nat"}
            fields = fields | {"service_template_properties": properties}
        elif put.kind == "logical_router":
            fields = fields | {"route_table_refs": [{"to": route.table}]}
        found[place] = put._replace(fields=fields)
    return [*found, Put("route_table", table, {"routes": {"route": [route.entry]}})]


def large_tenants() -> st.SearchStrategy[list[Put]]:
    """As ``tenants``, so many that more than twenty objects follow."""
    return tenants((5, 5, 2, 2))


_routing = st.sampled_from([{}, {}, {}, {"vxlan_routing": True}])


def _name(put: Put) -> FqName:
    return put.fq_name


def relations(puts: list[Put]) -> set[str]:
    """How resources that arrive in this order relate: ``cross reference`` (one names another that is there already),
    ``forward reference`` (one names another that comes later)."""
    found: set[str] = set()
    arrived: set[tuple[str, FqName]] = set()
    coming = {(put.kind, put.fq_name) for put in puts}
    for put in puts:
        for mentioned in mentions(put):
            if mentioned != (put.kind, put.fq_name):
                if mentioned in arrived:
                    found.add("cross reference")
                elif mentioned in coming:
                    found.add("forward reference")
        arrived.add((put.kind, put.fq_name))
    return found


def mentions(put: Put) -> set[tuple[str, FqName]]:
    """(kind, name) of all that a resource refers to."""
    found = {
        (field.removesuffix("_refs"), tuple(entry["to"]))
        for field, entries in put.fields.items()
        if field.endswith("_refs")
        for entry in entries
    }
    for field in ("security_group_entries", "network_policy_entries"):
        rules: list[dict[str, Any]] = put.fields.get(field, {}).get("policy_rule", [])
        for rule in rules:
            for address in (*rule["src_addresses"], *rule["dst_addresses"]):
                for kind in ("security_group", "network_policy", "virtual_network"):
                    if ":" in address.get(kind, ""):
                        found.add((kind, tuple(address[kind].split(":"))))
    return found


def without_automatic(put: Put) -> Put:
    """Which numbers the compiler gives depends on the order; so no list may name one of them."""
    fields = {
        field: {"route_target": [TARGETS[0] if t in AUTOMATIC_TARGETS else t for t in value["route_target"]]}
        if isinstance(value, dict) and "route_target" in value
        else value
        for field, value in put.fields.items()
    }
    return put._replace(fields=fields)
