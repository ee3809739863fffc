"""The routing instances of a service chain, and what connects them (docs/contrail.md D.8.3).

Pure: a chain, which of its services translate addresses, and whether its networks are linked directly give the layout.
``service_chain.py`` reads the world and claims what the layout says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .service_chain_names import ServiceChain


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
