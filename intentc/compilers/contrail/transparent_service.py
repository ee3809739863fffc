"""How a service chain steers traffic through a transparent service, which has no addresses in the networks
(docs/contrail.md D.8.4, D.8.5).

The chain has an address of each family for the service, and each host of the service knows the chain by a VLAN: its
ports refer to the chain's routing instances with both. Which chains there are is the business of ``service_chain.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Intent, Name, ReferenceClaim, ResourceClaim, refer

from .service_chain_names import ServiceChain
from .service_ports import Addresses, Host

VLAN_POOL = "service_chain_vlan:"
"""The API server's family of pools, one pool for each host (docs/contrail.md B.6)."""

CHAIN_IPAM = Name("network_ipam", ("default-domain", "default-project", "service-chain-flat-ipam"))
"""Where the addresses of chains come from."""

FAMILIES = ("v4", "v6")

LEFT_MAC, RIGHT_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
"""The hardware addresses of frames that enter a service on its left; on its right they are exchanged."""


def address_claims(intent: Intent, chain: ServiceChain, service: str) -> Iterator[Claim]:
    """The instance IPs with which the server gives the chain its addresses for the service."""
    for family in FAMILIES:
        name = (_address_name(chain, service, family),)
        holder = intent.owned("instance_ip", name, instance_ip_family=family, instance_ip_secondary=True)
        yield holder
        yield refer(holder, CHAIN_IPAM)


def given_addresses(chain: ServiceChain, service: str, ctx: Context) -> Addresses:
    """The addresses that the server gave; empty for a family without one."""
    found = []
    for family in FAMILIES:
        name = (_address_name(chain, service, family),)
        # Somebody else's address would lead the chain's traffic away; planning reports the name.
        holder = None if ctx.is_taken("instance_ip", name) else ctx.find("instance_ip", name)
        found.append(str(holder.instance_ip_address) if holder is not None else "")
    return Addresses(*found)


def vlans(hosts: Iterable[tuple[int, Host]], ctx: Context) -> list[int]:
    """The VLAN by which each host knows the chain, for the service at a position of it. Waits until there are all."""
    return ctx.allocate_all(
        (f"{VLAN_POOL}{host.host.uuid}", f"vlan.{position}.{host.host.uuid}") for position, host in hosts
    )


def steering(
    host: Host, tag: int, addresses: Addresses, left: ResourceClaim, right: ResourceClaim
) -> Iterator[ReferenceClaim]:
    """The references of the host's left and right port to the chain's routing instances."""
    for port, instance, source, destination in (
        (host.left, left, LEFT_MAC, RIGHT_MAC),
        (host.right, right, RIGHT_MAC, LEFT_MAC),
    ):
        rule: dict[str, Any] = {
            "direction": "both",
            "vlan_tag": tag,
            "src_mac": source,
            "dst_mac": destination,
            "service_chain_address": addresses.version4,
            "ipv6_service_chain_address": addresses.version6,
        }
        yield refer(port, instance, **rule)


def _address_name(chain: ServiceChain, service: str, family: str) -> str:
    return f"{chain.instance_name(service)}-{family}"
