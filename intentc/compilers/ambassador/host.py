"""A Host yields what it means, whatever Listeners exist, as its share in its ``hostname``.

It also yields that a Host exists, which tables it serves, and which secrets it uses. It reports what only the Host
itself knows: mistakes in its hostname and its TLS, and settings without effect. ``hostname.py`` decides what it means
together with other Hosts of its hostname, and on which Listeners.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent

from .faults import Faults
from .host_binding import HOSTS, HostBinding, wildcard_host
from .host_tls import check_hostname, check_secrets, host_tls
from .routing.hostnames import covering, is_pattern
from .secret_state import names
from .this_gateway import ours, report_variables
from .tls_context import TLSSettings, UnusableTLS

_ACTIONS = ("Redirect", "Route", "Reject")
_UNKNOWN = TLSSettings()
"""TLS that was asked for and can't be read; settings that can be read have at least a certificate."""


class HostIntent(Intent):
    kind = "host"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not ours(self, ctx):
            return
        report_variables(self, ctx)
        faults = Faults(ctx)
        yield from self._meaning(ctx, faults)
        yield from faults.facts()

    def _meaning(self, ctx: Context, faults: Faults) -> Iterator[Fact]:
        # Also if it can't be served: the fallback Host does not replace it.
        yield Fact("host_binding", HOSTS, "")
        if not is_pattern(self.hostname):
            faults.report(
                self,
                "InvalidHostname",
                f"hostname {self.hostname!r} is invalid; write it in lower case, with at most one `*`, at one end",
            )
            return
        self._unsupported(ctx)
        name = ":".join(self.fq_name)
        asked, tls = self._tls(ctx, faults)
        insecure = self.requestPolicy.insecure
        binding = HostBinding(
            name=name,
            hostname=self.hostname,
            labels=tuple(f"{key}={value}" for key, value in sorted(self.metadata.labels.items())),
            scope=name if self.mappingSelector.matchLabels or self.selector.matchLabels else "",
            # A value that admission would have rejected counts as the strictest one.
            insecure=insecure.action if insecure.action in _ACTIONS else "Reject",
            wants_tls=asked is not None,
            tls=tls,
            guarded=asked is not None and (asked == _UNKNOWN or bool(asked.authority)),
            port=insecure.additionalPort,
        )
        yield Fact("hostname", self.hostname, binding)
        for pattern in covering(self.hostname):
            yield Fact("table_served", f"{binding.scope}|{pattern}", "")
        yield from wildcard_host(binding.scope, self.hostname)
        # Also for a Secret that can't be used: its problem is reported on the Secret as well.
        for used in names(asked) if asked is not None else ():
            yield Fact("secret_use", used, "")

    def _tls(self, ctx: Context, faults: Faults) -> tuple[TLSSettings | None, TLSSettings | None]:
        """(the TLS that was asked for, ``_UNKNOWN`` if that can't be read; the TLS in effect, None if there is none)"""
        asked = None
        try:
            asked = host_tls(self, ctx)
            if asked is not None:
                check_secrets(ctx, asked)
                check_hostname(self.hostname)
        except UnusableTLS as unusable:
            faults.report(self, unusable.reason, f"{unusable.message}. Until then this Host is not served by TLS")
            return asked or _UNKNOWN, None
        return asked, asked

    def _unsupported(self, ctx: Context) -> None:
        if self.acmeProvider.authority not in ("", "none"):
            ctx.problem(
                "Unsupported",
                f"no certificate is requested from {self.acmeProvider.authority}; put one into a Secret and name it "
                "in tlsSecret, and set acmeProvider.authority to none",
            )
        if self.previewUrl.enabled:
            ctx.problem("Unsupported", "previewUrl has no effect; remove it")
        if self.tls.redirect_cleartext_from:
            ctx.problem(
                "Unsupported", "tls.redirect_cleartext_from has no effect; use requestPolicy.insecure, and a Listener"
            )
