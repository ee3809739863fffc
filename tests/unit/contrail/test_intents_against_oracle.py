"""Whatever the tenants say, the intents' claims, merged, are what the naive oracle expects (docs/engine.md §10).

Only the intents are in question here: order of arrival, updates and restarts are for the engine's own property.
"""

from __future__ import annotations

from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from tests.oracle import contrail_services, contrail_transparent
from tests.oracle.contrail import Expected, World, expected, normal
from tests.oracle.contrail_chains import INFORMATION, mirror_address_of
from tests.oracle.naive_compile import NaiveCompile
from tests.property.policies import policy_references, policy_rules
from tests.property.profiles import share
from tests.property.services import services, subnets

NAMES = st.sampled_from([["default-domain", *name.split(":")] for name in ("p1:a", "p1:b", "p1:c", "p2:a", "p2:b")])
"""Five for everything, so that what refers to a name mostly meets one."""

TARGETS = st.sampled_from(
    ["target:1:1", "target:1:2", "target:10.0.0.1:3", "target:64512:8000103", "nonsense", "target:1:4294967296"]
)
LISTS = ("route_target_list", "import_route_target_list", "export_route_target_list")
RULES = ("r1", "r2", "")
ROUTES = st.builds(
    lambda prefix, sort, community: {
        "prefix": prefix,
        "next_hop": "10.0.0.9",
        "next_hop_type": sort,
        "community_attributes": {"community_attribute": community},
    },
    st.sampled_from(["1.1.1.0/24", "2.2.2.0/24"]),
    st.sampled_from(["ip-address", "ip-address", "service-instance", ""]),
    st.lists(st.sampled_from(["1:1", "1:2"]), max_size=2),
)
PROTOCOLS = st.sampled_from(["", "any", "icmp", "ICMP6", "tcp", "47", "256", "bogus", "sctp"])
PORTS = st.lists(st.sampled_from([{"end_port": 65535}, {"start_port": 80, "end_port": 80}, {}]), max_size=2)

RARELY = st.sampled_from([False, False, False, True])

Data = dict[str, Any]
Resource = tuple[str, Data]


@st.composite
def addresses(draw: st.DrawFn) -> list[Data]:
    one = st.one_of(
        st.just({"security_group": "local"}),
        st.just({"security_group": "any", "subnet": {"ip_prefix": "10.0.0.0", "ip_prefix_len": 8}}),
        NAMES.map(lambda name: {"security_group": ":".join(name)}),
        st.just({"subnet": {"ip_prefix": "::", "ip_prefix_len": 0}}),
    )
    return draw(st.lists(one, max_size=2))


@st.composite
def rules(draw: st.DrawFn) -> Data:
    ethertype = draw(st.sampled_from(["IPv4", "IPv6", ""]))
    return {
        "rule_uuid": draw(st.sampled_from(["r1", "r2"])),
        "protocol": draw(PROTOCOLS),
        "ethertype": ethertype,
        "src_addresses": draw(addresses()),
        "dst_addresses": draw(addresses()),
        "src_ports": draw(PORTS),
        "dst_ports": draw(PORTS),
    }


@st.composite
def target_list(draw: st.DrawFn) -> Data:
    return {"route_target": draw(st.lists(TARGETS, max_size=3))}


@st.composite
def chosen(draw: st.DrawFn) -> Data:
    """A reference that logs the rules of its target, all or some."""
    rates = st.builds(lambda uuid, rate: {"rule_uuid": uuid, "rate": rate}, st.sampled_from(RULES), st.integers(0, 1))
    return {"to": draw(NAMES), "attr": {"rule": draw(st.lists(rates, max_size=2))}}


def _target(reference: Data) -> tuple[str, ...]:
    return tuple(reference["to"])


@st.composite
def resources(draw: st.DrawFn) -> list[Resource]:
    def some(kind: str, **fields: st.SearchStrategy[Any]) -> list[Resource]:
        names = draw(st.lists(NAMES, min_size=2, max_size=5, unique_by=tuple))
        return [(kind, {"fq_name": name, **{field: draw(value) for field, value in fields.items()}}) for name in names]

    def references(names: st.SearchStrategy[list[str]], most: int) -> st.SearchStrategy[list[Data]]:
        named = st.lists(names, max_size=most, unique_by=tuple)
        return named.map(lambda found: [{"to": name} for name in found])

    found: list[Resource] = [
        ("project", {"fq_name": ["default-domain", name], "vxlan_routing": draw(st.booleans())})
        for name in ("p1", "p2")
    ]
    if draw(st.booleans()):
        system = draw(st.sampled_from([64999, 65535, 65536, 4200000000]))
        found.append(
            ("global_system_config", {"fq_name": ["default-global-system-config"], "autonomous_system": system})
        )
    users_targets = draw(st.lists(st.sampled_from(["target:1:1", "target:1:2", "target:9:9"]), min_size=1, unique=True))
    found += [("route_target", {"fq_name": [target]}) for target in users_targets]
    found += some(
        "security_group",
        configured_security_group_id=st.integers(min_value=0, max_value=2),
        security_group_entries=st.builds(lambda found: {"policy_rule": found}, st.lists(rules(), max_size=3)),
    )
    lists = {field: target_list() for field in LISTS}
    found += some("bgpvpn", **lists)
    found += some("route_table", routes=st.lists(ROUTES, max_size=3).map(lambda routes: {"route": routes}))
    found += some(
        "virtual_network",
        **lists,
        bgpvpn_refs=references(NAMES, most=2),
        route_table_refs=references(NAMES, most=2),
        network_policy_refs=policy_references(NAMES),
        fabric_snat=RARELY,
        multi_policy_service_chains_enabled=RARELY,
        virtual_network_properties=RARELY.map(lambda transit: {"allow_transit": transit}),
        network_ipam_refs=subnets(),
    )
    found += draw(services(NAMES))
    found += some(
        "network_policy",
        network_policy_entries=policy_rules(NAMES).map(lambda found: {"policy_rule": found}),
    )
    found += [
        ("virtual_machine_interface", {**data, "parent_type": "project"})
        for _, data in some("virtual_machine_interface", virtual_network_refs=references(NAMES, most=3))
    ]
    users = st.sampled_from([[target] for target in users_targets])
    found += some(
        "logical_router",
        virtual_machine_interface_refs=references(NAMES, most=3),
        configured_route_target_list=target_list(),
        route_target_refs=references(users, most=1),
        bgpvpn_refs=references(NAMES, most=2),
        logical_router_type=st.sampled_from(["", "snat-routing", "vxlan-routing"]),
    )
    policies = st.lists(st.sampled_from(RULES), max_size=3, unique=True).map(
        lambda uuids: {"policy_rule": [{"rule_uuid": uuid, "action_list": {"simple_action": "pass"}} for uuid in uuids]}
    )
    found += some("network_policy", network_policy_entries=policies)
    found += [
        ("security_logging_object", {**data, "parent_type": "project"})
        for _, data in some(
            "security_logging_object",
            security_logging_object_rate=st.sampled_from([100, 300]),
            network_policy_refs=st.lists(chosen(), max_size=2, unique_by=_target),
            security_group_refs=st.lists(chosen(), max_size=2, unique_by=_target),
        )
    ]
    return found


