"""Writes the publisher's records through the API server: what the gateway has, what is ours in it, which Ingresses it
serves and where, problems of the document, and which Ingresses are rejected.

A record that says the same is not written. Each write waits until etcd has shown it, since the next pass reads what is
stored. What one Ingress's record says holds up no other Ingress: if the API server rejects it, it is logged and shown,
and the next pass tries again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from intentc.model import Key, kebab
from intentc.model.manifest import manifest_uuid
from intentc.reconcile.failures import Conflict, Rejected
from intentc.writing import Written
from intentc.writing.http import MirrorService

from .compiled_world import DOCUMENT_PROBLEM, PUBLICATION, PUBLISHED, REJECTION, Digests, Published, StoredWorld
from .document import RECORD, record_of
from .publisher import Address, Problems
from .rejections import Rejection

_LOG = logging.getLogger(__name__)
_MESSAGE = 2000
"""Characters of Azure's words that are kept."""


class GatewayRecords:
    """The records of one gateway. ``name``: of its records; ``prefix``: of our names; ``plurals``: kind → plural;
    ``shown``: waits until etcd has shown a revision. It is ``publisher.Records``; methods raise ``Failure``."""

    def __init__(
        self,
        writer: MirrorService,
        stored: StoredWorld,
        name: str,
        prefix: str,
        plurals: Mapping[str, str],
        shown: Callable[[int], Awaitable[None]],
    ) -> None:
        self._writer = writer
        self._stored = stored
        self._name = name
        self._prefix = prefix
        self._plurals = plurals
        self.fence = ""
        """Of the present pass: what a former leader still writes is rejected."""
        self._shown = shown
        self.rejected: dict[tuple[str, str], str] = {}
        """Records of Ingresses that the API server rejects (kind, Ingress), with its words."""

    async def gateway(self, shown: dict[str, Any], published: Published) -> None:
        fields = record_of(shown, self._name, prefix=self._prefix, made=published.made)
        await self._put(RECORD, [self._name], fields)

    async def published(self, published: Published) -> None:
        certificates = [{"name": name, "digest": digest} for name, digest in published.certificates]
        learned = [{"part": part, "wanted": wanted, "shown": shown} for part, wanted, shown in published.learned]
        fields = {
            "made": list(published.made),
            "certificates": certificates,
            "learned": learned,
            "sent": published.sent,
            "etag": published.etag,
        }
        await self._put(PUBLISHED, [self._name], fields)

    async def publications(self, served: Mapping[str, Sequence[Address]]) -> None:
        addresses = {
            ingress: [{"ip": one.ip, "hostname": one.hostname} for one in found] for ingress, found in served.items()
        }
        await self._all(PUBLICATION, "addresses", addresses)

    async def problems(self, problems: Problems) -> None:
        found: dict[str, list[dict[str, str]]] = {}
        for ingress, reason, message in problems:
            found.setdefault(ingress, []).append({"reason": reason, "message": message})
        await self._all(DOCUMENT_PROBLEM, "problems", found)

    async def _all(self, kind: str, field: str, wanted: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
        """Let the records of a kind be those of ``wanted``: Ingress → the value of ``field``."""
        lost = [found for found in self._stored.of_kind(kind) if found.name not in wanted]
        removals = [
            self._written(self._writer.remove(Key(kind, found.uuid), found.revision, self.fence)) for found in lost
        ]
        puts = [
            self._put(kind, ingress.split(":"), {"ingress": ingress, field: value}) for ingress, value in wanted.items()
        ]
        # Together, so that they share requests.
        results = await asyncio.gather(*removals, *puts, return_exceptions=True)
        names = [*(found.name for found in lost), *wanted]
        former, self.rejected = self.rejected, {at: words for at, words in self.rejected.items() if at[0] != kind}
        for name, error in zip(names, results, strict=True):
            if isinstance(error, Rejected | Conflict):
                self.rejected[kind, name] = words = str(error)
                if former.get((kind, name)) != words:
                    _LOG.warning("the record %s %s can't be written: %s", kind, name, words)
            elif error is not None:
                raise error

    async def reject(self, ingress: str, digests: Digests, rejection: Rejection) -> None:
        fields = {
            "ingress": ingress,
            "digest": digests.said,
            "content": digests.content,
            "code": rejection.code,
            "message": rejection.words[:_MESSAGE],
        }
        await self._put(REJECTION, ingress.split(":"), fields)

    async def release(self, ingress: str) -> None:
        present = self._stored.named(REJECTION, ingress)
        if present is not None:
            key = Key(REJECTION, present.uuid)
            await self._written(self._writer.remove(key, present.revision, self.fence))

    async def _put(self, kind: str, name: Sequence[str], fields: Mapping[str, Any]) -> None:
        present = self._stored.named(kind, ":".join(name))
        said = {field: value for field, value in fields.items() if field != "fq_name"}
        if present is None:
            key = Key(kind, manifest_uuid(kind, name))
            data = msgspec.json.encode({"uuid": key.uuid, "fq_name": list(name), **said})
            await self._written(self._writer.create(key, f"/{kebab(self._plurals[kind])}", data, self.fence))
        elif any(_plain(present.fields.get(field)) != _plain(value) for field, value in said.items()):
            key = Key(kind, present.uuid)
            data = msgspec.json.encode({"uuid": key.uuid, **said})
            await self._written(self._writer.update(key, data, self.fence, present.revision))

    async def _written(self, future: asyncio.Future[Written]) -> None:
        written = await future
        if written.revision is not None:
            await self._shown(written.revision)


def _plain(value: Any) -> Any:
    """A value without members that have the default of their type, which the store leaves out."""
    if isinstance(value, Mapping):
        return {name: plain for name, member in value.items() if (plain := _plain(member)) is not None}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value] or None
    return value or None
