"""What a hostname of Hosts is on the Listeners, as typed values, and which of its Hosts decides there.

The values are route configurations and rules for insecure requests; ``hostname.py`` makes them.

Names of route configurations: ``namespace/name`` of the Listener, then ``|cleartext``, ``|tls``, or ``|tls|`` and the
Host that asks clients for certificates: a client that connected under another name can't reach its routes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from intentc import Source

from .host_binding import HostBinding
from .listener import OpenListener
from .tls_context import TLSSettings

_STRICTNESS = {"Route": 0, "Redirect": 1, "Reject": 2}


class RequestRule(msgspec.Struct, frozen=True, order=True):
    """What happens to insecure requests: ``action`` Route, Redirect or Reject. ``forwarded``: X-Forwarded-Proto says
    whether a request is secure; otherwise none is."""

    action: str = "Route"
    forwarded: bool = False


class VirtualHostShare(msgspec.Struct, frozen=True, order=True):
    """What a virtual host consists of (fact ``virtual_host``, named route configuration|domain): ``scopes``: whose
    route tables belong to it."""

    scopes: tuple[str, ...]
    rule: RequestRule
    origins: tuple[Source, ...]


class Side(msgspec.Struct, frozen=True, order=True):
    """A hostname on one side (``tls`` or ``cleartext``) of a Listener (namespace/name). All sides of a hostname are
    the fact ``hostname_binding``.

    Without a route configuration it is closed there: TLS was asked for and can't be used, and no other Host takes its
    place.
    """

    listener: str
    side: str
    route_configuration: str
    share: VirtualHostShare


class ChainShare(msgspec.Struct, frozen=True, order=True):
    """A Listener serves a hostname from a route configuration, with TLS or in clear text.

    Tuples of these are the fact ``listener_binding``, named after the Listener; an empty tuple is from a hostname that
    is closed there. ``origins``: the Hosts.
    """

    hostname: str
    route_configuration: str
    tls: TLSSettings | None
    origins: tuple[Source, ...]


def takes(listener: OpenListener, host: HostBinding) -> bool:
    """Whether a Listener's ``hostBinding`` chooses a Host (docs/ambassador.md §4.3).

    A fallback Host belongs to the Listeners of its namespace, whatever they choose: other namespaces must not get its
    certificate.
    """
    if host.fallback_for:
        return listener.name.partition(":")[0] == host.fallback_for
    if not listener.all_namespaces and listener.name.partition(":")[0] != host.namespace:
        return False
    return set(listener.selector) <= set(host.labels)


def rule(listener: OpenListener, action: str) -> RequestRule:
    """The rule for insecure requests on a Listener, for Hosts with ``action`` (docs/ambassador.md §4.5)."""
    if listener.model == "SECURE" or action == "Route":
        return RequestRule()
    return RequestRule(action, listener.model == "XFP")


def strictest(hosts: list[HostBinding]) -> HostBinding:
    """The Host whose action for insecure requests takes effect where several share a hostname; of equals the first."""
    return min(hosts, key=lambda host: (-_STRICTNESS[host.insecure], host.name))


def foremost(hosts: list[HostBinding]) -> HostBinding:
    """The Host whose TLS takes effect where several share a hostname.

    It is one that requires client certificates, otherwise one that asks for them, otherwise the first by name. All have
    TLS.
    """

    def place(host: HostBinding) -> tuple[bool, bool, str]:
        tls = host.tls or TLSSettings()
        return not tls.required, not tls.authority, host.name

    return min(hosts, key=place)


def closing(hosts: Iterable[HostBinding]) -> HostBinding | None:
    """The Host that closes a hostname for TLS: it asks clients for certificates, and its TLS can't be used now.

    Otherwise its clients would be admitted by another Host's TLS, without a certificate.
    """
    shut = [host for host in hosts if host.wants_tls and host.tls is None and host.guarded]
    return min(shut, key=lambda host: host.name, default=None)
