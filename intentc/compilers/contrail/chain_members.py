"""The two networks of a service chain, and its services with what they run on (docs/contrail.md D.8.1, D.8.2).

Faults of the services are reported here, on the policy or the service that has the fault. A network that does not
exist, or has no primary routing instance yet, is not reported: there is no chain until then. ``service_chain.py``
decides what the chain consists of, and waits for the addresses of transparent services.

It reads and reports problems through ``ctx``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from intentc import Context, View

from .route_target_sources import Reasons
from .route_targets import primary_routing_instance
from .rule_sources import AUTOMATIC, way_sources
from .service_chain_names import ServiceChain
from .service_ports import ONE_WAY, TRANSLATING, TRANSPARENT, Addresses, Host, is_physical, mode, running, steered


class Service(NamedTuple):
    """A service of the chain. ``left``, ``right``: its service addresses on both sides; ``hosts``: what traffic is
    steered through, if it is transparent."""

    name: str
    mode: str
    is_physical: bool
    left: Addresses = Addresses()
    right: Addresses = Addresses()
    hosts: tuple[Host, ...] = ()

    @property
    def translates(self) -> bool:
        return self.mode == TRANSLATING

    @property
    def is_transparent(self) -> bool:
        return self.mode == TRANSPARENT


class End(NamedTuple):
    """One network of the chain, with its primary routing instance, and why it asks for the chain."""

    network: View
    primary: View
    reasons: Reasons


def end(name: str, ways: Iterable[tuple[str, int]], ctx: Context) -> End | None:
    network = ctx.find("virtual_network", tuple(name.split(":")))
    primary = primary_routing_instance(network, ctx) if network is not None else None
    if network is None or primary is None:
        return None
    return End(network, primary, [way_sources((name, policy, position)) for policy, position in ways])


def services(chain: ServiceChain, ways: Iterable[tuple[str, int]], ctx: Context) -> list[Service] | None:
    """The services of the chain; None, with a problem for each fault, while one of them can't serve."""
    found: list[Service] = []
    rules = [(policy, position) for policy, position in ways if position != AUTOMATIC]
    if len({name.replace(":", "_") for name in chain.services}) < len(chain.services):
        for policy, position in rules:
            message = f"rule {position + 1} names a service twice; its traffic passes once each service is named once"
            ctx.problem_on("network_policy", policy, "RepeatedService", message)
        return None
    for name in chain.services:
        service = ctx.find("service_instance", tuple(name.split(":")))
        if service is None:
            for policy, position in rules:
                message = (
                    f"rule {position + 1}: there is no service instance {name}; its traffic passes once it is created"
                )
                ctx.problem_on("network_policy", policy, "UnknownServiceInstance", message)
            continue
        serving = _serving(service, name, chain)
        if serving is None:
            having = "" if mode(service) == TRANSPARENT else " with service addresses"
            message = (
                f"no port tuple or machine of it has a left and a right port{having}; traffic between networks passes "
                "through it once one has"
            )
            ctx.problem_on("service_instance", name, "ServiceWithoutPorts", message)
            continue
        found.append(serving)
    if len(found) < len(chain.services):
        return None
    return found


def _serving(service: View, name: str, chain: ServiceChain) -> Service | None:
    """The service as it can serve the chain; None while nothing that it runs on has the ports."""
    how = mode(service)
    if how == TRANSPARENT:
        hosts = steered(service)
        return Service(name, how, is_physical(service), hosts=hosts) if hosts else None
    runs = running(service, needs_right=how != TRANSLATING and chain.direction != ONE_WAY)
    return Service(name, how, is_physical(service), *runs) if runs else None
