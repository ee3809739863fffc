"""Random network policies over few names, so that rules apply to networks, cover each other and name policies."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from hypothesis import strategies as st

Json = dict[str, Any]

SUBNETS = ("10.0.0.0/8", "10.1.0.0/16", "10.1.1.1/32", "::/0", "2001:db8::/32")
SERVICES = tuple(f"default-domain:p1:s{number}" for number in range(1, 5))


def _subnet(text: str) -> Json:
    prefix, _, length = text.partition("/")
    return {"ip_prefix": prefix, "ip_prefix_len": int(length)}


_subnets = st.sampled_from(SUBNETS).map(_subnet)
_range = st.sampled_from(
    [
        {"start_port": -1, "end_port": -1},
        {"start_port": -1, "end_port": -1},
        {"end_port": 65535},
        {"start_port": 80, "end_port": 80},
        {"start_port": 1, "end_port": 1000},
    ]
)
_ports = st.lists(_range, min_size=1, max_size=2)
_few_ports = st.one_of(st.just([{"start_port": -1, "end_port": -1}]), _ports)


_few_subnets = st.lists(_subnets, max_size=2)


class _Of(NamedTuple):
    """Strategies over some names, made once: making them costs more than drawing from them."""

    network: st.SearchStrategy[str]
    policy: st.SearchStrategy[str]


@st.composite
def _address(draw: st.DrawFn, of: _Of) -> Json:
    how = draw(_ten)
    address: Json = {}
    if how < 6:
        address["virtual_network"] = draw(of.network)
    elif how < 8:
        address["network_policy"] = draw(of.policy)
    if how in (4, 5, 8, 9):
        address["subnet"] = draw(_subnets)
    if how in (5, 9):
        address["subnet_list"] = draw(_few_subnets)
    return address


@functools.cache
def _addresses(names: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Json]]:
    of = _Of(st.one_of(names.map(":".join), st.sampled_from(["any", "any", "local"])), names.map(":".join))
    return st.lists(_address(of), min_size=1, max_size=2)


_ten = st.integers(0, 9)
_one_in_six = st.integers(0, 5)
_number_of_rules = st.integers(1, 3)
_action = st.sampled_from(["pass", "pass", "pass", "deny"])
_services = st.lists(st.sampled_from(SERVICES), min_size=1, max_size=4, unique=True)
_analyzer = st.sampled_from(SERVICES)
_direction = st.sampled_from(["<>", ">"])
_protocol = st.sampled_from(["any", "any", "tcp", "ICMP", "17"])
_ethertype = st.sampled_from(["IPv4", "IPv6"])


@st.composite
def policy_rules(draw: st.DrawFn, names: st.SearchStrategy[Any]) -> list[Json]:
    """The rules of one policy; ``names``: fq_names of networks and policies. The uuids are the users', so that they are
    the same in every world."""
    found, addresses = [], _addresses(names)
    for place in range(draw(_number_of_rules)):
        action: Json = {"simple_action": draw(_action)}
        if draw(_one_in_six) == 0:
            action = {"apply_service": draw(_services)}
        if draw(_ten) == 0:
            action["mirror_to"] = {"analyzer_name": draw(_analyzer)}
        found.append(
            {
                "rule_uuid": f"20000000-0000-4000-8000-{place:012x}",
                "direction": draw(_direction),
                "protocol": draw(_protocol),
                "ethertype": draw(_ethertype),
                "src_addresses": draw(addresses),
                "dst_addresses": draw(addresses),
                "src_ports": draw(_few_ports),
                "dst_ports": draw(_few_ports),
                "action_list": action,
            }
        )
    return found


@st.composite
def chain_rule(draw: st.DrawFn, left: Any, right: Any, services: list[str]) -> Json:
    """A rule that leads the traffic between two networks through services; ``any`` may stand for one of them."""
    ends = [{"virtual_network": draw(st.sampled_from([":".join(name)] * 7 + ["any"]))} for name in (left, right)]
    properties = draw(st.sampled_from([{}, {}, {"service_properties": {"retain_as_path": True}}]))
    return {
        "rule_uuid": f"20000000-0000-4000-8000-{9:012x}",
        "direction": draw(st.sampled_from(["<>", "<>", ">"])),
        "protocol": draw(st.sampled_from(["any", "tcp"])),
        "ethertype": "IPv4",
        "src_addresses": ends[:1],
        "dst_addresses": ends[1:],
        "src_ports": draw(_few_ports),
        "dst_ports": draw(_few_ports),
        "action_list": {"simple_action": "pass", "apply_service": services, **properties},
    }


@st.composite
def policy_references(draw: st.DrawFn, names: st.SearchStrategy[Any]) -> list[Json]:
    """The policies that a network attaches: in order, in none, and some with a timer."""
    found = []
    for name in draw(st.lists(names, min_size=1, max_size=3, unique_by=tuple)):
        attribute: Json = draw(
            st.sampled_from(
                [
                    {"sequence": {"major": 1, "minor": 1}},
                    {"sequence": {"major": 1}},
                    {"sequence": {}},
                    {"sequence": {"major": 2}, "timer": {"start_time": "8"}},
                    {"timer": {"start_time": "8"}},
                    {},
                ]
            )
        )
        found.append({"to": list(name), "attr": attribute})
    return found
