"""A Host yields what it means, whatever Listeners exist, as its share in its ``hostname``.

It also yields that a Host exists, which tables it serves, and which secrets it uses. It reports what only the Host
itself knows: mistakes in its hostname and its TLS, and settings without effect. ``hostname.py`` decides what it means
together with other Hosts of its hostname, and on which Listeners.

Its TLS settings (docs/ambassador.md §4.3) come from the TLSContext that it names, otherwise from its own ``tls``,
otherwise from a TLSContext named like it with ``-context`` at the end, otherwise from its Secret alone. Any mistake
leaves the Host without TLS, with a problem: a name that is not reachable by TLS is better than one with less protection
than asked for. ``check_secrets`` and ``check_hostname`` are also for TLS of Ingresses, TCPMappings and fallback Hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, View
from intentc.model.hostname_patterns import ANY, aligned, covering, is_pattern

from .faults import Faults
from .host_binding import HOSTS, HostBinding, wildcard_host
from .this_gateway import Unusable, ours, report_variables
from .tls_context import (
    SecretState,
    TLSSettings,
    context_named,
    context_settings,
    names,
    secret_named,
    secret_of,
    secret_uses,
    tls_settings,
)


def host_tls(host: View, ctx: Context) -> TLSSettings | None:
    """The TLS settings of ``host``, None if it asks for none. ``check_secrets`` checks the Secrets. Raises
    ``Unusable``."""
    namespace = host.fq_name[0]
    reference = host.tlsSecret
    if reference.name and reference.namespace:
        secret = f"{reference.namespace}:{reference.name}"
    else:
        secret = secret_named(ctx, reference.name, namespace)
    named = host.tlsContext.name
    if named and host.tls:
        raise Unusable("InvalidTLS", "both tls and tlsContext are set; set one of them")
    if named:
        context = context_named(ctx, named, namespace)
        if context is None:
            raise Unusable("NoTLSContext", f"there is no TLSContext {named}; apply it, or name another in tlsContext")
        return _of_context(host, context, ctx, secret)
    if host.tls:
        if not secret:
            raise Unusable("InvalidTLS", "tls is set, but no certificate is; name a Secret in tlsSecret")
        return tls_settings(host.tls, ctx, namespace, secret)
    implied = ctx.find("tls_context", (namespace, f"{host.name}-context"))
    if implied is not None and ours(implied, ctx) and (secret or _lists(implied, host)):
        return _of_context(host, implied, ctx, secret)
    return TLSSettings(secret=secret) if secret else None


def check_secrets(ctx: Context, settings: TLSSettings) -> None:
    """Checks that the Secrets in ``settings`` exist and hold what is needed. Raises ``Unusable``."""
    for use in secret_uses(settings):
        state: SecretState | None = ctx.fact("secret_state", use.secret)
        if state is None:
            raise Unusable("NoSecret", f"there is no Secret {use.secret}; apply it, or name another")
        if wrong := getattr(state, use.part):
            raise Unusable("InvalidSecret", f"Secret {use.secret}: {wrong}; fix it")


def check_hostname(hostname: str) -> None:
    """Checks that TLS clients can be distinguished by ``hostname`` (SNI). Raises ``Unusable``."""
    if (hostname.endswith("*") and hostname != ANY) or not aligned(hostname):
        message = f"TLS clients can't be distinguished by {hostname!r} (SNI); use an exact name, `*.…` or `*`"
        raise Unusable("Unsupported", message)


def _of_context(host: View, context: View, ctx: Context, secret: str) -> TLSSettings:
    """The settings of a TLSContext. It must match this Host's hostname or name, and its Secret, if it names one."""
    about = ":".join(context.fq_name)
    own = secret_of(ctx, context)
    if own and secret and own != secret:
        message = f"TLSContext {about} has the Secret {own}, but tlsSecret says {secret}; name one Secret in both"
        raise Unusable("TLSContextMismatch", message)
    if context.hosts and not _lists(context, host):
        message = f"TLSContext {about} is not for {host.hostname}; add it to its hosts, or name another in tlsContext"
        raise Unusable("TLSContextMismatch", message)
    if not own and not secret:
        message = f"neither tlsSecret nor TLSContext {about} names a certificate; name a Secret in one of them"
        raise Unusable("InvalidTLS", message)
    return context_settings(ctx, context, own or secret)


def _lists(context: View, host: View) -> bool:
    return host.hostname in context.hosts or host.name in context.hosts


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
        yield from (Fact("secret_use", used, "") for used in names(asked))

    def _tls(self, ctx: Context, faults: Faults) -> tuple[TLSSettings | None, TLSSettings | None]:
        """(the TLS that was asked for, ``_UNKNOWN`` if that can't be read; the TLS in effect, None if there is none)"""
        asked = None
        try:
            asked = host_tls(self, ctx)
            if asked is not None:
                check_secrets(ctx, asked)
                check_hostname(self.hostname)
        except Unusable as unusable:
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
