"""Encrypts stored secrets with the newest key: those that an older key encrypted, and those that stand in plain text.

Why it exists: a key can be taken out of ``intentc.api.secret_keys`` only once nothing needs it any more. Every server
with keys looks at its start, page by page, beside the requests that it answers. ``secrets`` seals; each resource is
written under a compare, as any change. Nothing else of the resource changes.

It reads and writes through ``ApiServer``. Values that can't be read stay as they are.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import anyio
import anyio.lowlevel

from intentc.model import Key, Kind
from intentc.watch.protocol import StoreError, prefix_end

from .documents import decode
from .errors import ApiError, Malformed
from .layout import Layout
from .service import ApiServer

_LOG = logging.getLogger(__name__)
_PAGE = 500


async def keep_sealed(server: ApiServer) -> None:
    """Seal all secrets with the newest key, and log the result. A failure is logged; the next start tries again."""
    if not server.secrets.newest:
        return
    try:
        changed = await reseal(server)
    except (ApiError, StoreError) as error:
        _LOG.warning("not all stored secrets were encrypted with the newest key; the next start tries again: %s", error)
        return
    _LOG.info(
        "all stored secrets are encrypted with the key %s of intentc.api.secret_keys; resources that were changed: %s",
        server.secrets.newest,
        changed,
    )


async def reseal(server: ApiServer) -> int:
    """Seal all secrets with the newest key; returns how many resources were changed. Raises ``ApiError`` and
    ``StoreError``."""
    changed = 0
    for kind in server.schema:
        if kind.stored and kind.secret_places:
            async for key in _unsealed(server, kind):
                changed += await _seal(server, kind, key)
    return changed


async def _unsealed(server: ApiServer, kind: Kind) -> AsyncIterator[Key]:
    """The resources of a kind with a secret that is not under the newest key."""
    layout = server.layout
    start, end, more = layout.values(kind.name), prefix_end(layout.values(kind.name)), True
    fields = [field.encode() for field in kind.secret_fields]
    lost: set[str] = set()
    while more:
        page = await server.store.range(start, end, limit=_PAGE)
        for item in page.items:
            if any(field in item.value for field in fields):
                key = Key(kind.name, layout.uuid(item.key))
                if (missing := _state(server, kind, layout, item.key, item.value)) is None:
                    yield key
                else:
                    lost |= missing
        more = page.more
        if page.items:
            start = page.items[-1].key + "\0"
        await anyio.lowlevel.checkpoint()
    if lost:
        _LOG.warning(
            "secrets of the kind %s are under keys that intentc.api.secret_keys has no more, and can't be read: %s",
            kind.name,
            ", ".join(sorted(lost)),
        )


def _state(server: ApiServer, kind: Kind, layout: Layout, where: str, raw: bytes) -> frozenset[str] | None:
    """None if a stored value has secrets to seal; otherwise the ids of keys that it needs and nobody has."""
    try:
        document = decode(kind, raw, where, layout.uuid(where))
    except Malformed:
        return frozenset()
    return server.secrets.lost(kind, document) if server.secrets.sealed(kind, document) == document else None


async def _seal(server: ApiServer, kind: Kind, key: Key) -> bool:
    mutation, changed = server.mutation(kind.name), False
    while mutation.is_open:
        async with mutation as draft:
            before = await draft.readable(key)
            changed = before is not None
            if before is not None:
                await draft.stage(key, server.secrets.sealed(kind, before))
    return changed
