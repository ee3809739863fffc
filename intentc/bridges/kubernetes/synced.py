"""Keeps a mark in etcd for each kind: that etcd holds all that the cluster had, and which cluster that was.

Why it exists: before a kind was listed completely, "there is none" means nothing, and a compiler that needs the whole
must not compile (``needs_synced``). And a process that starts can only notice another, or an older, cluster if a former
one wrote down what it saw. ``marking`` decides which marks are written; ``model/bridge_keys.py`` has their form.

The marks are keys of etcd: ``/intentc/synced/<path>/<kind>``.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from intentc.model.bridge_keys import Mark, synced_key, synced_prefix
from intentc.watch.keys import leader_key
from intentc.watch.protocol import Compare, Put, Relation, Store, Target, prefix_end


class SyncedMarks:
    """The marks of the kinds below ``path``. ``leader``: the installation part of our fence."""

    def __init__(self, store: Store, path: str, leader: str) -> None:
        self._store = store
        self._path = path
        self._leader = leader

    async def read(self) -> dict[str, Mark]:
        """Kind → its mark; unreadable ones are left out. Raises ``Failure``."""
        prefix = synced_prefix(self._path)
        found = await self._store.range(prefix, prefix_end(prefix))
        marks = {}
        for item in found.items:
            try:
                marks[item.key.removeprefix(prefix)] = msgspec.json.decode(item.value, type=Mark)
            except msgspec.MsgspecError:
                continue
        return marks

    async def write(self, marks: Iterable[tuple[str, Mark]], fence: str) -> bool:
        """Write marks; False if ``fence`` is over. Raises ``Failure``."""
        revision = int(fence.rpartition("/")[2])
        leads = Compare(leader_key(self._leader), Target.CREATE_REVISION, Relation.EQUAL, revision)
        puts = [Put(synced_key(self._path, kind), msgspec.json.encode(mark)) for kind, mark in marks]
        return (await self._store.transaction([leads], puts)).succeeded if puts else True
