"""A Listener offers itself to Hosts, and says what its socket is; what stands behind it is ``listener_binding.py``'s.

While there is no Host at all, one that stands in serves everything (docs/ambassador.md §4.5): by TLS, too, where the
Secret ``fallback-self-signed-cert`` lies in the Listener's namespace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent

from .ambassador_id import ours
from .hostname import LISTENERS
from .hosts.host_binding import HOSTS, HostBinding, stand_in
from .hosts.host_tls import check_secrets
from .hosts.hostnames import ANY
from .hosts.listener_settings import InvalidListener, open_listener, socket
from .tls.secret_state import names
from .tls.tls_settings import TLSSettings, UnusableTLS
from .variables import report_variables

_FALLBACK = "fallback-self-signed-cert"


class ListenerIntent(Intent):
    kind = "listener"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        # Even of one that can't listen: a TCPMapping without it would let in whom it was to keep out.
        yield Fact("listener_port", str(self.port), ":".join(self.fq_name))
        try:
            settled = socket(self)
            opened = open_listener(self, settled)
        except InvalidListener as invalid:
            ctx.problem(invalid.reason, f"{invalid.message}. Until then nobody listens here")
            return
        yield Fact("listener_binding", opened.name, settled)
        if opened.http:
            yield Fact("open_listener", LISTENERS, opened)
            if not ctx.contributed("host_binding", HOSTS):
                yield from self._stand_in(ctx)

    def _stand_in(self, ctx: Context) -> Iterator[Fact]:
        binding = fallback(self.fq_name[0], ctx)
        yield Fact("hostname", ANY, binding)
        yield Fact("table_served", f"|{ANY}", "")
        for used in names(binding.tls) if binding.tls is not None else ():
            yield Fact("secret_use", used, "")


def fallback(namespace: str, ctx: Context) -> HostBinding:
    """The Host that stands in on the Listeners of ``namespace`` where there is none."""
    tls = TLSSettings(secret=f"{namespace}:{_FALLBACK}")
    try:
        check_secrets(ctx, tls)
    except UnusableTLS:
        return stand_in(namespace, None)
    return stand_in(namespace, tls)
