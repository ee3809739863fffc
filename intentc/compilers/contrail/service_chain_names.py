"""The identity of a service chain, and the names that follow from it (docs/contrail.md D.8.2).

A chain is what two networks agree on: their names, the match of a rule, and the services in between. Its uuid follows
from that alone, so it survives restarts, and both networks name the same chain without asking each other. Which
routing instances, addresses and interfaces a chain needs is the business of the chain's own intent.

Pure functions of names.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from uuid import UUID, uuid5

import msgspec

_NAMESPACE = UUID("6a0c3f0e-4b53-5d0c-9c1e-0d7b1b7a2f11")
"""The namespace of chains' uuids. It never changes: routing instances carry the uuids in their names."""

_INSTANCE = re.compile(r"service-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-")

Ports = tuple[tuple[int, int], ...]
"""(start, end) of each range."""


class ServiceChain(NamedTuple):
    """``left`` is the source side. Networks and ``services`` (service instances) are fq_names joined by ``:``;
    ``protocol`` as access control lists have it."""

    left: str
    right: str
    direction: str
    source_ports: Ports
    destination_ports: Ports
    protocol: str
    services: tuple[str, ...]

    @property
    def uuid(self) -> str:
        return str(uuid5(_NAMESPACE, msgspec.json.encode(self).decode()))

    def instance_name(self, service: str) -> str:
        """The name of the chain's routing instances for ``service``, the same below both networks."""
        return f"service-{self.uuid}-{service.replace(':', '_')}"

    def routing_instance(self, network: str, service: str) -> str:
        """The fq_name of the chain's routing instance for ``service`` below ``network``."""
        return f"{network}:{self.instance_name(service)}"

    def edge(self, network: str) -> str:
        """The fq_name of the routing instance through which traffic of ``network``, one of its ends, enters it."""
        return self.routing_instance(network, self.services[0 if network == self.left else -1])


def chain_of(instance: tuple[str, ...]) -> str:
    """The uuid of the chain to which a routing instance of this fq_name belongs; empty for others. That of a network
    has the network's name.

    >>> chain_of(("d", "p", "vn", "service-00000000-0000-0000-0000-000000000000-d_p_s"))
    '00000000-0000-0000-0000-000000000000'
    """
    found = _INSTANCE.match(instance[-1])
    return found[1] if found and instance[-1] != instance[-2:][0] else ""
