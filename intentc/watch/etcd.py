"""A real etcd (3.4 and later) as a ``Store``, over grpc.aio.

No client on PyPI resumes without loss, survives compaction and accepts answers over 4 MiB at once (docs/adr/0001). This
one has only the calls that intentc makes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import anyio
import grpc.aio

from intentc.reconcile.failures import Unavailable
from intentc.watch import rpc_pb2 as rpc
from intentc.watch.etcd_connections import Connections, Tls, parse_endpoint
from intentc.watch.etcd_errors import is_stale_token, own_cancellation_only, store_error
from intentc.watch.etcd_watch import EtcdWatch, open_watch
from intentc.watch.messages import encode_key, key_values, transaction_request, transaction_result
from intentc.watch.protocol import Compare, Operation, RangeResult, TransactionResult

DEFAULT_TIMEOUT_SECONDS = 10.0


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
        connections = self._connections
        endpoint = connections.endpoint()
        try:
            metadata = await connections.metadata()
            open_call = connections.shared_channel().stream_stream(
                "/etcdserverpb.Lease/LeaseKeepAlive",
                request_serializer=rpc.LeaseKeepAliveRequest.SerializeToString,
                response_deserializer=rpc.LeaseKeepAliveResponse.FromString,
            )
            with anyio.fail_after(connections.timeout):
                call = open_call(metadata=metadata)
                try:
                    async with own_cancellation_only("LeaseKeepAlive"):
                        await call.write(rpc.LeaseKeepAliveRequest(ID=lease))
                        answer = await call.read()
                finally:
                    call.cancel()
        except grpc.aio.AioRpcError as error:
            connections.leave(endpoint)
            if is_stale_token(error):
                connections.forget_token()
            raise store_error("LeaseKeepAlive", error.details() or "", error.code()) from None
        except TimeoutError:
            connections.leave(endpoint)
            raise Unavailable(f"etcd LeaseKeepAlive: no answer in {connections.timeout} s") from None
        if answer is grpc.aio.EOF:
            raise Unavailable("etcd LeaseKeepAlive: the stream ended without an answer")
        return int(answer.TTL)

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
