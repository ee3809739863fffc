"""Knows what etcd holds for a gateway: the compiler's objects, Secrets, and the publisher's own records.

``World`` is what one pass of the publisher reads of it.
"""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model.events import Batch, Change, Snapshot

from ..process import with_deletions
from .document import RECORD, Parts, parts_of
from .document.parts import COLLECTIONS
from .pfx import Pair

REJECTION = "appgw_rejection"
SUSPECTED = "Suspected"
"""The code in the record of an Ingress that is left out only because a search runs."""
PUBLISHED = "appgw_published"
PUBLICATION = "appgw_publication"
DOCUMENT_PROBLEM = "appgw_document_problem"
_SECRET = "secret"  # noqa: S105  # a kind
_OWNER = "appgw_owner"
_OBJECTS = frozenset({*COLLECTIONS, _OWNER, "appgw_document"})
RECORDS = (RECORD, PUBLISHED, PUBLICATION, REJECTION, DOCUMENT_PROBLEM)
"""The kinds that a publisher writes."""
KINDS = _OBJECTS.union(RECORDS, [_SECRET])


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


class Published(NamedTuple):
    """What the gateway has of ours: the ids that were made, and certificate → digest of the content that was sent.

    ``learned``: see ``normalize.ServerDefaults``. ``sent``: a digest of the document whose write has begun, empty once
    its end was seen; ``etag``: that of the gateway before it."""

    made: tuple[str, ...] = ()
    certificates: tuple[tuple[str, str], ...] = ()
    learned: tuple[tuple[str, str, str], ...] = ()
    sent: str = ""
    etag: str = ""


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


class Stored(NamedTuple):
    """A resource: its name (fq_name joined by ``:``), fields, and etcd's revision."""

    uuid: str
    name: str
    fields: dict[str, Any]
    revision: int


class StoredWorld:
    """What was delivered so far. ``revision``: up to which; ``restores``: how often etcd was found restored to an older
    state, in which what we wrote may be missing."""

    def __init__(self) -> None:
        self.revision = 0
        self.restores = 0
        self._found: dict[tuple[str, str], Stored] = {}

    def take(self, item: Snapshot | Batch) -> bool:
        """Take a delivery; whether it changed what is published."""
        concerned = with_deletions(item, KINDS, self._found)
        for change in concerned:
            self._take(change)
        has_lost = False
        if isinstance(item, Snapshot):
            has_lost = any(change.value is None for change in concerned)
            # A restored store has gone back.
            self.revision = item.revision
            self.restores += item.restored
        self.revision = max(self.revision, item.revision)
        return has_lost or any(change.kind in _OBJECTS or change.kind == _SECRET for change in concerned)

    def of_kind(self, kind: str) -> list[Stored]:
        """The resources of a kind."""
        return [found for (its, _), found in self._found.items() if its == kind]

    def named(self, kind: str, name: str) -> Stored | None:
        """A resource by its kind and name."""
        return next((found for found in self.of_kind(kind) if found.name == name), None)

    def world(self) -> World:
        """What is to be published."""
        objects: Iterable[dict[str, Any]] = (
            {**found.fields, "kind": kind} for (kind, _), found in self._found.items() if kind in _OBJECTS
        )
        said = {found.name: str(found.fields.get("digest", "")) for found in self.of_kind(_OWNER)}
        private = frozenset(found.name for found in self.of_kind(_OWNER) if found.fields.get("private"))
        served = frozenset(found.name for found in self.of_kind(PUBLICATION))
        rejected = {
            found.name: Digests(str(found.fields.get("digest", "")), str(found.fields.get("content", "")))
            for found in self.of_kind(REJECTION)
            if found.fields.get("code") != SUSPECTED
        }
        return World(parts_of(objects), said, self._certificate, private, served, rejected)

    def published(self, gateway: str) -> Published:
        """What a former process has published."""
        found = self.named(PUBLISHED, gateway)
        if found is None:
            return Published()
        fields = found.fields
        return Published(
            tuple(fields.get("made") or ()),
            tuple((str(one["name"]), str(one["digest"])) for one in fields.get("certificates") or ()),
            tuple((str(one["part"]), str(one["wanted"]), str(one["shown"])) for one in fields.get("learned") or ()),
            str(fields.get("sent") or ""),
            str(fields.get("etag") or ""),
        )

    def suspected(self) -> list[str]:
        """The Ingresses that a search has left out."""
        return [found.name for found in self.of_kind(REJECTION) if found.fields.get("code") == SUSPECTED]

    def _take(self, change: Change) -> None:
        key = (change.kind, change.uuid)
        if change.value is None:
            self._found.pop(key, None)
            return
        try:
            fields = msgspec.json.decode(change.value)
            name = ":".join(fields["fq_name"])
        except (msgspec.MsgspecError, KeyError, TypeError):
            self._found.pop(key, None)
            return
        self._found[key] = Stored(change.uuid, name, fields, change.mod_revision)

    def _certificate(self, name: str) -> Pair:
        found = self.named(_SECRET, name)
        fields = found.fields if found is not None else {}
        try:
            return Pair(_content(fields, "tls.crt"), _content(fields, "tls.key"))
        except (KeyError, TypeError, AttributeError, binascii.Error):
            raise ValueError(f"Secret {name} has no tls.crt and tls.key in base64") from None


def _content(fields: Mapping[str, Any], member: str) -> bytes:
    """The bytes of a member. A store without a cluster keeps ``stringData``."""
    if plain := (fields.get("stringData") or {}).get(member):
        return str(plain).encode()
    return binascii.a2b_base64("".join(fields["data"][member].split()), strict_mode=True)
