"""Holds a compile until a bridge has mirrored the kinds that the compilers need whole (``needs_synced``).

Why it exists: before a kind was listed completely, an intent can't know whether it finds nothing because there is none,
and would remove what it made before. The bridge writes a mark for each kind (``model/synced.py``).

I/O: reads of the marks in etcd. No state.

Touches: etcd.
"""

from __future__ import annotations

from collections.abc import Collection

from intentc.model.synced import synced_prefix
from intentc.watch.protocol import Store, StoreError, prefix_end


class Unsynced(StoreError):
    """Kinds were never mirrored completely; the message names them."""


async def check_synced(store: Store, installation: str, kinds: Collection[str]) -> None:
    """Raise ``Unsynced`` unless each of ``kinds`` has a mark, and other ``StoreError`` as the store does."""
    prefix = synced_prefix(installation)
    found = await store.range(prefix, prefix_end(prefix), keys_only=True)
    missing = sorted(set(kinds) - {item.key.removeprefix(prefix) for item in found.items})
    if missing:
        raise Unsynced(f"{', '.join(missing)}; start `intentc kubernetes`, or set intentc.kubernetes.wait to false")
