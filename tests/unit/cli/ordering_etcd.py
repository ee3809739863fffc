"""An etcd in memory that outlives the commands that use it, with the orders and resources that lie in it."""

from __future__ import annotations

import anyio
import msgspec

from intentc.directives import Book, Kept
from intentc.directives.directive import Directive
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Operation, Put, TransactionResult


class LastingStore(MemoryStore):
    """Each command closes the store that it opens; this one stays open for the next."""

    async def close(self) -> None:
        return None


class OrderingEtcd:
    """``store``: what commands get for the configured etcd. The installation is ``default``, the path ``contrail``."""

    def __init__(self) -> None:
        self.store = LastingStore()
        self.book = Book(self.store, "default")

    def put(self, key: str, value: object) -> int:
        """Store a value as JSON (bytes as they are); the revision."""
        raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
        return self._write(Put(key, raw)).revision

    def resource(self, kind: str, uuid: str, value: object = b"{}") -> int:
        """Store a resource; the revision at which it lies there."""
        return self.put(f"/contrail/{kind}/{uuid}", value)

    def directive(self, directive: Directive) -> int:
        return anyio.run(self.book.put, directive)

    @property
    def kept(self) -> tuple[Kept, ...]:
        return anyio.run(self.book.list)

    @property
    def orders(self) -> list[Directive]:
        """The orders that lie there, without who gave them and when."""
        return [msgspec.structs.replace(kept.directive, by="", at="") for kept in self.kept]

    def _write(self, operation: Operation) -> TransactionResult:
        return anyio.run(self.store.transaction, [], [operation])
