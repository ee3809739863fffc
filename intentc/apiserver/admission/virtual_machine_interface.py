"""Completes and checks ports: network, MAC address, primary routing instance (docs/contrail.md B.5.8).

``admit`` completes ``change.after`` in place; nothing else is changed. The server reads, allocates and commits.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from intentc.model.names import Name

from ..errors import BadRequest
from .names import mirrored_to
from .rules import ByName, Change, Document, Found, Lookup, Rules, Uuids

_MAC_FIELD = "virtual_machine_interface_mac_addresses"


class VirtualMachineInterfaceRules(Rules):
    """The rules of ports.

    A port has at least one network. Without a MAC address it gets one derived from its uuid. A new port, and one that
    moves to another network, gets a reference to that network's primary routing instance. The network of a port that is
    mirrored is linked with its analyzer's (docs/contrail.md D.8.7).
    """

    kind: ClassVar[str] = "virtual_machine_interface"

    def joined(self, document: Document) -> Iterable[Name]:
        return mirrored_to((document.get("virtual_machine_interface_properties") or {}).get("interface_mirror"))

    def lookups(self, change: Change) -> Iterable[Lookup]:
        before = {instance.fq_name for instance in _primary_instances(change.before or {})}
        return [instance for instance in _primary_instances(change.after or {}) if instance.fq_name not in before]

    def admit(self, change: Change, found: Found, uuids: Uuids) -> None:
        after = change.after
        assert after is not None
        if not after.get("virtual_network_refs"):
            raise BadRequest("a virtual machine interface needs a network; give virtual_network_refs")
        if not (after.get(_MAC_FIELD) or {}).get("mac_address"):
            after[_MAC_FIELD] = {"mac_address": [_mac_address(change.uuid)]}
        references: list[Document] = list(after.get("routing_instance_refs") or ())
        if change.before is not None and "routing_instance_refs" not in change.given:
            left = {i.fq_name for i in _primary_instances(change.before)} - {
                i.fq_name for i in _primary_instances(after)
            }
            references = [reference for reference in references if tuple(reference["to"]) not in left]
        held = {reference["uuid"] for reference in references}
        for lookup in self.lookups(change):
            for instance in found[lookup]:
                if instance["uuid"] not in held:
                    references.append(
                        {"uuid": instance["uuid"], "to": instance["fq_name"], "attr": {"direction": "both"}}
                    )
        if references:
            after["routing_instance_refs"] = references
        else:
            after.pop("routing_instance_refs", None)


def _primary_instances(document: Document) -> list[ByName]:
    return [
        ByName("routing_instance", (*network["to"], network["to"][-1]))
        for network in document.get("virtual_network_refs") or ()
    ]


def _mac_address(uuid: str) -> str:
    return f"02:{uuid[0:2]}:{uuid[2:4]}:{uuid[4:6]}:{uuid[6:8]}:{uuid[9:11]}"
