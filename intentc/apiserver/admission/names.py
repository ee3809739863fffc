"""Finds the objects that resources name in texts and act on, for ``permissions`` (docs/security.md, "Names that act
like references").

Why it exists: a name in a text does what a reference does, so a user must have the same right to what it names. Rules
of policies, of groups and of firewalls, and the settings of mirrored ports, have the same fields. Here are these, and
the kinds that have no other rule.

Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from intentc.model.names import Name

from .rules import Document, Rules

_PARTS = {"service_instance": 3, "virtual_DNS": 2}
"""Kinds in whose place a text may be something else, such as an address → the number of parts of their names."""

_INSTANCE = "routing_instance"
_NO_INSTANCE = "-1"
"""Contrail's clients write this where they mean no routing instance."""


def named(kind: str, *texts: str | None) -> Iterator[Name]:
    """The objects of a kind that these texts name: fq_names joined by colons."""
    for text in texts:
        parts = tuple((text or "").split(":"))
        if text and len(parts) == _PARTS.get(kind, len(parts)):
            yield Name(kind, parts)


def asked_for(name: Name) -> tuple[Name, ...]:
    """The named object, and those above it of which a right is enough: a network, for its routing instances."""
    if name.kind == _INSTANCE:
        return name, Name("virtual_network", name.fq_name[:-1])
    return (name,)


def named_by_action(action: Document | None) -> Iterator[Name]:
    """What the ``action_list`` of a rule names: services, routing instances, and how packets are marked."""
    action = action or {}
    yield from mirrored_to(action)
    yield from named("service_instance", *(action.get("apply_service") or ()))
    yield from named(_INSTANCE, action.get("assign_routing_instance"))
    yield from named("qos_config", action.get("qos_action"))


def mirrored_to(mirrored: Document | None) -> Iterator[Name]:
    """What ``mirror_to`` of a rule or of a port names: an analyzer, and the routing instance that leads to it."""
    target = (mirrored or {}).get("mirror_to") or {}
    yield from named("service_instance", target.get("analyzer_name"))
    instance = target.get("routing_instance")
    yield from named(_INSTANCE, instance if instance != _NO_INSTANCE else None)


class FirewallRuleRules(Rules):
    """The endpoints of firewall rules name networks and groups of addresses."""

    kind: ClassVar[str] = "firewall_rule"

    def joined(self, document: Document) -> Iterable[Name]:
        yield from named_by_action(document.get("action_list"))
        for field in ("endpoint_1", "endpoint_2"):
            endpoint = document.get(field) or {}
            yield from named("virtual_network", endpoint.get("virtual_network"))
            yield from named("address_group", endpoint.get("address_group"))


class VirtualDnsRules(Rules):
    """A name server may name another one, which answers what it does not know."""

    kind: ClassVar[str] = "virtual_DNS"

    def joined(self, document: Document) -> Iterable[Name]:
        return named("virtual_DNS", (document.get("virtual_DNS_data") or {}).get("next_virtual_DNS"))


class VirtualDnsRecordRules(Rules):
    """A record of the type NS may name another name server, to which it delegates a domain."""

    kind: ClassVar[str] = "virtual_DNS_record"

    def joined(self, document: Document) -> Iterable[Name]:
        record = document.get("virtual_DNS_record_data") or {}
        return named("virtual_DNS", record.get("record_data") if record.get("record_type") == "NS" else None)
