"""A Listener announces itself to Hosts, and yields its socket; ``listener_binding.py`` decides what it serves.

It is read as typed values: the protocols on its port, and the Hosts that it takes (docs/ambassador.md §4.3). While no
Host exists, a fallback Host serves everything (§4.5), also by TLS if the Secret ``fallback-self-signed-cert`` is in the
Listener's namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from intentc import Claim, Context, Fact, Intent
from intentc.model.hostname_patterns import ANY

from .host import check_secrets
from .host_binding import HOSTS, HostBinding
from .this_gateway import Unusable, ours, report_variables
from .tls_context import TLSSettings, names

LISTENERS = "all"
"""The only name of the fact ``open_listener``."""

STACKS = {
    "HTTP": ("HTTP", "TCP"),
    "HTTPS": ("TLS", "HTTP", "TCP"),
    "HTTPPROXY": ("PROXY", "HTTP", "TCP"),
    "HTTPSPROXY": ("TLS", "PROXY", "HTTP", "TCP"),
    "TCP": ("TCP",),
    "TLS": ("TLS", "TCP"),
}
"""``protocol`` → the protocols that it stands for, from the top down."""
_LAYERS = frozenset({"TLS", "PROXY", "HTTP", "TCP", "UDP"})
_MOST = {"l7Depth": 2**32 - 1, "http2MaxConcurrentStreams": 2**31 - 1}
"""Envoy's limits. They are checked again because values in etcd may have bypassed the API server."""
_STATISTICS = re.compile(r"[^0-9A-Za-z_.-]")


class OpenListener(msgspec.Struct, frozen=True, order=True):
    """A Listener that Hosts can be bound to (fact ``open_listener``); ``name`` is namespace:name.

    ``all_namespaces``: whether it takes Hosts of other namespaces; ``selector``: ``key=value`` each, of the Hosts that
    it takes. ``http``, ``tls``: whether it speaks them. ``model``: XFP, SECURE or INSECURE.
    """

    name: str
    port: int
    model: str
    all_namespaces: bool = False
    selector: tuple[str, ...] = ()
    http: bool = True
    tls: bool = False

    @property
    def path(self) -> str:
        """The name in Envoy's elements: namespace/name."""
        return self.name.replace(":", "/", 1)

    @property
    def cleartext(self) -> bool:
        """Whether requests without TLS are answered. On a Listener with TLS where all requests count as secure, they
        are not."""
        return self.http and not (self.tls and self.model == "SECURE")


class Socket(msgspec.Struct, frozen=True):
    """Settings of a Listener that concern only Envoy's listener, not Hosts."""

    port: int
    layers: tuple[str, ...]
    statistics: str
    trusted_hops: int = 0
    concurrent_streams: int = 0


def socket(listener: Any) -> Socket:
    """Reads the socket from the view of a Listener. Raises ``Unusable``."""
    layers = _layers(listener)
    if not 1 <= listener.port <= 65535:
        raise Unusable("Unusable", f"port {listener.port} is invalid; a port is a number up to 65535")
    for field, most in _MOST.items():
        value = getattr(listener, field)
        if not 0 <= value <= most:
            raise Unusable("Unusable", f"{field} {value} is not from 0 to {most}")
    statistics = _STATISTICS.sub("_", listener.statsPrefix) or _statistics(layers, listener.port)
    return Socket(listener.port, layers, statistics, listener.l7Depth, listener.http2MaxConcurrentStreams)


def open_listener(listener: Any, socket: Socket) -> OpenListener:
    """What Hosts need to know of a Listener. Raises ``Unusable``."""
    if listener.securityModel not in ("XFP", "SECURE", "INSECURE"):
        message = f"securityModel {listener.securityModel!r} is unknown; there are XFP, SECURE and INSECURE"
        raise Unusable("Unusable", message)
    origin = getattr(listener.hostBinding.namespace, "from")
    labels = listener.hostBinding.selector.matchLabels
    if origin == "SELECTOR":
        message = "hostBinding.namespace.from SELECTOR is not supported; use SELF or ALL, and a selector of Hosts"
        raise Unusable("Unsupported", message)
    if not origin and not labels:
        message = "hostBinding chooses no Host; set namespace.from to SELF or ALL, or a selector"
        raise Unusable("Unusable", message)
    return OpenListener(
        name=":".join(listener.fq_name),
        port=socket.port,
        model=listener.securityModel,
        all_namespaces=origin != "SELF",
        selector=tuple(f"{key}={value}" for key, value in sorted(labels.items())),
        http="HTTP" in socket.layers,
        tls="TLS" in socket.layers,
    )


def _layers(listener: Any) -> tuple[str, ...]:
    stack = tuple(listener.protocolStack)
    if bool(stack) == bool(listener.protocol):
        message = "a Listener has either protocol or protocolStack; set one of them"
        raise Unusable("Unusable", message)
    if not stack and listener.protocol not in STACKS:
        message = f"protocol {listener.protocol!r} is unknown; there are {', '.join(STACKS)}"
        raise Unusable("Unusable", message)
    stack = stack or STACKS[listener.protocol]
    unknown = [layer for layer in stack if layer not in _LAYERS]
    if unknown or len(set(stack)) != len(stack) or stack[-1] not in ("TCP", "UDP") or {"TCP", "UDP"} <= set(stack):
        message = f"protocolStack {', '.join(stack)}: it is made of TLS, PROXY and HTTP, each once, and ends with TCP"
        raise Unusable("Unusable", message)
    if "UDP" in stack:
        message = "HTTP/3 (UDP) is not supported; clients that speak it use TLS over TCP where it is not offered"
        raise Unusable("Unsupported", message)
    return stack


def _statistics(layers: tuple[str, ...], port: int) -> str:
    """The prefix of its statistics, as in Ambassador."""
    if "HTTP" in layers:
        return "ingress_https" if "TLS" in layers else "ingress_http"
    return f"ingress_tls_{port}" if "TLS" in layers else f"ingress_tcp_{port}"


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
        except Unusable as invalid:
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
        yield from (Fact("secret_use", used, "") for used in names(binding.tls))


def fallback(namespace: str, ctx: Context) -> HostBinding:
    """The fallback Host, which serves everything on the Listeners of ``namespace`` while no Host exists
    (docs/ambassador.md §4.5); it routes insecure requests."""
    settings = TLSSettings(secret=f"{namespace}:{_FALLBACK}")
    tls: TLSSettings | None = settings
    try:
        check_secrets(ctx, settings)
    except Unusable:
        tls = None
    return HostBinding(
        name="", hostname=ANY, insecure="Route", wants_tls=tls is not None, tls=tls, fallback_for=namespace
    )
