"""Changes put into etcd, in transactions of at most 100, as fast as etcd takes them one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Put

IN_TRANSACTION = 100


async def put(store: EtcdStore, values: Sequence[tuple[str, bytes]]) -> int:
    """Put these (key, JSON); the last revision that it made."""
    revision = 0
    for first in range(0, len(values), IN_TRANSACTION):
        part = values[first : first + IN_TRANSACTION]
        revision = (await store.transaction((), [Put(key, value) for key, value in part])).revision
    return revision
