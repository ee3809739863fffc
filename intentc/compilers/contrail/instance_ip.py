"""The addresses of interfaces: instance, floating and alias IPs (docs/contrail.md D.14), and the subnets of networks.

Nothing is compiled from an address alone: its intent reports one that can't be read. Services (D.8), clients of BGP
(D.13) and tables of ports (D.8.8) look addresses up here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, Name, View


class _Address(Intent):
    """Reports an address that is set and is neither an address nor one with a prefix length."""

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        field = f"{self.kind}_address"
        text: str = self.field(field)
        if text and not version_of(text):
            ctx.problem("MalformedAddress", f"{field} {text!r} is neither an IPv4 nor an IPv6 address; correct it")
        return ()


class InstanceIpIntent(_Address):
    kind = "instance_ip"


class FloatingIpIntent(_Address):
    kind = "floating_ip"


class AliasIpIntent(_Address):
    kind = "alias_ip"


IPAM = "default-network-ipam"
"""The name of the IPAM of a project, and of the one that all projects share."""

SHARED_IPAM = Name("network_ipam", ("default-domain", "default-project", IPAM))


def primary_address(interface: View, version: int) -> str:
    """The primary IPv4 or IPv6 address of an interface: that of the first instance IP by name that is not secondary.
    Empty without one."""
    found = (one for one in interface.back_references("instance_ip") if not one.instance_ip_secondary)
    return _first_address(found, version)


def service_address(interface: View, version: int) -> str:
    """The IPv4 or IPv6 address of the first instance IP by name that serves the interface's service instance. Empty
    without one."""
    found = (one for one in interface.back_references("instance_ip") if one.service_instance_ip)
    return _first_address(found, version)


def _first_address(instance_ips: Iterable[View], version: int) -> str:
    addresses = (str(one.instance_ip_address) for one in instance_ips)
    return next((address for address in addresses if version_of(address) == version), "")


def prefixes(network: View, version: int) -> list[str]:
    """The IPv4 or IPv6 subnets on the network's references to IPAMs, in the order in which these are written."""
    found = []
    for _, subnets in network.written_references("network_ipam"):
        for subnet in subnets.ipam_subnets:
            prefix = f"{subnet.subnet.ip_prefix}/{subnet.subnet.ip_prefix_len}"
            if version_of(prefix) == version:
                found.append(prefix)
    return found


def gateway(network: View, address: str) -> str:
    """The default gateway of the network's subnet that holds ``address``; empty without one."""
    if not address:
        return ""
    wanted = ipaddress.ip_interface(address).ip
    for _, subnets in network.reference_attributes("network_ipam"):
        for subnet in subnets.ipam_subnets:
            prefix = f"{subnet.subnet.ip_prefix}/{subnet.subnet.ip_prefix_len}"
            try:
                if wanted in ipaddress.ip_network(prefix, strict=False):
                    return str(subnet.default_gateway)
            except ValueError:
                continue
    return ""


def version_of(address: str) -> int:
    """4 or 6, of an address or a prefix; 0 for what is neither."""
    try:
        return ipaddress.ip_interface(address).version
    except ValueError:
        return 0
