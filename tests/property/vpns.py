"""Random BGP VPNs, route tables and logging objects over few names, so that networks, routers and groups meet them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.service_ports import routes_to_services

Json = dict[str, Any]

LISTS = ("route_target_list", "import_route_target_list", "export_route_target_list")
RULES = tuple(f"10000000-0000-4000-8000-{place:012x}" for place in range(3))


def bgpvpn_fields(target_lists: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """The fields of one BGP VPN."""
    return st.fixed_dictionaries(dict.fromkeys(LISTS, target_lists))


def bgpvpn_references(names: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Json]]:
    """None mostly, as the server rejects a BGP VPN on a network whose router has one."""
    one = names.map(lambda name: [{"to": list(name)}])
    return st.one_of(st.just([]), one)


_next_hop = st.builds(
    lambda hop, sort: {"next_hop": hop, "next_hop_type": sort},
    st.sampled_from(["10.0.0.1", "10.0.0.2"]),
    st.sampled_from(["ip-address", "ip-address", "service-instance"]),
)
_route = st.builds(
    lambda hop, community: {**hop, "community_attributes": {"community_attribute": community}},
    st.one_of(_next_hop, routes_to_services),
    st.lists(st.sampled_from(["1:1", "1:2"]), max_size=1),
)

table_fields: st.SearchStrategy[Json] = st.dictionaries(
    st.sampled_from(["1.1.1.0/24", "2.2.2.0/24", "2001:db8::/32"]), _route, max_size=2
).map(lambda routes: {"routes": {"route": [{"prefix": prefix, **route} for prefix, route in routes.items()]}})
"""The fields of one route table; the server rejects a prefix that is there twice."""


@st.composite
def logging_fields(draw: st.DrawFn, names: st.SearchStrategy[Any]) -> Json:
    """The fields of one logging object; ``names``: of policies and groups."""
    rules = st.builds(
        lambda uuid, rate: {"rule_uuid": uuid, **({"rate": rate} if rate else {})},
        st.sampled_from(RULES),
        st.sampled_from([0, 1, 7]),
    )

    def references() -> list[Json]:
        chosen = draw(st.lists(names, max_size=2, unique=True))
        return [{"to": list(name), "attr": {"rule": draw(st.lists(rules, max_size=2))}} for name in chosen]

    return {
        "parent_type": "project",
        "security_logging_object_rate": draw(st.sampled_from([100, 7])),
        "network_policy_refs": references(),
        "security_group_refs": references(),
    }