def in_oracles_form(compiled: NaiveCompile) -> Expected:
    """What the intents want, as the oracle says it."""
    result: Expected = {}
    stored = {(key.kind, tuple(data["fq_name"])): data for key, data in compiled.stored.items()}
    objects = {(name.kind, name.fq_name): data for name, data in compiled.objects().items()}
    for (kind, name), data in {**stored, **objects}.items():
        match kind:
            case "access_control_list":
                fields = {"parent_uuid": data["parent_uuid"], "access_control_list_entries": None}
                fields["access_control_list_entries"] = data["access_control_list_entries"]
                result[kind, name] = normal(fields)
            case "route_target":
                result[kind, name] = {}
            case "routing_instance" | "logical_router":
                entries = data.get("route_target_refs", [])
                found = {e["to"][0]: e.get("attr", {}).get("import_export", "") for e in entries}
                result[kind, name] = {"route_target_refs": dict(sorted(found.items()))}
                if kind == "logical_router":
                    result[kind, name]["source_nat"] = []  # no router has a gateway
                if kind == "routing_instance":
                    chain = {field: data.get(field) for field in (*INFORMATION, "routing_instance_has_pnf")}
                    result[kind, name]["chain"] = normal(chain)
                    linked = [":".join(entry["to"]) for entry in data.get("routing_instance_refs", [])]
                    routes = normal(data.get("static_route_entries", {}).get("route", []))
                    result[kind, name] |= {"routing_instance_refs": sorted(linked), "static_route_entries": routes}
            case "virtual_machine_interface":
                rules = normal((data.get("vrf_assign_table") or {}).get("vrf_assign_rule") or [])
                steering = contrail_transparent.steering_of(data)
                fields = {"vrf_assign_table": rules, "steering": steering, "mirror": mirror_address_of(data)}
                fields["of_services"] = contrail_services.stored_of_services(data)
                fields["pairs"] = contrail_services.stored_pairs(data)
                result[kind, name] = {"bgp_router_refs": {}, **fields}  # no BGP service is here
            case "service_instance":
                result[kind, name] = {"instance_ip_refs": contrail_services.stored_addresses(data)}
            case "instance_ip" if (kind, name) in objects and contrail_services.is_of_service(data):
                result[kind, name] = contrail_services.stored_fields(data)
            case "instance_ip" if (kind, name) in objects:
                ipam = [":".join(entry["to"]) for entry in data["network_ipam_refs"]]
                fields = {"family": data["instance_ip_family"], "secondary": data["instance_ip_secondary"]}
                result[kind, name] = {**fields, "ipam": ipam}
            case "security_logging_object":
                logged = data.get("security_logging_object_rules", {}).get("rule", [])
                rules = sorted((rule["rule_uuid"], rule["rate"]) for rule in logged)
                result[kind, name] = {"security_logging_object_rules": rules}
    return result


def describe(compiled: NaiveCompile) -> None:
    """So that the run can report how much the examples relate."""
    wanted = in_oracles_form(compiled)
    lists = [fields["route_target_refs"] for (kind, _), fields in wanted.items() if kind == "routing_instance"]
    event("merged routing instance" if any(len(found) > 2 for found in lists) else "nothing merged")
    reasons = {problem.reason for outcome in compiled.outcomes for problem in outcome.problems}
    linked = [fields.get("routing_instance_refs") for (kind, _), fields in wanted.items() if kind == "routing_instance"]
    event("linked routing instances" if any(linked) else "nothing linked")
    event("forward or broken reference" if "UnknownSecurityGroup" in reasons else "all groups there")


@share(0.5)
@given(resources())
def test_the_intents_want_what_the_oracle_expects(applied: list[Resource]) -> None:
    compiled = NaiveCompile(applied)
    describe(compiled)
    world: World = {}
    for key, data in compiled.stored.items():
        world.setdefault(key.kind, {})[key.uuid] = data
    assert in_oracles_form(compiled) == expected(world, compiled.numbers)
