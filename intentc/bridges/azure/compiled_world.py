"""What one pass of the publisher reads of etcd: the compiler's objects, Secrets, and which Ingresses are served and
rejected.

``stored`` makes it. ``rejected_ingresses`` and ``retried_ingresses`` compare what was rejected with what is there now,
and write ``RejectionRecords``, which are in ``records``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from .certificates import Pair
from .document import Parts
from .rejections import Rejection


class Digests(NamedTuple):
    """What an Ingress asks for. ``said``: by itself, its Secrets and its rewrite set (``appgw_owner``); ``content``:
    of its probes, settings and pools."""

    said: str = ""
    content: str = ""


class World(NamedTuple):
    """What the compiler made. ``said``: Ingress → ``Digests.said``. ``secret``: name (namespace:name) → its
    certificate; it raises ``ValueError`` if there is none. ``private``: the Ingresses that are to be served at the
    private address. ``served``: those that the gateway serves, by the records. ``rejected``: those that Azure rejected,
    by the records, with what they asked for then."""

    parts: Parts
    said: Mapping[str, str]
    secret: Callable[[str], Pair]
    private: frozenset[str] = frozenset()
    served: frozenset[str] = frozenset()
    rejected: Mapping[str, Digests] = {}

    def digests(self, ingress: str) -> Digests:
        """What an Ingress asks for now; empty digests if it is unknown."""
        return Digests(self.said.get(ingress, ""), _content_of(self.parts, ingress))


class RejectionRecords(Protocol):
    """The records ``appgw_rejection``, which the compiler reads. An Ingress is namespace:name."""

    async def reject(self, ingress: str, digests: Digests, rejection: Rejection) -> None:
        """Leave an Ingress out while it asks for this."""
        ...

    async def release(self, ingress: str) -> None:
        """Leave it out no longer."""
        ...


def _content_of(parts: Parts, ingress: str) -> str:
    """A digest of what is behind an Ingress (32 hexadecimal digits). It is the same while the Ingress is rejected."""
    settings = {
        name: part for name, part in parts.of("backendHttpSettingsCollection").items() if ingress in part.owners
    }
    probes = {name: part for name, part in parts.of("probes").items() if ingress in part.owners}
    used = {str(part.fields.get("pool") or "") for part in settings.values()}
    pools = {name: part for name, part in parts.of("backendAddressPools").items() if name in used}
    found: list[dict[str, Any]] = [
        {name: part.config for name, part in sorted(there.items())} for there in (settings, probes, pools)
    ]
    return hashlib.sha256(msgspec.json.encode(found, order="deterministic")).hexdigest()[:32]
