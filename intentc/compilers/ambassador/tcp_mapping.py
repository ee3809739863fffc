"""A TCPMapping contributes to the group of all TCPMappings for the same connections; the group makes the route.

Rules: docs/ambassador.md §4.3 and §4.4. A TCPMapping that can't be understood takes no part, and reports it; a setting
that makes no sense is left out and reported.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TypeVar

from intentc import Claim, Context, Fact, Intent
from intentc.model.hostname_patterns import is_pattern

from .listener_binding import bind_address
from .plain import boolean
from .routing.tcp_routing import TCPMember
from .settings.module_settings import module_settings
from .settings.traffic import CircuitBreaker
from .settings.upstream_settings import circuit_breakers
from .this_gateway import Unusable, ours, report_variables
from .upstreams.upstream import Upstream, UpstreamRequest, tls_named, upstream

_LONGEST_IDLE_MS = 2**31 - 1
_LONGEST_DIGITS = 10
T = TypeVar("T")


class TCPMappingIntent(Intent):
    kind = "tcp_mapping"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        try:
            if not 1 <= self.port <= 65535:
                raise Unusable("InvalidPort", f"port {self.port} is invalid; a port is a number from 1 to 65535")
            member = TCPMember(
                name=":".join(self.fq_name),
                port=self.port,
                address=self._address(ctx),
                host=self._host(),
                upstream=self._upstream(ctx),
                weight=self.weight if self.weight >= 0 else None,
                idle_timeout_ms=self._idle_timeout(ctx),
            )
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"{unusable.message}; until then no connection goes to its service")
            return
        yield Fact("tcp_mapping_group", member.group, member)

    def _address(self, ctx: Context) -> str:
        """Empty for the address that all listeners bind to, in whatever form it is written."""
        if not self.address:
            return ""
        try:
            found = str(ipaddress.ip_address(self.address))
        except ValueError:
            message = f"address {self.address!r} is invalid; write an IP address of the gateway, or leave it out"
            raise Unusable("InvalidAddress", message) from None
        return "" if found == bind_address(ctx) else found

    def _host(self) -> str:
        host: str = self.host.lower()
        if host and not is_pattern(host):
            message = f"host {self.host!r} is not a host name; a * may stand at its start, as in *.shop.example"
            raise Unusable("InvalidHostname", message)
        return host

    def _upstream(self, ctx: Context) -> Upstream:
        breakers: tuple[CircuitBreaker, ...] | None = None
        try:
            breakers = circuit_breakers(self.circuit_breakers)
        except ValueError as error:
            ctx.problem("InvalidCircuitBreaker", f"{error}; it is left out")
        request = UpstreamRequest(
            namespace=self.fq_name[0],
            service=self.service,
            tls=tls_named(self.tls),
            resolver=self.resolver,
            circuit_breakers=breakers,
            enable_ipv4=self._boolean(ctx, "enable_ipv4"),
            enable_ipv6=self._boolean(ctx, "enable_ipv6"),
            stats_name=self.stats_name,
            cluster_tag=self.cluster_tag,
        )
        return upstream(request, module_settings(ctx))

    def _boolean(self, ctx: Context, field: str) -> bool | None:
        try:
            return boolean(self.field(field))
        except ValueError as error:
            ctx.problem("InvalidField", f"{field}: {error}; it is left out")
            return None

    def _idle_timeout(self, ctx: Context) -> int | None:
        """The CRD has a text; a number is accepted, too (docs/ambassador.md §5.10)."""
        given = str(self.idle_timeout_ms).strip()
        if not given:
            return None
        if not given.isdecimal() or len(given) > _LONGEST_DIGITS or int(given) > _LONGEST_IDLE_MS:
            ctx.problem(
                "InvalidIdleTimeout",
                f"idle_timeout_ms {given[:_LONGEST_DIGITS]!r} is not a number of milliseconds; write it as '30000'. "
                "It is left out",
            )
            return None
        return int(given)
