"""A TLSContext reports its own mistakes, even while no resource uses it.

Hosts and upstreams that name it, Hosts after which it is called, and TCPMappings whose host it lists read it
themselves.

It reads and reports problems through ``ctx``, and yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .this_gateway import ours
from .tls.tls_settings import UnusableTLS, check_server_name, secret_named, tls_settings
from .variables import report_variables


class TLSContextIntent(Intent):
    kind = "tls_context"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return ()
        report_variables(self, ctx)
        namespace, split = self.fq_name[0], self.secret_namespacing
        try:
            tls_settings(self, ctx, namespace, secret_named(ctx, self.secret, namespace, split), split)
            check_server_name(self.sni, "sni")
        except UnusableTLS as unusable:
            ctx.problem(unusable.reason, f"{unusable.message}; resources that name it get no TLS from it")
        if self.redirect_cleartext_from:
            ctx.problem(
                "Unsupported",
                "redirect_cleartext_from has no effect; use requestPolicy.insecure of a Host, and a Listener",
            )
        return ()
