"""The identity of a service chain, the names that follow from it, and the layout of its routing instances
(docs/contrail.md D.8.2, D.8.3).

A chain is what two networks agree on: their names, the match of a rule, and the services in between. Its uuid follows
from that alone, so it survives restarts, and both networks name the same chain without asking each other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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


class Instance(NamedTuple):
    """A routing instance of the chain, below ``network``; ``far`` is the chain's other network. ``service``: the
    position of its service. ``is_edge``: traffic of ``network`` enters the chain here."""

    name: str
    network: str
    far: str
    service: int
    is_edge: bool


class Layout(NamedTuple):
    """``links``: pairs of instances that are linked. ``entries``: (edge, network with whose primary instance it is
    linked). ``imports``: (instance, network whose own route target it imports)."""

    instances: tuple[Instance, ...]
    links: tuple[tuple[str, str], ...]
    entries: tuple[tuple[str, str], ...]
    imports: tuple[tuple[str, str], ...]


def layout(chain: ServiceChain, translates: Sequence[bool], *, is_joined: bool) -> Layout:
    """``translates``: whether each service translates addresses, so that it has no instance on the right.
    ``is_joined``: the chain's networks are linked directly, so its edges import their route targets instead."""
    instances: list[Instance] = []
    links: list[tuple[str, str]] = []
    entries: list[tuple[str, str]] = []
    imports: list[tuple[str, str]] = []
    last = len(chain.services) - 1
    right_before = ""
    for position, service in enumerate(chain.services):
        left = chain.routing_instance(chain.left, service)
        instances.append(Instance(left, chain.left, chain.right, position, position == 0))
        if position == 0:
            (imports if is_joined else entries).append((left, chain.left))
        elif right_before:
            links.append((right_before, left))
        else:
            imports.append((left, chain.left))
        right_before = ""
        if not translates[position]:
            right_before = chain.routing_instance(chain.right, service)
            instances.append(Instance(right_before, chain.right, chain.left, position, position == last))
    if right_before:
        (imports if is_joined else entries).append((right_before, chain.right))
    return Layout(tuple(instances), tuple(links), tuple(entries), tuple(imports))
