"""What a hostname of Hosts is on the Listeners, as typed values: in which route configurations, and under which rules.

Names of route configurations: ``namespace/name`` of the Listener, then ``|cleartext``, ``|tls``, or ``|tls|`` and the
Host that asks clients for certificates: nobody who came in under another name reaches its routes.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ..elements import Origin
from ..tls.tls_settings import TLSSettings
from .host_binding import HostBinding
from .listener_settings import OpenListener

_STRICTNESS = {"Route": 0, "Redirect": 1, "Reject": 2}


class RequestRule(msgspec.Struct, frozen=True, order=True):
    """What becomes of requests that are not secure: ``action`` Route, Redirect or Reject. ``forwarded``: each request
    says by X-Forwarded-Proto whether it is secure; else none is."""

    action: str = "Route"
    forwarded: bool = False


class VirtualHostShare(msgspec.Struct, frozen=True, order=True):
    """What a virtual host is made of (fact ``virtual_host``, named route configuration|domain): ``scopes``: whose
    tables of routes belong to it."""

    scopes: tuple[str, ...]
    rule: RequestRule
    origins: tuple[Origin, ...]


class Side(msgspec.Struct, frozen=True, order=True):
    """A hostname on one side (``tls`` or ``cleartext``) of a Listener (namespace/name). Without a route configuration
    it is closed there: TLS was asked for and can't be spoken, and no other Host takes its place."""

    listener: str
    side: str
    route_configuration: str
    share: VirtualHostShare


class HostnameBinding(msgspec.Struct, frozen=True):
    """All sides of a hostname (fact ``hostname_binding``)."""

    sides: tuple[Side, ...] = ()


class ChainShare(msgspec.Struct, frozen=True, order=True):
    """That a Listener serves a hostname from a route configuration, with TLS or in clear text. Tuples of these are the
    fact ``listener_binding``, named as the Listener; an empty one is of a hostname that is closed there. ``origins``:
    the Hosts."""

    hostname: str
    route_configuration: str
    tls: TLSSettings | None
    origins: tuple[Origin, ...]


def takes(listener: OpenListener, host: HostBinding) -> bool:
    """Whether a Listener's ``hostBinding`` chooses a Host (docs/ambassador.md §4.3). One that stands in belongs to the
    Listeners of its namespace, whatever they choose: its certificate is for nobody else."""
    if host.stands_in:
        return listener.name.partition(":")[0] == host.stands_in
    if not listener.all_namespaces and listener.name.partition(":")[0] != host.namespace:
        return False
    return set(listener.selector) <= set(host.labels)


def rule(listener: OpenListener, action: str) -> RequestRule:
    """What becomes of insecure requests on a Listener, for Hosts that want ``action`` for them
    (docs/ambassador.md §4.5)."""
    if listener.model == "SECURE" or action == "Route":
        return RequestRule()
    return RequestRule(action, listener.model == "XFP")


def strictest(hosts: list[HostBinding]) -> HostBinding:
    """The Host whose action for insecure requests counts where several share a hostname; of equal ones the first."""
    return min(hosts, key=lambda host: (-_STRICTNESS[host.insecure], host.name))


def foremost(hosts: list[HostBinding]) -> HostBinding:
    """The Host whose TLS counts where several share a hostname: one that insists on certificates of clients, then one
    that asks for them, then the first by name. All have TLS."""

    def place(host: HostBinding) -> tuple[bool, bool, str]:
        tls = host.tls or TLSSettings()
        return not tls.required, not tls.authority, host.name

    return min(hosts, key=place)


def closing(hosts: Iterable[HostBinding]) -> HostBinding | None:
    """The Host that closes a hostname for TLS, whatever others of this hostname can: one that asks clients for
    certificates and can't have its TLS spoken now. Else its clients would come in by another's TLS, unasked."""
    shut = [host for host in hosts if host.wants_tls and host.tls is None and host.guarded]
    return min(shut, key=lambda host: host.name, default=None)
