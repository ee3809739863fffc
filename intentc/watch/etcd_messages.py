"""Translates between the protocol's values and errors and those of etcd and gRPC.

Keys are text in intentc; bytes that are not UTF-8 survive both ways by ``surrogateescape``. Most of etcd's errors
differ only in their text, and grpc.aio reports a call that was cut as ``CancelledError``, which ends a task silently.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import anyio.lowlevel
import grpc
import grpc.aio

from intentc.reconcile.failures import CertificateExpired, Denied, Failure, Unavailable, Untrusted
from intentc.watch import rpc_pb2 as rpc
from intentc.watch.protocol import (
    Compacted,
    Compare,
    Delete,
    FutureRevision,
    Get,
    KeyValue,
    LeaseNotFound,
    Operation,
    Put,
    Relation,
    RequestTooLarge,
    StoreFull,
    Target,
    TooManyOperations,
    TransactionResult,
    WatchEvent,
)

_RELATIONS = {
    Relation.EQUAL: rpc.Compare.EQUAL,
    Relation.GREATER: rpc.Compare.GREATER,
    Relation.LESS: rpc.Compare.LESS,
}
_UNAVAILABLE = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
}
_ACCESS_TEXTS = ("permission denied", "user name is empty", "authentication failed", "invalid auth token")
_REJECTED = (
    "etcd does not take our certificate: check etcd.tls.certificate_path and key_path, and that it has not expired"
)
_EXPIRED = "has expired"
_TLS_HINTS = {
    "CERTIFICATE_REQUIRED": "etcd asks for our certificate: set etcd.tls.certificate_path and key_path",
    "ALERT_CERTIFICATE_EXPIRED": "our certificate has expired, says etcd: renew etcd.tls.certificate_path",
    "TSI_DATA_CORRUPTED": _REJECTED,
    "ALERT_BAD_CERTIFICATE": _REJECTED,
    "ALERT_UNSUPPORTED_CERTIFICATE": _REJECTED,
    "ALERT_CERTIFICATE_": _REJECTED,
    "ALERT_UNKNOWN_CA": _REJECTED,
    "ALERT_ACCESS_DENIED": _REJECTED,
    "ALERT_HANDSHAKE_FAILURE": "etcd and we have no cipher in common: check etcd's flags and the type of our key",
    "certificate has expired": "etcd's certificate has expired: renew the one that etcd serves",
    "certificate is not yet valid": "etcd's certificate is not valid yet: check the clocks",
    "CERTIFICATE_VERIFY_FAILED": "etcd's certificate is not trusted: check etcd.tls.trusted_ca_path",
    "Hostname Verification": "etcd's certificate is for other names than etcd.endpoints has",
    "WRONG_VERSION_NUMBER": "etcd speaks no TLS there: check etcd.tls.enabled and https:// in etcd.endpoints",
    "Failed to create security handshaker": "the files of etcd.tls hold no certificates, or not the key of ours",
}
"""Part of gRPC's text for a failed handshake → its meaning; the first part that occurs counts. An etcd that rejects a
certificate sends an alert. gRPC names it (``ALERT_…``) if it arrives before the handshake ends; after that, as in TLS
1.3, gRPC can't decrypt it (``TSI_DATA_CORRUPTED``)."""
_FULL_TEXT = "database space exceeded"
_TOO_LARGE_TEXTS = ("request is too large", "grpc: received message larger than max")
"""etcd's own limit, and that of its gRPC server, which is 512 KiB higher."""
_STALE_TOKEN_TEXTS = ("invalid auth token", "revision of auth store is old", "user name is empty")
"""The last one: we have no token, since etcd had no authentication when we logged in, and now it has."""
_WITHOUT_AUTH_TEXT = "authentication is not enabled"


def encode_key(key: str) -> bytes:
    """A key in the form of etcd."""
    return key.encode("utf-8", "surrogateescape")


def _key_value(message: rpc.KeyValue) -> KeyValue:
    """One stored key."""
    return KeyValue(
        message.key.decode("utf-8", "surrogateescape"),
        message.value,
        message.create_revision,
        message.mod_revision,
        message.version,
        message.lease,
    )


def key_values(messages: Iterable[rpc.KeyValue]) -> tuple[KeyValue, ...]:
    """Many, in the order in which etcd gave them (by key)."""
    return tuple([_key_value(message) for message in messages])


