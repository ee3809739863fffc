"""What a Host means, as a typed value, whatever Listeners and Mappings exist.

It is the fact ``hostname``, named after its hostname, where all Hosts of one hostname meet.
``ambassador/hostname.py`` decides what it means on a Listener. An Ingress may mean a Host, too, and a fallback Host is
no resource.

Pure functions of values.
"""

from __future__ import annotations

import msgspec

from ..elements import Origin
from ..routing.hostnames import ANY
from ..tls.tls_settings import TLSSettings

HOSTS = "any"
"""The name of the fact ``host_binding`` that says whether any Host exists."""


class HostBinding(msgspec.Struct, frozen=True, order=True):
    """A Host, or a resource that means one. ``name``: namespace:name; ``kind``: the kind of the resource (an Ingress
    may mean a Host, too); ``labels``: ``key=value`` each, for the selectors of Listeners. ``scope``: the name, if the
    Host's selector chooses its Mappings, otherwise empty. ``insecure``: ``Redirect``, ``Route`` or ``Reject``.

    ``wants_tls``: TLS was asked for; then ``tls`` is None if it can't be used, and nobody is admitted by TLS.
    ``guarded``: clients are asked for certificates, or may be, since the settings can't be read. ``port``: a further
    port for insecure requests, 0 for none. ``fallback_for``: empty, or the namespace of the Listeners for which it is
    the fallback Host; then it has no name.
    """

    name: str
    hostname: str
    labels: tuple[str, ...] = ()
    scope: str = ""
    insecure: str = "Redirect"
    wants_tls: bool = False
    tls: TLSSettings | None = None
    guarded: bool = False
    port: int = 0
    kind: str = "host"
    fallback_for: str = ""

    @property
    def namespace(self) -> str:
        return self.name.partition(":")[0]

    @property
    def origins(self) -> tuple[Origin, ...]:
        """The resource; nothing for a fallback Host."""
        return (Origin(self.kind, self.name),) if self.name else ()


def fallback_host(namespace: str, tls: TLSSettings | None) -> HostBinding:
    """The fallback Host, which serves everything on the Listeners of ``namespace`` while no Host exists
    (docs/ambassador.md §4.5); it routes insecure requests."""
    return HostBinding(
        name="", hostname=ANY, insecure="Route", wants_tls=tls is not None, tls=tls, fallback_for=namespace
    )
