"""Reads the live world: all resources at one revision, and everything else that decides what a compile writes.

Why it exists: a plan is made over a copy. This module makes all requests to etcd and to the API server, once, and
writes nothing there. It reads the server's index only for what resources don't contain: references that block no
deletion, pools, and the names of resources that can't be read. Without an index, or without permission to read it,
``copying`` computes what it can.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from intentc.directives import Book, Kept
from intentc.model import Schema, Snapshot
from intentc.retained import KnownFields, KnownValues, RetainedValues
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import AccessDenied, KeyValue, Store, prefix_end
from intentc.writing import Allocation, ReadService

_INDEX = "/intentc/apiserver/"
_PAGE = 5_000


class Gathered(NamedTuple):
    """``snapshot``: the resources. ``cluster_id``: of their etcd. ``links``: the API server's index keys, without
    prefix, of relations that block no deletion (``<target>/<kind>/<uuid>/<sort>``); None without an index. ``names``:
    uuid → its index entry, for values whose name can't be read. ``pools``: the keys of the server's pools, without
    prefix, and their values. ``allocations``: those of our installation. ``directives``: of operators.
    ``last_good``: last good values of held resources."""

    snapshot: Snapshot
    cluster_id: int
    links: frozenset[str] | None
    names: dict[str, bytes]
    pools: dict[str, bytes]
    allocations: tuple[Allocation, ...]
    directives: tuple[Kept, ...]
    last_good: KnownValues = KnownValues({}, {})


async def gather(store: Store, read: ReadService, schema: Schema, *, path: str, installation: str) -> Gathered:
    """Read everything under ``/<path>/`` now. Raises ``StoreError``, and ``WriteError`` for unreadable allocations."""
    await KnownFields(store, schema, installation=installation).load()
    listing = await list_all(store, Layout.of(f"/{path}/"), _ignore)
    revision = listing.snapshot.revision
    links: frozenset[str] | None = None
    names: dict[str, bytes] = {}
    pools: dict[str, bytes] = {}
    try:
        index = f"{_INDEX}{path}/"
        links = frozenset([item.key async for item in _below(store, f"{index}links/", revision, keys_only=True)])
        pools = {f"pool{item.key}": item.value async for item in _below(store, f"{index}pool", revision)}
        for uuid in [change.uuid for change in listing.snapshot.changes if not _has_readable_name(change.value or b"")]:
            for item in (await store.range(f"{index}uuid/{uuid}", revision=revision)).items:
                names[uuid] = item.value
    except AccessDenied:
        links = None
    allocations = await read.all_allocations(f"{installation}/")
    directives = await Book(store, installation).list()
    retained = RetainedValues(store, schema, path=path, installation=installation)
    last_good = await KnownValues.of(retained, schema, listing.snapshot.changes)
    known_links = links if links or pools else None
    return Gathered(
        listing.snapshot, listing.cluster_id, known_links, names, pools, tuple(allocations), directives, last_good
    )


def _has_readable_name(value: bytes) -> bool:
    try:
        msgspec.json.decode(value, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


async def _below(store: Store, prefix: str, revision: int, *, keys_only: bool = False) -> AsyncIterator[KeyValue]:
    """Yield the keys below ``prefix`` at ``revision``, without the prefix."""
    first, end = prefix, prefix_end(prefix)
    while True:
        page = await store.range(first, end, revision=revision, limit=_PAGE, keys_only=keys_only)
        for item in page.items:
            yield item._replace(key=item.key.removeprefix(prefix))
        if not page.more:
            return
        first = page.items[-1].key + "\0"


def _ignore(key: str) -> None:
    """Ignore keys of another form: the live watch logs them."""
