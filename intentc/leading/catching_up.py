"""Checks whether a new leader has seen everything that the former one wrote.

Why it exists: a standby's view lags as its watch does. If it wrote from a view older than its own leadership, it would
revert its predecessor's last writes. The watch applies what is missing.
"""

from __future__ import annotations

from intentc.watch.protocol import Store, prefix_end


async def caught_up(store: Store, prefix: str, applied: int) -> int:
    """Return 0 if nothing under ``prefix`` was written after revision ``applied``; else the store's present revision.

    That revision must be applied before anything is written; ask again with the new ``applied`` until the result is 0.
    A store with a revision lower than ``applied`` was restored: list the world anew. Raises ``StoreError``.

    The read is linearizable: after the election is won, it sees every write that a former leader's fence allowed. It
    does not see deletions, and need not: a view that lacks only deletions is the world at one moment, and every write
    from it is compare-and-set on that view, so a write to, below or towards a deleted object is rejected. Such a view
    errs by keeping objects until the deletion's event arrives, as with any leader whose watch lags for a moment.
    (Comparing revisions would never end: each heartbeat advances the store's counter, and the resources' watch does not
    report heartbeats.)
    """
    newer = await store.range(prefix, prefix_end(prefix), min_mod_revision=applied + 1, keys_only=True, limit=1)
    return newer.revision if newer.items or newer.revision < applied else 0
