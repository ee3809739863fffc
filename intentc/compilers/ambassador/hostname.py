"""Binds all Hosts of one hostname to all Listeners: which TLS takes effect, and what happens to insecure requests.

An evaluation costs as much as there are Listeners; Mappings play no part in it. It yields, for each Listener, a share
in its listener and in the virtual host of this name, and for route tables the fact ``hostname_binding``. Contradictions
between Hosts of one hostname are resolved here by the rules of ``hostname_binding.py``: in favour of the stricter one,
else of the first by name. They are reported on the others, as are Hosts that no Listener serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Source
from intentc.model.hostname_patterns import aligned

from .faults import Faults
from .host_binding import HostBinding
from .hostname_binding import (
    ChainShare,
    Side,
    VirtualHostShare,
    closing,
    foremost,
    rule,
    strictest,
    takes,
)
from .listener import LISTENERS, OpenListener
from .tls_context import TLSSettings

IRREGULAR = "irregular"
"""The name of the fact ``hostname_binding`` that lists the hostnames that route tables don't look up one by one."""


class HostnameIntent(Intent):
    kind = "hostname"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        # Fallback Hosts that differ have no owner to report on. TLSSettings don't compare with None, so sort by name.
        contributed = {host for _, host in ctx.contributions("hostname", self.uuid)}
        hosts: list[HostBinding] = sorted(contributed, key=lambda host: (host.name, host.tls or TLSSettings()))
        listeners: list[OpenListener] = sorted(one for _, one in ctx.contributions("open_listener", LISTENERS))
        sides: list[Side] = []
        served: set[Source] = set()
        for listener in listeners:
            bound = [host for host in hosts if listener.http and takes(listener, host)]
            chains: list[ChainShare] = []
            for side, tls in self._sides(listener, bound):
                sides.append(side)
                served |= set(side.share.origins)
                if side.route_configuration:
                    chains.append(ChainShare(self.uuid, side.route_configuration, tls, side.share.origins))
                    yield Fact("virtual_host", f"{side.route_configuration}|{self.uuid}", side.share)
            if sides and sides[-1].listener == listener.path:
                # Also if it is closed there: no other Listener may take the port for it.
                yield Fact("listener_binding", listener.name, tuple(chains))
            self._report_overruled(ctx, listener, bound)
        faults = Faults(ctx)
        self._report_unserved(ctx, hosts, listeners, served, faults)
        yield from faults.facts()
        yield Fact("hostname_binding", self.uuid, tuple(sides))
        if not aligned(self.uuid):
            yield Fact("hostname_binding", IRREGULAR, self.uuid)

    def _sides(self, listener: OpenListener, bound: list[HostBinding]) -> Iterator[tuple[Side, TLSSettings | None]]:
        """The sides of the Listener that serve this hostname, with the TLS there."""
        asking = [host for host in bound if host.wants_tls]
        if listener.tls and asking:
            able = [host for host in asking if host.tls is not None] if closing(asking) is None else []
            tls = foremost(able).tls if able else None
            members = [host for host in asking if host.tls == tls]
            suffix = f"|{foremost(able).name}" if tls is not None and tls.required else ""
            route_configuration = f"{listener.path}|tls{suffix}" if able else ""
            yield _side(listener, "tls", route_configuration, members), tls
        if listener.cleartext and bound:
            yield _side(listener, "cleartext", f"{listener.path}|cleartext", bound), None

    def _report_overruled(self, ctx: Context, listener: OpenListener, bound: list[HostBinding]) -> None:
        def report(host: HostBinding, message: str) -> None:
            ctx.problem_on(host.kind, host.name, "DuplicateHostname", f"hostname {self.uuid} {message}")

        able = [host for host in bound if host.tls is not None] if listener.tls else []
        shut = closing(bound)
        for host in able:
            if host.name and shut is not None:
                message = (
                    f"may ask clients for certificates in Host {shut.name}, whose TLS can't be used now; until that"
                )
                report(host, f"{message} is fixed it is closed for TLS on Listener {listener.name}")
            elif host.name and host.tls != foremost(able).tls:
                message = f"has other TLS settings in Host {foremost(able).name}, which take effect; on Listener"
                hint = "Give both the same, or other hostnames"
                report(host, f"{message} {listener.name} this one is not served by TLS. {hint}")
        if listener.model == "SECURE":
            return
        first = strictest(bound) if bound else None
        for host in bound:
            if first is not None and host.insecure != first.insecure:
                message = f"has requestPolicy.insecure.action {first.insecure} in Host {first.name}, which is stricter"
                report(host, f"{message} and takes effect on Listener {listener.name}")

    def _report_unserved(
        self,
        ctx: Context,
        hosts: list[HostBinding],
        listeners: list[OpenListener],
        served: set[Source],
        faults: Faults,
    ) -> None:
        for host in hosts:
            takers = [listener for listener in listeners if listener.http and takes(listener, host)]
            if not host.name:
                continue
            message = ""
            if not takers:
                message = "no Listener takes this Host; apply one whose hostBinding chooses it by namespace and labels"
            elif served.isdisjoint(host.origins) and not host.wants_tls:
                message = f"Listener {takers[0].name} takes requests by TLS only (securityModel SECURE), and this Host"
                message = f"{message} has none; name a Secret in tlsSecret"
            if message:
                faults.report_on(host.kind, host.name, "NoListener", message)
            if host.port and not any(listener.port == host.port for listener in takers):
                message = f"requestPolicy.insecure.additionalPort {host.port}: no Listener of this port takes this Host"
                ctx.problem_on(host.kind, host.name, "NoListener", f"{message}; apply one with securityModel INSECURE")


def _side(listener: OpenListener, side: str, route_configuration: str, hosts: list[HostBinding]) -> Side:
    origins = tuple(origin for host in hosts for origin in host.origins)
    scopes = tuple(sorted({host.scope for host in hosts}))
    share = VirtualHostShare(scopes, rule(listener, strictest(hosts).insecure), origins)
    return Side(listener.path, side, route_configuration, share)
