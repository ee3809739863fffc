"""Random ways from hosts to the ports of a switch: two hosts, one switch, and what leads from one to the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

Json = dict[str, Any]
_ROOT = "default-global-system-config"
HOSTS = ("one", "two")


class Part(NamedTuple):
    kind: str
    fq_name: tuple[str, ...]
    fields: Json


def _pairs(**pairs: str) -> Json:
    return {"key_value_pair": [{"key": key, "value": value} for key, value in pairs.items()]}


def _link(switch: str, port: str) -> Json:
    return {"bms_port_info": {"local_link_connection": {"switch_info": switch, "port_id": port}}}


DEVICES = (
    Part("fabric", (_ROOT, "f"), {}),
    Part(
        "physical_router", (_ROOT, "leaf"), {"physical_router_hostname": "leaf", "fabric_refs": [{"to": [_ROOT, "f"]}]}
    ),
    *(Part("node", (_ROOT, host), {"hostname": host}) for host in HOSTS),
)
"""Above the others."""

_host = st.sampled_from(HOSTS)
_place = st.sampled_from(["xe-0:0", "xe-0_1"])
ways = st.one_of(
    st.builds(lambda name: Part("physical_interface", (_ROOT, "leaf", name), {}), _place),
    st.builds(
        lambda host, switch, place: Part("port", (_ROOT, host, "ens"), _link(switch, place.replace(":", "_"))),
        _host, st.sampled_from(["leaf", "leaf", "leaf", "spine"]), _place,
    ),
    st.builds(
        lambda host, network: Part(
            "virtual_router", (_ROOT, host), {"virtual_router_sriov_physical_networks": _pairs(**{network: "ens"})}
        ),
        _host, st.sampled_from(["physnet", "physnet", "other"]),
    ),
    st.builds(
        lambda fabrics: Part("physical_router", (_ROOT, "leaf"), {"fabric_refs": fabrics}),
        st.sampled_from([[{"to": [_ROOT, "f"]}], [{"to": [_ROOT, "f"]}], []]),
    ),
)  # fmt: skip

provided = st.sampled_from([{}, *({"segmentation_id": tag, "physical_network": "physnet"} for tag in (7, 8))])
"""Of a network."""

bindings = st.sampled_from([{}, {}, *(_pairs(vnic_type="direct", host_id=host) for host in (*HOSTS, *HOSTS, "null"))])
"""Of an interface."""

KINDS = ("fabric", "physical_router", "physical_interface", "node", "port", "virtual_router")
"""Of all these."""
