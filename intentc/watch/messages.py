"""Converts the protocol's values to etcd's messages and back.

Keys are text in intentc; bytes that are not UTF-8 survive both ways by ``surrogateescape``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from intentc.watch import rpc_pb2 as rpc
from intentc.watch.protocol import (
    Compare,
    Delete,
    Get,
    KeyValue,
    Operation,
    Put,
    Relation,
    Target,
    TransactionResult,
    WatchEvent,
)

_RELATIONS = {
    Relation.EQUAL: rpc.Compare.EQUAL,
    Relation.GREATER: rpc.Compare.GREATER,
    Relation.LESS: rpc.Compare.LESS,
    Relation.NOT_EQUAL: rpc.Compare.NOT_EQUAL,
}


def encode_key(key: str) -> bytes:
    """A key in the form of etcd."""
    return key.encode("utf-8", "surrogateescape")


def decode_key(key: bytes) -> str:
    """A key in the form of intentc."""
    return key.decode("utf-8", "surrogateescape")


def key_value(message: rpc.KeyValue) -> KeyValue:
    """One stored key."""
    return KeyValue(
        decode_key(message.key),
        message.value,
        message.create_revision,
        message.mod_revision,
        message.version,
        message.lease,
    )


def key_values(messages: Iterable[rpc.KeyValue]) -> tuple[KeyValue, ...]:
    """Many, in the order in which etcd gave them (by key)."""
    return tuple([key_value(message) for message in messages])


def watch_event(message: rpc.Event) -> WatchEvent:
    """One change."""
    return WatchEvent(key_value(message.kv), message.type == rpc.Event.DELETE)


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
        case Target.VERSION:
            message.target, message.version = rpc.Compare.VERSION, compare.number
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
