"""Implements the write and read services over HTTP, by Contrail's REST conventions (docs/contrail.md B.1, B.2).

Creates, updates and deletes, those of statuses included, go through the ``Gatherer``, which shares requests; single
references, allocations and reads are one request each. Every write carries its preconditions and the fence. An
operation is sent once (again only with a new token, or without the item that failed its batch): the engine decides what
a failure means. The exception are relaxations, which ``relaxing`` retries in the background.

``MirrorService`` writes for bridges, which have whole documents and no claims: a copy of a cluster's resource is
created or replaced without knowing which of both it needs (docs/contrail.md B.2, ``mirror``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode

import anyio
import httpx2
import msgspec

from intentc.model import AddReference, Create, Delete, Key, Name, RemoveReference, Schema, Update, UpdateStatus, kebab
from intentc.reconcile.failures import Rejected, Unavailable, UnknownOutcome

from .answers import Answer, failure
from .bulk import Gatherer
from .connection import Connection, fence_header
from .encode import Mutation, encode_mutation, encode_reference, resource_path
from .endpoint import Endpoint
from .interfaces import Allocation, ReadBack, Written
from .relaxing import Relaxations


class Turns:
    """The objects with a turn under way, each with the waiting turns."""

    def __init__(self) -> None:
        self._open: dict[Key, deque[asyncio.Future[None]] | None] = {}

    async def begin(self, key: Key) -> None:
        """Wait until all earlier turns of ``key`` have ended. The caller must call ``end``."""
        if key not in self._open:
            self._open[key] = None
            return
        waiting = self._open[key]
        if waiting is None:
            waiting = self._open[key] = deque()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The turn was granted just before the cancellation, so it must be passed on.
                self.end(key)
            raise

    def end(self, key: Key) -> None:
        """End the turn of ``key`` and begin the next one."""
        waiting = self._open[key]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._open[key]


T = TypeVar("T")

_LAST_WRITES = 10.0
"""Seconds for writes under way to end when the services are closed."""


class _Number(msgspec.Struct):
    value: int


class _Holder(msgspec.Struct):
    owner: str
    value: int
    pool: str = ""


class _Holders(msgspec.Struct):
    allocations: tuple[_Holder, ...]


class _Identity(msgspec.Struct):
    uuid: str


class HttpWriteService:
    """``WriteService`` over a connection.

    ``capabilities``: what is known about the server; ``relaxations``: pending relaxations, for servers that relax
    references in a separate request.
    """

    def __init__(self, connection: Connection, schema: Schema) -> None:
        self.capabilities = connection.capabilities
        self.relaxations = Relaxations(connection)
        self._connection = connection
        self._schema = schema
        self._turns = Turns()
        self._gatherer = Gatherer(connection, self._turns.end)

    # The first three return a coroutine: one more of their own would cost time for every write.

    def create(self, operation: Create, fence: str | None = None) -> Coroutine[Any, Any, Written]:
        return self._relaxing(operation, fence) if operation.relaxed else self._mutate(operation, fence)

    def update(self, operation: Update, fence: str | None = None) -> Coroutine[Any, Any, Written]:
        return self._relaxing(operation, fence) if operation.relaxed else self._mutate(operation, fence)

    def delete(self, operation: Delete, fence: str | None = None) -> Coroutine[Any, Any, Written]:
        return self._mutate(operation, fence)

    async def update_status(self, operation: UpdateStatus, fence: str | None = None) -> Written:
        return await self._mutate(operation, fence)

    async def add_ref(self, operation: AddReference, fence: str | None = None) -> Written:
        if not operation.relaxed or await self._relaxes():
            return await self._refer(operation, encode_reference(operation, relaxed=operation.relaxed), fence)
        with self._owing(operation.key, (operation.target.key,), fence):
            written = await self._refer(operation, encode_reference(operation), fence)
        await self.relaxations.relax(operation.key, operation.target.key, fence)
        return written

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None) -> Written:
        return await self._refer(operation, encode_reference(operation), fence)

    async def allocate(self, pool: str, owner: str, fence: str | None = None) -> int:
        body = msgspec.json.encode({"pool": pool, "owner": owner})
        answer = await self._acknowledged("POST", "/int-pool", body, fence)
        try:
            return msgspec.json.decode(answer.content, type=_Number).value
        except msgspec.MsgspecError as error:
            raise UnknownOutcome(f"POST /int-pool: the answer can't be read: {error}") from None

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None) -> None:
        # With the owner, so that a repeated call can't free the number of its next owner.
        body = msgspec.json.encode({"pool": pool, "value": value, "owner": owner})
        await self._acknowledged("DELETE", "/int-pool", body, fence)

    async def aclose(self) -> None:
        """Wait for writes under way, and fail others. The connection stays open."""
        await self._gatherer.aclose()
        await self.relaxations.aclose()

    async def _relaxing(self, operation: Create | Update, fence: str | None) -> Written:
        """Write an object with references to relax; then, if the server does not do both at once, relax them."""
        if await self._relaxes():
            return await self._mutate(operation, fence)
        with self._owing(operation.key, operation.relaxed, fence):
            written = await self._mutate(operation._replace(relaxed=()), fence)
        for target in operation.relaxed:
            await self.relaxations.relax(operation.key, target, fence)
        return written

    async def _mutate(self, operation: Create | Update | Delete | UpdateStatus, fence: str | None) -> Written:
        mutation = encode_mutation(operation, self._schema)
        await self._turns.begin(mutation.key)
        return await self._gatherer.submit(mutation, fence)

    async def _refer(self, operation: AddReference | RemoveReference, body: bytes, fence: str | None) -> Written:
        await self._turns.begin(operation.key)
        try:
            answer = await self._acknowledged("POST", "/ref-update", body, fence, relates=True)
        finally:
            self._turns.end(operation.key)
        return Written(self.capabilities.note(answer))

    async def _relaxes(self) -> bool:
        """Whether the server relaxes a reference in the transaction that writes it."""
        if self.capabilities.operations is None:
            await self.capabilities.learn(self._connection)
        return self.capabilities.relaxes

    @contextmanager
    def _owing(self, holder: Key, targets: Sequence[Key], fence: str | None) -> Iterator[None]:
        """Note pending relaxations if the block's outcome is unknown: it may have written the references, and no later
        plan relaxes them."""
        try:
            yield
        except (UnknownOutcome, asyncio.CancelledError):
            for target in targets:
                self.relaxations.owe(holder, target, fence)
            raise

    async def _acknowledged(
        self, method: str, path: str, body: bytes, fence: str | None, *, relates: bool = False
    ) -> Answer:
        answer = await self._connection.send(method, path, body, fence_header(fence))
        if not answer.ok:
            raise failure(answer, relates=relates)
        return answer


class HttpReadService:
    """``ReadService`` over a connection. ``pools``: the names of the pools that ``all_allocations`` reads."""

    def __init__(self, connection: Connection, *, pools: Sequence[str]) -> None:
        self._connection = connection
        self._pools = tuple(pools)

    async def read(self, key: Key) -> ReadBack | None:
        # Secrets as they are in etcd, from which the desired state was compiled.
        answer = await self._asked("GET", f"{resource_path(key)}?sealed=true")
        if answer is None:
            return None
        envelope = _decoded(answer, dict[str, msgspec.Raw], f"GET {resource_path(key)}")
        value = envelope.get(kebab(key.kind))
        if value is None:
            raise Rejected(answer.status, f"GET {resource_path(key)}: no {kebab(key.kind)!r} in the answer")
        return ReadBack(bytes(value), answer.revision)

    async def identify(self, name: Name) -> Key | None:
        body = msgspec.json.encode({"type": kebab(name.kind), "fq_name": name.fq_name})
        answer = await self._asked("POST", "/fqname-to-id", body)
        return Key(name.kind, _decoded(answer, _Identity, "POST /fqname-to-id").uuid) if answer else None

    async def all_allocations(self, owner_prefix: str) -> tuple[Allocation, ...]:
        found: list[Allocation] = []
        for pool in self._pools:
            path = f"/int-pool?{urlencode({'pool': pool, 'owner': owner_prefix})}"
            answer = await self._asked("GET", path)
            if answer is None:
                # Not an empty result: the engine would allocate all numbers again.
                raise Rejected(404, f"the API server doesn't list the numbers of pool {pool!r}")
            # Of a family of pools the answer names the pool of each.
            holders = _decoded(answer, _Holders, f"GET {path}").allocations
            found += [Allocation(holder.pool or pool, holder.owner, holder.value) for holder in holders]
        return tuple(found)

    async def _asked(self, method: str, path: str, body: bytes | None = None) -> Answer | None:
        """The answer; None for 404. A read without an answer counts as ``Unavailable``."""
        try:
            answer = await self._connection.send(method, path, body)
            if answer.ok:
                return answer
            if answer.status == httpx2.codes.NOT_FOUND:
                return None
            raise failure(answer)
        except UnknownOutcome as error:
            raise Unavailable(str(error)) from None


@asynccontextmanager
async def http_services(
    endpoint: Endpoint,
    schema: Schema,
    *,
    pools: Sequence[str],
    transport: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[tuple[HttpWriteService, HttpReadService]]:
    """Both services over one connection to ``endpoint``; at the end of the block, writes under way may end.

    ``transport`` replaces the network. Raises ``ValueError`` for an unusable address and ``OSError`` for unusable TLS
    files.
    """
    connection = Connection(endpoint, transport=transport)
    write = HttpWriteService(connection, schema)
    async with _closing(connection, write):
        yield write, HttpReadService(connection, pools=pools)


@asynccontextmanager
async def _closing(connection: Connection, service: HttpWriteService | MirrorService) -> AsyncIterator[None]:
    """Let the writes under way end after the block, and close the connection."""
    try:
        yield
    finally:
        with anyio.move_on_after(_LAST_WRITES, shield=True):
            await service.aclose()
        with anyio.CancelScope(shield=True):
            await connection.aclose()


def _decoded(answer: Answer, wanted: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(answer.content, type=wanted)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Rejected(answer.status, f"{what}: the answer can't be read: {error}") from None


class MirrorService:
    """Writes over a connection. The caller has one write of an object under way at a time. ``finalizers``: those of the
    compilers, which stay as they are stored."""

    def __init__(self, connection: Connection, finalizers: Iterable[str] = ()) -> None:
        self._finalizers = tuple(sorted(finalizers))
        self._gatherer = Gatherer(connection, lambda key: None)

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
    async with _closing(connection, service):
        yield service
