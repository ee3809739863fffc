"""A real etcd (3.4 and later) as a ``Store``, over grpc.aio.

No client on PyPI resumes without loss, survives compaction and accepts answers over 4 MiB at once (docs/adr/0001). This
one has only the calls that intentc makes. A response to a watch may hold many revisions or a part of one; ``EtcdWatch``
merges and divides them into whole revisions. ``source`` reopens watches and handles gaps.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import groupby

import anyio
import anyio.lowlevel
import grpc.aio

from intentc.reconcile.failures import Denied, Failure, Unavailable
from intentc.watch import rpc_pb2 as rpc
from intentc.watch.etcd_connections import Connections, Tls, parse_endpoint
from intentc.watch.etcd_messages import (
    encode_key,
    key_values,
    own_cancellation_only,
    store_error,
    transaction_request,
    transaction_result,
    watch_event,
)
from intentc.watch.protocol import (
    Compacted,
    Compare,
    Operation,
    RangeResult,
    TransactionResult,
    WatchBatch,
    WatchProgress,
    prefix_end,
)

DEFAULT_TIMEOUT_SECONDS = 10.0
_EVENTS_BETWEEN_CHECKPOINTS = 500


class EtcdStore:
    """``Store`` over one or more members of one etcd cluster.

    ``endpoints``: ``host:port``, with or without scheme. ``timeout``: seconds for each call and member, and for
    opening a watch. Nothing is connected before the first call; from then on the store belongs to the event loop of
    that call. ``password`` is called at each log-in, since the password may be rotated, as may the files of ``tls``.
    Raises ``ValueError`` for an invalid endpoint.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        username: str = "",
        password: Callable[[], str] = str,
        tls: Tls | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        if not endpoints:
            raise ValueError("no etcd endpoint given; set etcd.endpoints to a list of host:port")
        parsed = tuple(parse_endpoint(text, tls) for text in endpoints)
        self._connections = Connections(parsed, tls, username, password, timeout)

    async def range(
        self,
        key: str,
        range_end: str = "",
        *,
        revision: int = 0,
        limit: int = 0,
        keys_only: bool = False,
        min_mod_revision: int = 0,
    ) -> RangeResult:
        """See ``Store.range``. Raises ``Compacted``, ``FutureRevision``, ``Unavailable``, ``Denied``."""
        request = rpc.RangeRequest(
            key=encode_key(key),
            range_end=encode_key(range_end),
            revision=revision,
            limit=limit,
            keys_only=keys_only,
            min_mod_revision=min_mod_revision,
        )
        answer = await self._connections.unary("/etcdserverpb.KV/Range", request, rpc.RangeResponse, repeatable=True)
        return RangeResult(
            key_values(answer.kvs), answer.more, answer.count, answer.header.revision, answer.header.cluster_id
        )

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        """See ``Store.transaction``. After ``Unavailable`` the outcome is unknown; it is never repeated here."""
        request = transaction_request(compares, success, failure)
        answer = await self._connections.unary("/etcdserverpb.KV/Txn", request, rpc.TxnResponse, repeatable=False)
        return transaction_result(answer)

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[EtcdWatch]:
        """See ``Store.watch``. The connection is the watch's own and ends with it."""
        if start_revision < 1:
            raise ValueError("a watch starts at a revision, never at 0 ('from now'): that would lose events")
        watch = await open_watch(self._connections, tuple(prefixes), start_revision)
        try:
            yield watch
        finally:
            await watch.close()

    async def grant_lease(self, ttl: int) -> int:
        answer = await self._connections.unary(
            "/etcdserverpb.Lease/LeaseGrant",
            rpc.LeaseGrantRequest(TTL=ttl),
            rpc.LeaseGrantResponse,
            repeatable=False,
        )
        return answer.ID

    async def keep_lease_alive(self, lease: int) -> int:
        # On the wire a stream with one request and one answer looks like a plain call.
        answer = await self._connections.unary(
            "/etcdserverpb.Lease/LeaseKeepAlive",
            rpc.LeaseKeepAliveRequest(ID=lease),
            rpc.LeaseKeepAliveResponse,
            repeatable=False,
        )
        return answer.TTL

    async def revoke_lease(self, lease: int) -> None:
        """See ``Store.revoke_lease``. Raises ``LeaseNotFound`` if there is no such lease."""
        await self._connections.unary(
            "/etcdserverpb.Lease/LeaseRevoke",
            rpc.LeaseRevokeRequest(ID=lease),
            rpc.LeaseRevokeResponse,
            repeatable=False,
        )

    async def compact(self, revision: int) -> None:
        """See ``Store.compact``. Returns when the old revisions are removed from the file as well."""
        await self._connections.unary(
            "/etcdserverpb.KV/Compact",
            rpc.CompactionRequest(revision=revision, physical=True),
            rpc.CompactionResponse,
            repeatable=False,
        )

    async def version(self) -> str:
        """The present member's version (``"3.4.23"``)."""
        answer = await self._connections.unary(
            "/etcdserverpb.Maintenance/Status", rpc.StatusRequest(), rpc.StatusResponse, repeatable=True
        )
        return answer.version

    async def close(self) -> None:
        await self._connections.close()


