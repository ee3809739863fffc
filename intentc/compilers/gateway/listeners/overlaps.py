"""Finds listeners on one port whose TLS host names overlap (docs/gateway.md §9).

A client that reuses its connection may then reach a listener with another certificate, so the Gateway API wants it
reported.

Pure functions of values: no state.
"""

from __future__ import annotations

from collections.abc import Sequence

from .checks import Verdict
from .hostnames import overlap
from .listener import Listener


def overlapping(listeners: Sequence[Listener], found: Sequence[Verdict]) -> tuple[bool, ...]:
    """For each listener whether another one of its port also terminates TLS for some of its host names."""
    able = [
        place
        for place, listener in enumerate(listeners)
        if found[place].is_good and listener.protocol in ("HTTPS", "TLS")
    ]
    return tuple(
        place in able
        and any(
            other != place
            and listeners[other].port == listener.port
            and overlap(listeners[other].hostname, listener.hostname)
            for other in able
        )
        for place, listener in enumerate(listeners)
    )
