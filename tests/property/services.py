"""Random services of chains, and subnets of networks: few of each, so that most chains stand.

A part is (kind, data) of one resource: a template, a service instance, a host, a port of it or an address of that.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.property.policies import SERVICES
from tests.property.service_ports import own_attached, pairs

Json = dict[str, Any]
Part = tuple[str, Json]

MODES = ("in-network", "in-network", "in-network-nat", "transparent", "")
SERVING_MODES = ("in-network", "in-network", "in-network-nat", "transparent")
SUBNETS = (("10.0.0.0", 24), ("20.0.0.0", 24), ("2000::", 64))
IPAM = ("default-domain", "p1", "a")
OWNERS = (("default-domain", "p1", "abc"), ("default-domain", "p2", "ab"))

ADDRESSES = ("10.0.0.7", "10.0.0.8", "2000::7")
SIDES = (("left", "right"), ("left", "right"), ("left", "left"), ("right",))
_hosts = st.sampled_from(["virtual_machine", "port_tuple"])


def subnets() -> st.SearchStrategy[list[Json]]:
    """The references of a network to an IPAM."""
    one = st.sampled_from(SUBNETS).map(lambda found: {"subnet": {"ip_prefix": found[0], "ip_prefix_len": found[1]}})
    lists = st.lists(one, max_size=3, unique_by=str)
    return lists.map(lambda found: [{"to": list(IPAM), "attr": {"ipam_subnets": found}}])


@st.composite
def services(draw: st.DrawFn, networks: st.SearchStrategy[Any]) -> list[Part]:
    """The services that rules name, with templates, port tuples or machines, ports and addresses."""
    found: list[Part] = [("network_ipam", {"fq_name": list(IPAM)})]
    for service in SERVICES[:2]:
        found += [_template(draw, service, MODES), _instance(draw, service, networks)]
        for place in range(draw(st.integers(0, 2))):
            kind = draw(_hosts)
            found.append(_host(service, place, kind))
            for side in draw(st.sampled_from(SIDES)):
                port = _port(draw, service, place, side, side, kind, draw(networks))
                addresses = draw(st.lists(st.sampled_from(ADDRESSES), max_size=2, unique=True))
                found += [port, *(_address(draw, port, address) for address in addresses)]
    return list({(kind, *data["fq_name"]): (kind, data) for kind, data in found}.values())


@st.composite
def serving(draw: st.DrawFn, service: str, networks: st.SearchStrategy[Any], left: Any, right: Any) -> list[Part]:
    """A service that can serve between two networks, unless it lacks an address on one side."""
    kind = draw(_hosts)
    found = [_template(draw, service, SERVING_MODES), _instance(draw, service, networks), _host(service, 0, kind)]
    interfaces = found[1][1]["service_instance_properties"]["interface_list"]
    if draw(st.integers(0, 2)):
        given = (interfaces * 2)[:2]
        interfaces[:] = [
            one | {"virtual_network": ":".join(end)} for one, end in zip(given, (left, right), strict=True)
        ]
    if found[1][1]["service_template_refs"] == []:
        found[1][1]["service_template_refs"] = [{"to": found[0][1]["fq_name"]}]
    for side, network in (("left", left), ("right", right)):
        port = _port(draw, service, 0, side, side, kind, network)
        addresses = draw(st.sampled_from([*[ADDRESSES[:1]] * 6, *[ADDRESSES[1:]] * 2, *[ADDRESSES] * 3, ()]))
        found.append(port)
        found += [
            (ip, data | {"service_instance_ip": True}) for ip, data in (_address(draw, port, a) for a in addresses)
        ]
    return found


@st.composite
def parts(draw: st.DrawFn, networks: st.SearchStrategy[Any]) -> Part:
    """One part of a service, as it comes or changes."""
    service, place, kind = draw(st.sampled_from(SERVICES)), draw(st.integers(0, 1)), draw(_hosts)
    match draw(st.integers(0, 6)):
        case 0:
            return _template(draw, service, MODES)
        case 1:
            return _instance(draw, service, networks)
        case 2:
            return _host(service, place, kind)
        case 3 | 4:
            name = draw(st.sampled_from(["left", "right"]))
            side = draw(st.sampled_from([name, name, name, "left", "right", "management"]))
            return _port(draw, service, place, name, side, kind, draw(networks))
        case _:
            port = _port(draw, service, place, draw(st.sampled_from(["left", "right"])), "", kind, ())
            return _address(draw, port, draw(st.sampled_from(ADDRESSES)))


def _template(draw: st.DrawFn, service: str, modes: tuple[str, ...]) -> Part:
    physical = draw(st.sampled_from(["", "", "physical-device"]))
    properties: Json = {
        "version": 2,
        "service_mode": draw(st.sampled_from(modes)),
        "service_virtualization_type": physical,
    }
    types = [{"service_interface_type": side} for side in ("left", "right")]
    properties["interface_type"] = draw(st.sampled_from([types, types[::-1], types[:1]]))
    name = ["default-domain", service.split(":")[-1]]
    return "service_template", {"fq_name": name, "service_template_properties": properties}


def _instance(draw: st.DrawFn, service: str, networks: st.SearchStrategy[Any]) -> Part:
    reference = {"to": ["default-domain", service.split(":")[-1]]}
    named = st.one_of(networks.map(":".join), st.just(""))
    given = draw(st.lists(named, min_size=1, max_size=2))
    interfaces = [{"virtual_network": text, **draw(pairs)} for text in given]
    return "service_instance", {
        "fq_name": service.split(":"),
        "service_template_refs": draw(st.sampled_from([[reference], [reference], []])),
        "service_instance_properties": {
            "auto_policy": draw(st.sampled_from([False, False, True])),
            "interface_list": interfaces,
        },
    }


def _host(service: str, place: int, kind: str) -> Part:
    name = service.split(":")
    if kind == "port_tuple":
        return kind, {"fq_name": [*name, f"t{place}"]}
    return kind, {"fq_name": [f"{name[-1]}{place}"], "service_instance_refs": [{"to": name}]}


def _port(draw: st.DrawFn, service: str, place: int, name: str, side: str, kind: str, network: Any) -> Part:
    """``side``: what the port is, whatever its ``name`` says."""
    properties: Json = {"service_interface_type": side}
    analyzer = draw(st.sampled_from(["", "", "", *SERVICES]))
    if analyzer:
        properties["interface_mirror"] = {"mirror_to": {"analyzer_name": analyzer}}
    data: Json = {
        "fq_name": ["default-domain", "p1", f"{service.split(':')[-1]}-{place}-{name}"],
        "parent_type": "project",
        "virtual_machine_interface_properties": properties,
        "virtual_network_refs": [{"to": list(network)}],
        f"{kind}_refs": [{"to": _host(service, place, kind)[1]["fq_name"]}],
        **draw(own_attached(st.sampled_from(OWNERS))),
    }
    return "virtual_machine_interface", data


def _address(draw: st.DrawFn, port: Part, address: str) -> Part:
    fields: Json = {"instance_ip_address": address, "virtual_machine_interface_refs": [{"to": port[1]["fq_name"]}]}
    fields["service_instance_ip"] = draw(st.sampled_from([True, True, False]))
    return "instance_ip", {"fq_name": [f"{port[1]['fq_name'][-1]}-{address}"], **fields}
