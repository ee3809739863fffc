"""Errors of the store as a client sees them: whose fault they are, and whether to try again."""

from __future__ import annotations

import pytest

from intentc.apiserver.errors import from_store
from intentc.reconcile.failures import Failure
from intentc.watch.etcd_messages import store_error
from intentc.watch.protocol import Compacted


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (store_error("Txn", "etcdserver: request is too large"), 413, "1,572,864"),
        (store_error("Range", "grpc: received message larger than max (3 vs. 2)"), 413, "split it"),
        (store_error("Txn", "etcdserver: too many operations in txn request"), 413, "max_txn_ops"),
        (store_error("Txn", "etcdserver: mvcc: database space exceeded"), 503, "NOSPACE"),
        (Compacted(7), 503, "ask again"),
        (Failure("etcd Range: something else"), 500, "something else"),
    ],
)
def test_what_etcd_rejects_has_a_status_of_its_own(error: Failure, status: int, words: str) -> None:
    answer = from_store(error, writing=False)
    assert answer.status == status
    assert words in answer.message
