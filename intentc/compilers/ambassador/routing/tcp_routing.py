"""What TCPMappings mean, as typed values: what each contributes to its group, and what a group is on its port.

The name of a group is what its members have in common: port, address and host, joined by ``|``, which none of them
contains. The members of a group divide its connections, which go nowhere else.
"""

from __future__ import annotations

import msgspec

from intentc import Context, Source

from ..tls_context import TLSSettings
from ..upstreams.upstream import Upstream
from .route_action import WHOLE, over_the_whole, proportions


class TCPMember(msgspec.Struct, frozen=True, kw_only=True):
    """What one TCPMapping (``name``: namespace:name) contributes to its group. ``address``: empty for the gateway's
    own. ``host``: empty for all connections. ``weight``: percent, None if not set. ``idle_timeout_ms``: None if not
    set, 0 for no limit."""

    name: str
    port: int
    address: str
    host: str
    upstream: Upstream
    weight: int | None = None
    idle_timeout_ms: int | None = None

    @property
    def origin(self) -> Source:
        return Source("tcp_mapping", self.name)

    @property
    def group(self) -> str:
        return f"{self.port}|{self.address}|{self.host}"

    @property
    def socket(self) -> str:
        """The name of the fact ``tcp_route``: the port, after the address if that is not the gateway's own."""
        return f"{self.address}|{self.port}" if self.address else str(self.port)


class TCPRoute(msgspec.Struct, frozen=True, order=True):
    """What a group is on its port (fact ``tcp_route``). ``clusters``: (name, part) sorted by name; the parts sum to the
    whole. With a ``host`` there is ``tls``, which the gateway terminates. ``origins``: the TCPMappings."""

    host: str
    group: str
    port: int
    clusters: tuple[tuple[str, int], ...]
    tls: TLSSettings | None
    idle_timeout_ms: int | None
    origins: tuple[Source, ...]


def members_for(ctx: Context, group: str) -> list[TCPMember]:
    """The members of a group of TCPMappings, by name."""
    return sorted((value for _, value in ctx.contributions("tcp_mapping_group", group)), key=lambda one: one.name)


def routes_of(ctx: Context, socket: str) -> list[TCPRoute]:
    """The routes on a port (``TCPMember.socket``), by host: first the one for all connections."""
    return sorted((route for _, route in ctx.contributions("tcp_route", socket)), key=lambda route: route.host)


def divided(members: list[TCPMember]) -> tuple[dict[str, int], list[tuple[TCPMember, str, str]]]:
    """Returns (cluster → its part of the connections, without those that get none; [(member, reason, message) of
    problems]) of ``members``, sorted by name."""
    rejections: list[tuple[TCPMember, str, str]] = []
    over = over_the_whole([member.weight for member in members]) if len(members) > 1 else frozenset()
    for position in over:
        message = f"its weight takes the sum of the group over {WHOLE}; make it less, or that of the others"
        rejections.append((members[position], "WeightOver100", message))
    taken = [member for position, member in enumerate(members) if position not in over]
    found: dict[str, int] = {}
    for member, part in zip(taken, proportions([member.weight for member in taken]), strict=True):
        if part:
            found[member.upstream.name] = found.get(member.upstream.name, 0) + part
        elif member.weight is None:
            message = f"the weights of the others add up to {WHOLE}, so it gets no connections; give it a weight"
            rejections.append((member, "NoConnections", message))
    return found, rejections