async def open_watch(connections: Connections, prefixes: tuple[str, ...], start_revision: int) -> EtcdWatch:
    """A running watch; each member is tried once. Raises ``Failure`` or one of its kinds."""
    failed = 0
    fresh_token = False
    while True:
        endpoint = connections.endpoint()
        channel = connections.open_watch_channel()
        watch = EtcdWatch(connections, channel, prefixes)
        try:
            await watch.open(start_revision)
        except BaseException as error:
            await watch.close()
            # etcd says "permission denied" to a watch whose token has expired.
            if isinstance(error, Denied) and connections.has_user and not fresh_token:
                fresh_token = True
                connections.forget_token()
                continue
            if not isinstance(error, Unavailable):
                raise
            connections.leave(endpoint)
            failed += 1
            if failed >= connections.attempts:
                raise
        else:
            return watch


class EtcdWatch:
    """``Watch`` over one gRPC stream and one connection; made by ``open_watch``."""

    def __init__(self, connections: Connections, channel: grpc.aio.Channel, prefixes: tuple[str, ...]) -> None:
        self._connections = connections
        self._endpoint = connections.endpoint()
        self._channel = channel
        self._prefixes = prefixes
        self._call: grpc.aio.StreamStreamCall | None = None
        self._cluster_id = 0
        self._prefix_of: dict[int, str] = {}
        self._reached: dict[int, int] = {}
        self._fragments: dict[int, list[rpc.Event]] = {}
        # Iterators, so that a replay of a thousand revisions is unpacked as it is taken, not in one go.
        self._ready: deque[Iterator[WatchBatch | WatchProgress]] = deque()
        self._events_in_a_row = 0

    @property
    def cluster_id(self) -> int:
        """The id of the cluster that answers."""
        return self._cluster_id

    async def open(self, start_revision: int) -> None:
        """Create one watcher per prefix, and wait until etcd has confirmed them all."""
        try:
            # A member without a leader ends the stream, instead of keeping it silently.
            metadata = (*await self._connections.metadata(), ("hasleader", "true"))
            with anyio.fail_after(self._connections.timeout):
                self._call = self._channel.stream_stream(
                    "/etcdserverpb.Watch/Watch",
                    request_serializer=rpc.WatchRequest.SerializeToString,
                    response_deserializer=rpc.WatchResponse.FromString,
                )(metadata=metadata)
                # gRPC rejects a write to a stream that has ended; the read below raises what ended it.
                with suppress(asyncio.InvalidStateError):
                    async with own_cancellation_only("Watch"):
                        for prefix in self._prefixes:
                            await self._call.write(_create_request(prefix, start_revision))
                while len(self._prefix_of) < len(self._prefixes):
                    self._accept(await self._read())
        except grpc.aio.AioRpcError as error:
            raise store_error("Watch", error.details() or "", error.code()) from None
        except TimeoutError:
            raise Unavailable(
                f"etcd Watch: {self._endpoint.address} did not confirm it in {self._connections.timeout} s"
            ) from None

    async def close(self) -> None:
        """Close stream and connection."""
        if self._call is not None:
            self._call.cancel()
        await self._connections.close_watch_channel(self._channel)

    def __aiter__(self) -> EtcdWatch:
        return self

    async def __anext__(self) -> WatchBatch | WatchProgress:
        while True:
            while self._ready:
                item = next(self._ready[0], None)
                if item is not None:
                    await self._breathe(item)
                    return item
                self._ready.popleft()
            self._accept(await self._read())

    async def _breathe(self, item: WatchBatch | WatchProgress) -> None:
        if isinstance(item, WatchBatch):
            self._events_in_a_row += len(item.events)
        if self._events_in_a_row >= _EVENTS_BETWEEN_CHECKPOINTS:
            self._events_in_a_row = 0
            await anyio.lowlevel.checkpoint()

    async def _read(self) -> rpc.WatchResponse:
        assert self._call is not None, "the watch is not open"
        try:
            async with own_cancellation_only("Watch"):
                response = await self._call.read()
            if not isinstance(response, rpc.WatchResponse):
                raise Unavailable("etcd Watch: the stream ended")
        except (Unavailable, grpc.aio.AioRpcError) as error:
            self._connections.leave(self._endpoint)
            if isinstance(error, Unavailable):
                raise
            raise store_error("Watch", error.details() or "", error.code()) from None
        return response

    def _accept(self, response: rpc.WatchResponse) -> None:
        self._cluster_id = response.header.cluster_id or self._cluster_id
        if response.canceled:
            raise self._cancelled(response)
        if response.created:
            # Watchers are confirmed in the order of the requests.
            self._prefix_of[response.watch_id] = self._prefixes[len(self._prefix_of)]
            self._reached[response.watch_id] = 0
            return
        events = self._fragments.setdefault(response.watch_id, [])
        events.extend(response.events)
        if response.fragment:
            return
        del self._fragments[response.watch_id]
        if events:
            self._reached[response.watch_id] = events[-1].kv.mod_revision
            self._ready.append(_batches(events, self._prefix_of[response.watch_id]))
        else:
            self._progress(response.watch_id, response.header.revision)

    def _progress(self, watch_id: int, revision: int) -> None:
        self._reached[watch_id] = max(self._reached[watch_id], revision)
        everywhere = min(self._reached.values())
        if everywhere > 0:
            self._ready.append(iter([WatchProgress(everywhere)]))

    def _cancelled(self, response: rpc.WatchResponse) -> Failure:
        if response.compact_revision:
            return Compacted(response.compact_revision)
        reason = response.cancel_reason or "the server ended the watch and gave no reason"
        prefixes = ", ".join(self._prefixes)
        error = store_error("Watch", f"{reason}, watching {prefixes}")
        # A watch that ended for another reason may be opened again: it has no known fault.
        return Unavailable(str(error)) if type(error) is Failure else error


def _batches(events: list[rpc.Event], prefix: str) -> Iterator[WatchBatch]:
    for revision, of_one_revision in groupby(events, key=_revision):
        yield WatchBatch(revision, tuple([watch_event(event) for event in of_one_revision]), prefix)


def _revision(event: rpc.Event) -> int:
    return event.kv.mod_revision


def _create_request(prefix: str, start_revision: int) -> rpc.WatchRequest:
    return rpc.WatchRequest(
        create_request=rpc.WatchCreateRequest(
            key=encode_key(prefix),
            range_end=encode_key(prefix_end(prefix)),
            start_revision=start_revision,
            progress_notify=True,
            fragment=True,
        )
    )
