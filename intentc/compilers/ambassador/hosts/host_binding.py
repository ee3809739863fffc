"""What a Host means, as a typed value: fact ``host_binding``, named namespace:name, and ``hostname``, named as its
hostname, where all Hosts of one hostname meet.

A Host means the same whatever Listeners and Mappings there are; what it means on a Listener is ``hostname.py``'s.
"""

from __future__ import annotations

import msgspec

from ..elements import Origin
from ..tls.tls_settings import TLSSettings
from .hostnames import ANY

HOSTS = "any"
"""The name of the fact ``host_binding`` that says that there is a Host at all."""


class HostBinding(msgspec.Struct, frozen=True, order=True):
    """``name``: namespace:name; ``kind``: of what kind of resource (an Ingress may mean a Host, too); ``labels``:
    ``key=value`` each, for the selectors of Listeners. ``scope``: the name, if the Host's selector chooses its
    Mappings, else empty. ``insecure``: ``Redirect``, ``Route`` or ``Reject``.

    ``wants_tls``: TLS was asked for; ``tls`` is None then if it can't be spoken, and nobody is let in by TLS.
    ``guarded``: clients are asked for certificates, or can't be known not to be: what was asked for can't be read.
    ``port``: a further port for insecure requests, 0 for none. ``stands_in``: empty, or the namespace on whose
    Listeners it stands in for the Hosts that are missing; it has no name then.
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
    stands_in: str = ""

    @property
    def namespace(self) -> str:
        return self.name.partition(":")[0]

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Nothing for the Host that stands in where there is none."""
        return (Origin(self.kind, self.name),) if self.name else ()


def stand_in(namespace: str, tls: TLSSettings | None) -> HostBinding:
    """The Host that serves everything on the Listeners of ``namespace`` while there is no Host at all
    (docs/ambassador.md §4.5); it routes insecure requests."""
    return HostBinding(name="", hostname=ANY, insecure="Route", wants_tls=tls is not None, tls=tls, stands_in=namespace)
