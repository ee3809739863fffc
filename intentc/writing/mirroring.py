"""Writes for bridges: copies of a cluster's resources, and single resources of the bridges' own, many in one ``/sync``
(docs/contrail.md B.2, ``mirror``).

Why it exists: a bridge has whole documents and no claims: it creates or replaces a copy, and deletes, without knowing
which of both a document needs. What it answers to compilers goes the same way. ``bulk`` shares the requests; the
modules in ``bridges/`` decide what to write. ``http.py`` writes for the engine.

State: the writes under way, and what is known of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import anyio
import httpx2
import msgspec

from intentc.model import Key, kebab

from .bulk import Gatherer
from .capabilities import Capabilities
from .connection import Connection
from .encode import Mutation
from .endpoint import Endpoint
from .service import Written

_LAST_WRITES = 10.0
"""Seconds for writes under way to end when the service is closed."""


class MirrorService:
    """Writes over a connection. The caller has one write of an object under way at a time. ``finalizers``: those of the
    compilers, which stay as they are stored."""

    def __init__(self, connection: Connection, finalizers: Iterable[str] = ()) -> None:
        self._finalizers = tuple(sorted(finalizers))
        self.capabilities = Capabilities()
        self._gatherer = Gatherer(connection, self.capabilities, lambda key: None)

    def put(self, key: Key, document: bytes, fence: str | None) -> asyncio.Future[Written]:
        """Create or replace the resource whose flat form ``document`` is; the future raises a ``Failure``."""
        mutation = Mutation(key, "CREATE", f"/{kebab(key.kind)}", document, mirrored=self._finalizers)
        return self._gatherer.submit(mutation, fence)

    def create(self, key: Key, collection: str, data: bytes, fence: str | None) -> asyncio.Future[Written]:
        """Create a resource that is no copy, such as an ``observed``; ``collection``: the path to which such resources
        are posted. The future raises a ``Failure``."""
        return self._gatherer.submit(Mutation(key, "CREATE", collection, data), fence)

    def update(
        self, key: Key, data: bytes, fence: str | None, revision: int, mask: tuple[str, ...] = ()
    ) -> asyncio.Future[Written]:
        """Replace the fields in ``data``, or those at the paths ``mask``, of the resource that was written at
        ``revision``; the future raises a ``Failure``."""
        mutation = Mutation(key, "UPDATE", f"/{kebab(key.kind)}", data, mask, if_match=revision)
        return self._gatherer.submit(mutation, fence)

    def remove(self, key: Key, revision: int, fence: str | None) -> asyncio.Future[Written]:
        """Delete the resource that was written at ``revision``; the future raises a ``Failure``."""
        data = msgspec.json.encode({"uuid": key.uuid})
        mutation = Mutation(key, "DELETE", f"/{kebab(key.kind)}", data, if_match=revision)
        return self._gatherer.submit(mutation, fence)

    async def aclose(self) -> None:
        """Wait for writes under way, and fail others."""
        await self._gatherer.aclose()


@asynccontextmanager
async def mirror_service(
    endpoint: Endpoint, finalizers: Iterable[str] = (), *, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[MirrorService]:
    """A service over a connection of its own to ``endpoint``; at the end of the block, writes under way may end.

    ``finalizers``: as for ``MirrorService``. ``transport`` replaces the network. Raises ``ValueError`` for an unusable
    address and ``OSError`` for unusable TLS files.
    """
    connection = Connection(endpoint, transport=transport)
    service = MirrorService(connection, finalizers)
    try:
        yield service
    finally:
        with anyio.move_on_after(_LAST_WRITES, shield=True):
            await service.aclose()
        with anyio.CancelScope(shield=True):
            await connection.aclose()
