"""Random services of version 1, for which the compiler makes machines, ports and addresses (docs/contrail.md D.8.10).

They come and change within a history only: which address the server gives to a port depends on who came first. The
instances bear the names of the services that rules name, so that chains lead through machines that the compiler made.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.policies import SERVICES
from tests.property.services import Part

Json = dict[str, Any]

TEMPLATE = ("default-domain", "version1")
GROUP = ("default-domain", "p1", "default")
"""The group in which the ports of such services are, while it is there."""

NAMED_BY_NO_RULE = "default-domain:p1:s5"
"""A service that no user gives hosts."""

_LEFT, _RIGHT, _MANAGEMENT = ({"service_interface_type": side} for side in ("left", "right", "management"))
_SHARED = [_LEFT | {"shared_ip": True}, _RIGHT]
_types = st.sampled_from([[_LEFT, _RIGHT], [_LEFT, _RIGHT], [_MANAGEMENT, _LEFT, _RIGHT], _SHARED, [_LEFT]])
_routes = st.sampled_from([{}, {}, {"static_routes": {"route": [{"prefix": "10.7.0.0/16", "next_hop": "10.0.0.1"}]}}])


@st.composite
def _template(draw: st.DrawFn) -> Part:
    properties: Json = {
        "version": draw(st.sampled_from([*[1] * 5, 2])),
        "service_mode": draw(st.sampled_from(["in-network", "in-network", "in-network-nat", "transparent"])),
        "service_virtualization_type": draw(st.sampled_from([*[""] * 7, "physical-device"])),
        "interface_type": draw(_types),
    }
    return "service_template", {"fq_name": list(TEMPLATE), "service_template_properties": properties}


@st.composite
def _instance(draw: st.DrawFn, networks: st.SearchStrategy[Any]) -> Part:
    named = st.one_of(networks.map(":".join), networks.map(":".join), st.just(""))
    given = draw(st.lists(named, min_size=1, max_size=3))
    return "service_instance", {
        "fq_name": draw(st.sampled_from((*SERVICES, *[NAMED_BY_NO_RULE] * 3))).split(":"),
        "service_template_refs": [{"to": list(TEMPLATE)}],
        "service_instance_properties": {
            "interface_list": [{"virtual_network": text, **draw(_routes)} for text in given],
            "ha_mode": draw(st.sampled_from(["", "", "active-standby", "active-active"])),
            # Made for none of 101: more than the compiler makes.
            "scale_out": {"max_instances": draw(st.sampled_from([0, 1, 2, 2, 3, 3, 101]))},
        },
    }


_group: Part = ("security_group", {"fq_name": list(GROUP)})


@st.composite
def machine_parts(draw: st.DrawFn, networks: st.SearchStrategy[Any]) -> list[Part]:
    """What comes or changes of services of version 1: the template, an instance, the group. ``networks``: fq_names."""
    some = draw(st.sampled_from([*[(True, True)] * 4, (True, False), (False, True)]))
    parts = (draw(_template()), draw(_instance(networks)))
    group = [_group] if draw(st.integers(0, 3)) == 0 else []
    return [*group, *(part for part, is_there in zip(parts, some, strict=True) if is_there)]
