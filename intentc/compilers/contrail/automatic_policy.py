"""The policy that a service instance with ``auto_policy`` has between its left and its right network
(docs/contrail.md D.8.6).

It is stored nowhere: the service yields it as a fact for both networks, and each converts its one rule behind those of
the policies that it attaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from intentc import Context, Fact, Source, View

from .service_ports import LEFT, RIGHT, interfaces

AUTOMATIC_POLICY = "automatic_policy"
"""The fact that a service has such a policy, by each of both networks: (service, left network, right network)."""


class _Ports(msgspec.Struct, frozen=True, omit_defaults=True):
    start_port: int = 0
    end_port: int = 0


EVERY_PORT = _Ports(0, 65535)


class _Address(msgspec.Struct, frozen=True, omit_defaults=True):
    virtual_network: str = ""
    network_policy: str = ""
    security_group: str = ""
    subnet: None = None
    subnet_list: tuple[()] = ()


class _Mirror(msgspec.Struct, frozen=True, omit_defaults=True):
    analyzer_name: str = ""


class _ServiceProperties(msgspec.Struct, frozen=True, omit_defaults=True):
    retain_as_path: bool = False


class _Action(msgspec.Struct, frozen=True, omit_defaults=True):
    apply_service: tuple[str, ...] = ()
    simple_action: str = ""
    assign_routing_instance: str = ""
    mirror_to: _Mirror = _Mirror()
    service_properties: _ServiceProperties = _ServiceProperties()


class Rule(msgspec.Struct, frozen=True):
    """A rule in the form of a network policy's: everything between two networks passes through a service."""

    src_addresses: tuple[_Address]
    dst_addresses: tuple[_Address]
    action_list: _Action
    rule_uuid: str = ""
    direction: str = "<>"
    protocol: str = "any"
    ethertype: str = ""
    src_ports: tuple[_Ports] = (EVERY_PORT,)
    dst_ports: tuple[_Ports] = (EVERY_PORT,)


class AutomaticPolicy(NamedTuple):
    """The policy of ``service`` (its fq_name joined by ``:``)."""

    service: str
    rule: Rule

    @property
    def source(self) -> Source:
        return Source("service_instance", self.service, "service_instance_properties.auto_policy")


def automatic_policy_facts(service: View, ctx: Context) -> Iterator[Fact]:
    """The policy of a service, for both of its networks."""
    if not service.service_instance_properties.auto_policy:
        return
    found = interfaces(service)
    left, right = (found[side].network if side in found else "" for side in (LEFT, RIGHT))
    if not left or not right or left == right:
        message = (
            "it has auto_policy, and its template and interface_list give no two networks, one left and one right; "
            "name both, or set auto_policy to false"
        )
        ctx.problem("ServiceWithoutNetworks", message)
        return
    for network in (left, right):
        yield Fact(AUTOMATIC_POLICY, network, (":".join(service.fq_name), left, right))


def automatic_policies(network: str, ctx: Context) -> list[AutomaticPolicy]:
    """The policies that services have for a network, by the services' names."""
    found = sorted(value for _, value in ctx.contributions(AUTOMATIC_POLICY, network))
    return [
        AutomaticPolicy(service, Rule((_Address(left),), (_Address(right),), _Action((service,))))
        for service, left, right in found
    ]
