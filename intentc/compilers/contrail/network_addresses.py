"""Looks up the addresses of interfaces, and the subnets of networks with their gateways.

Rules: docs/contrail.md D.8.1, D.8.4, D.13. ``service_addresses.py`` claims the addresses of services.

It reads only through the views that it gets, which record each read.
"""

from __future__ import annotations

import ipaddress

from intentc import View


def primary_address(interface: View, version: int) -> str:
    """The primary IPv4 or IPv6 address of an interface: that of the first instance IP by name that is not secondary.
    Empty without one."""
    for instance_ip in interface.back_references("instance_ip"):
        address = instance_ip.instance_ip_address
        if not instance_ip.instance_ip_secondary and version_of(address) == version:
            return str(address)
    return ""


def service_address(interface: View, version: int) -> str:
    """The IPv4 or IPv6 address of the first instance IP by name that serves the interface's service instance. Empty
    without one."""
    for instance_ip in interface.back_references("instance_ip"):
        address = instance_ip.instance_ip_address
        if instance_ip.service_instance_ip and version_of(address) == version:
            return str(address)
    return ""


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
