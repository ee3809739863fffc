"""The ports of Envoy's Service: one for each port number of listeners in force (docs/gateway.md §6).

A certificate that can't be used takes no port away, so that a Secret that arrives later does not change the Service.

Pure functions of values: no state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..instance import Port
from .checks import Verdict
from .listener import Listener

_TRAFFIC: dict[str, Literal["http", "https", "tcp"]] = {"HTTP": "http", "TCP": "tcp"}


def ports_of(listeners: Sequence[Listener], found: Sequence[Verdict]) -> tuple[Port, ...]:
    """The ports of the listeners that are valid and without conflict, each number once, sorted."""
    ports = {
        Port(listener.port, _TRAFFIC.get(listener.protocol, "https"))
        for listener, verdict in zip(listeners, found, strict=True)
        if verdict.is_good
    }
    return tuple(sorted(ports))
