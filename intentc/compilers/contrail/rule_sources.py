"""What a network's wish for a connection or a chain follows from, in a form that facts carry (docs/contrail.md D.3).

A *way* is (network, name, position). With a position from 0 on it is the rule at this position of the policy ``name``,
which the network attaches; ``PORT`` stands for the mirror of the port ``name`` in the network, ``AUTOMATIC`` for the
policy that the service ``name`` has for the network.

Pure functions of values.
"""

from __future__ import annotations

from intentc import Source

PORT, AUTOMATIC = -1, -2

Way = tuple[str, str, int]

Ways = tuple[Way, ...]


def way_sources(way: Way) -> tuple[Source, ...]:
    """The sources of one way, all of which it needs."""
    network, name, position = way
    if position == PORT:
        kind = "virtual_machine_interface"
        mirror = Source(kind, name, "virtual_machine_interface_properties.interface_mirror")
        return Source(kind, name, f"virtual_network_refs[{network}]"), mirror
    if position == AUTOMATIC:
        return (Source("service_instance", name, "service_instance_properties.auto_policy"),)
    return (
        Source("virtual_network", network, f"network_policy_refs[{name}]"),
        Source("network_policy", name, f"network_policy_entries.policy_rule[{position}]"),
    )
