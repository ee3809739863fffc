"""Whether a new leader has seen everything that the former one wrote.

Why it exists: a standby's view is as old as its watch is late. If it wrote from a view older than its own leadership,
it would undo what its predecessor did last. Applying what is missing is left to the watch.
"""

from __future__ import annotations

from intentc.watch.protocol import Store, prefix_end


async def caught_up(store: Store, prefix: str, applied: int) -> int:
    """0 if nothing under ``prefix`` was written after revision ``applied``; else the store's revision now, which is to
    be applied before anything is written. Ask again with the new ``applied`` until it is 0. A store whose revision is
    lower than ``applied`` was put back: what was applied must be listed anew. Raises ``StoreError``.

    The read is linearizable: asked after winning it sees every write that any former leader's fence still allowed.
    It does not see deletions, and needs not: a view that lacks nothing but deletions is the world as it was at one
    moment, and every write from it is compare-and-set on what that view showed, so that a write to, below or towards
    what has gone is refused. Such a view errs by keeping what should go, until the deletion's event arrives, as with
    any leader whose watch is a moment late. (Comparing revisions instead would never end: the store's counter goes on
    with every heartbeat, which the resources' watch does not tell of.)
    """
    newer = await store.range(prefix, prefix_end(prefix), min_mod_revision=applied + 1, keys_only=True, limit=1)
    return newer.revision if newer.items or newer.revision < applied else 0