def watch_event(message: rpc.Event) -> WatchEvent:
    """One change."""
    return WatchEvent(_key_value(message.kv), message.type == rpc.Event.DELETE)


def transaction_request(
    compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation]
) -> rpc.TxnRequest:
    """A whole transaction."""
    return rpc.TxnRequest(
        compare=[_compare(compare) for compare in compares],
        success=[_operation(operation) for operation in success],
        failure=[_operation(operation) for operation in failure],
    )


def transaction_result(response: rpc.TxnResponse) -> TransactionResult:
    """Its answer; only reads have results."""
    return TransactionResult(
        response.succeeded,
        response.header.revision,
        tuple(key_values(answer.response_range.kvs) for answer in response.responses),
    )


def _compare(compare: Compare) -> rpc.Compare:
    message = rpc.Compare(
        key=encode_key(compare.key),
        range_end=encode_key(compare.range_end),
        result=_RELATIONS[compare.relation],
    )
    match compare.target:
        case Target.CREATE_REVISION:
            message.target, message.create_revision = rpc.Compare.CREATE, compare.number
        case Target.MOD_REVISION:
            message.target, message.mod_revision = rpc.Compare.MOD, compare.number
    return message


def _operation(operation: Operation) -> rpc.RequestOp:
    match operation:
        case Put(key, value, lease):
            put = rpc.PutRequest(key=encode_key(key), value=value, lease=lease)
            return rpc.RequestOp(request_put=put)
        case Delete(key, range_end):
            delete = rpc.DeleteRangeRequest(key=encode_key(key), range_end=encode_key(range_end))
            return rpc.RequestOp(request_delete_range=delete)
        case Get(key, range_end, limit, keys_only):
            get = rpc.RangeRequest(
                key=encode_key(key), range_end=encode_key(range_end), limit=limit, keys_only=keys_only
            )
            return rpc.RequestOp(request_range=get)


def store_error(call: str, details: str, code: grpc.StatusCode | None = None) -> Failure:
    """The protocol's error for what etcd answered to ``call`` (``"Range"``); the message names call and answer."""
    message = f"etcd {call}: {details}"
    if "compacted" in details:
        return Compacted()
    if "future revision" in details:
        return FutureRevision(message)
    if "too many operations" in details:
        return TooManyOperations(message)
    if any(text in details for text in _TOO_LARGE_TEXTS):
        return RequestTooLarge(message)
    if _FULL_TEXT in details:
        return StoreFull(f"{message} (alarm NOSPACE: compact, defragment, then `etcdctl alarm disarm`)")
    if "lease not found" in details:
        return LeaseNotFound(message)
    if code is grpc.StatusCode.PERMISSION_DENIED or any(text in details for text in _ACCESS_TEXTS):
        return Denied(f"{message} (check etcd.username, etcd.password and the user's roles)")
    if code in _UNAVAILABLE:
        for text, hint in _TLS_HINTS.items():
            if text in details:
                trusted = CertificateExpired if _EXPIRED in hint else Untrusted
                return trusted(f"etcd {call}: {hint} ({details})")
        if "failed to connect" in details and "Socket closed" in details:
            return Unavailable(f"{message} (if etcd asks for TLS there, set etcd.tls.enabled)")
        return Unavailable(message)
    return Failure(message)


def is_stale_token(error: grpc.aio.AioRpcError) -> bool:
    """True if a new token would help: ours expired, or roles changed since it was issued."""
    return any(text in (error.details() or "") for text in _STALE_TOKEN_TEXTS)


def is_without_authentication(error: grpc.aio.AioRpcError) -> bool:
    """True if the server answered that authentication is disabled."""
    return _WITHOUT_AUTH_TEXT in (error.details() or "")


def never_left(error: grpc.aio.AioRpcError) -> bool:
    """True if there was no connection: the request was not sent, so it may be repeated elsewhere."""
    return error.code() is grpc.StatusCode.UNAVAILABLE and "failed to connect" in (error.details() or "").lower()


@asynccontextmanager
async def own_cancellation_only(call: str) -> AsyncIterator[None]:
    """Turn a ``CancelledError`` that does not cancel our task into ``Unavailable`` (docs/engine.md §1.6)."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            # gRPC raises its own error in place of ours, and anyio would not recognise it as its scope's.
            await anyio.lowlevel.checkpoint_if_cancelled()
            raise
        raise Unavailable(f"etcd {call}: the connection was closed under the call") from None
