"""A Listener announces itself to Hosts, and yields its socket; ``listener_binding.py`` decides what it serves.

While no Host exists, a fallback Host serves everything (docs/ambassador.md §4.5), also by TLS if the Secret
``fallback-self-signed-cert`` is in the Listener's namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent

from .host_binding import HOSTS, HostBinding, fallback_host
from .host_tls import check_secrets
from .hostname import LISTENERS
from .listener_settings import InvalidListener, open_listener, socket
from .routing.hostnames import ANY
from .secret_state import names
from .this_gateway import ours, report_variables
from .tls_context import TLSSettings, UnusableTLS

_FALLBACK = "fallback-self-signed-cert"


class ListenerIntent(Intent):
    kind = "listener"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        # Also for a Listener that can't listen: without it a TCPMapping would admit clients that it must keep out.
        yield Fact("listener_port", str(self.port), ":".join(self.fq_name))
        try:
            settled = socket(self)
            opened = open_listener(self, settled)
        except InvalidListener as invalid:
            ctx.problem(invalid.reason, f"{invalid.message}. Until then it does not listen")
            return
        yield Fact("listener_binding", opened.name, settled)
        if opened.http:
            yield Fact("open_listener", LISTENERS, opened)
            if not ctx.contributed("host_binding", HOSTS):
                yield from self._fallback_host(ctx)

    def _fallback_host(self, ctx: Context) -> Iterator[Fact]:
        binding = fallback(self.fq_name[0], ctx)
        yield Fact("hostname", ANY, binding)
        yield Fact("table_served", f"|{ANY}", "")
        for used in names(binding.tls) if binding.tls is not None else ():
            yield Fact("secret_use", used, "")


def fallback(namespace: str, ctx: Context) -> HostBinding:
    """The fallback Host on the Listeners of ``namespace``, while no Host exists."""
    tls = TLSSettings(secret=f"{namespace}:{_FALLBACK}")
    try:
        check_secrets(ctx, tls)
    except UnusableTLS:
        return fallback_host(namespace, None)
    return fallback_host(namespace, tls)
