"""Random services of chains, and subnets of networks: few of each, so that most chains stand."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.policies import SERVICES

Json = dict[str, Any]

MODES = ("in-network", "in-network", "in-network-nat", "transparent", "")
SUBNETS = (("10.0.0.0", 24), ("20.0.0.0", 24), ("2000::", 64))


def subnets() -> st.SearchStrategy[list[Json]]:
    """The references of a network to an IPAM."""
    one = st.sampled_from(SUBNETS).map(lambda found: {"subnet": {"ip_prefix": found[0], "ip_prefix_len": found[1]}})
    lists = st.lists(one, max_size=3, unique_by=str)
    return lists.map(lambda found: [{"to": ["default-domain", "p1", "a"], "attr": {"ipam_subnets": found}}])


@st.composite
def services(draw: st.DrawFn, networks: st.SearchStrategy[Any]) -> list[tuple[str, Json]]:
    """(kind, data) of the services that rules name, with templates, port tuples or machines, ports and addresses."""
    found: list[tuple[str, Json]] = [("network_ipam", {"fq_name": ["default-domain", "p1", "a"]})]
    for service in SERVICES:
        name = service.split(":")
        physical = draw(st.sampled_from(["", "", "physical-device"]))
        properties: Json = {"service_mode": draw(st.sampled_from(MODES)), "service_virtualization_type": physical}
        types = [{"service_interface_type": side} for side in ("left", "right")]
        properties["interface_type"] = draw(st.sampled_from([types, types[::-1], types[:1]]))
        template = ["default-domain", name[-1]]
        found.append(("service_template", {"fq_name": template, "service_template_properties": properties}))
        references = draw(st.sampled_from([[{"to": template}], [{"to": template}], []]))
        named = st.one_of(networks.map(":".join), st.just(""))
        interfaces = [{"virtual_network": text} for text in draw(st.lists(named, min_size=1, max_size=2))]
        own = {"auto_policy": draw(st.booleans()), "interface_list": interfaces}
        data: Json = {"fq_name": name, "service_template_refs": references, "service_instance_properties": own}
        found.append(("service_instance", data))
        for place in range(draw(st.integers(0, 2))):
            on_machine = draw(st.booleans())
            host = [f"{name[-1]}{place}"] if on_machine else [*name, f"t{place}"]
            kind = "virtual_machine" if on_machine else "port_tuple"
            instance = {"service_instance_refs": [{"to": name}]} if on_machine else {}
            found.append((kind, {"fq_name": host, **instance}))
            for side in draw(st.sampled_from([("left", "right"), ("left", "right"), ("left", "left"), ("right",)])):
                found += draw(_port(f"{name[-1]}-{place}-{side}", side, kind, host, networks))
    return list({(kind, *data["fq_name"]): (kind, data) for kind, data in found}.values())


@st.composite
def _port(
    draw: st.DrawFn, name: str, side: str, kind: str, host: list[str], networks: st.SearchStrategy[Any]
) -> list[tuple[str, Json]]:
    port = ["default-domain", "p1", name]
    properties: Json = {"service_interface_type": side}
    analyzer = draw(st.sampled_from(["", "", "", *SERVICES]))
    if analyzer:
        properties["interface_mirror"] = {"mirror_to": {"analyzer_name": analyzer}}
    data: Json = {
        "fq_name": port,
        "parent_type": "project",
        "virtual_machine_interface_properties": properties,
        "virtual_network_refs": [{"to": list(draw(networks))}],
        f"{kind}_refs": [{"to": host}],
    }
    found = [("virtual_machine_interface", data)]
    for address in draw(st.lists(st.sampled_from(["10.0.0.7", "10.0.0.8", "2000::7"]), max_size=2, unique=True)):
        fields: Json = {"instance_ip_address": address, "virtual_machine_interface_refs": [{"to": port}]}
        fields["service_instance_ip"] = draw(st.sampled_from([True, True, False]))
        found.append(("instance_ip", {"fq_name": [f"{name}-{address}"], **fields}))
    return found
