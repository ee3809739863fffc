"""Resolves what refers to deleted resources: rejects a deletion, cascades it, or removes the references.

Why it exists: the index names the children and referrers of a resource. The transaction of a deletion changes up to 16
of them. With more, which would let it grow with the number of neighbours, the resource is deleted first, with a note in
the index, and they are changed afterwards, 16 at a time. No new reference can come meanwhile, since its target is
absent. Whoever deletes changes them before it answers, except references of relations that compilers alone write:
compilers remove those themselves, and two writers would only fail each other. What is left after a while, because no
compiler runs or a server has ended, any server finishes (``Sweep``).
"""

from __future__ import annotations

from collections.abc import Sequence

from intentc.model import Key
from intentc.model.names import escaped_segment
from intentc.watch.protocol import KeyValue

from .documents import relationships, without_reference
from .draft import Draft, Staged
from .errors import Conflict, Malformed
from .layout import CHILD, REFERENCE, Holder

_AT_ONCE = 16
"""Children and referrers that one transaction changes."""
_MOST_BYTES = 256 << 10
"""The size of their values together."""
_SHOWN = 5
_READ_AT_ONCE = 100


async def settle(draft: Draft) -> None:
    """Resolve the holders of deleted resources. Raises ``Conflict`` if one blocks the deletion."""
    done: set[Key] = set()
    while True:
        deleted = [key for key, staged in draft.staged.items() if staged.after is None and key not in done]
        if not deleted:
            return
        layout = draft.layout
        prefixes = [prefix for key in deleted for prefix in (layout.holds(key.uuid), layout.links(key.uuid))]
        await draft.reading.load(draft.index_keys(), prefixes)
        for key in deleted:
            done.add(key)
            await _settle_deletion(draft, key, draft.staged[key])


async def remaining(draft: Draft, target: Key, *, everything: bool) -> tuple[list[KeyValue], bool]:
    """The index entries of children and referrers that a deleted resource still has, and whether these are all.
    ``everything``: also references that compilers should remove themselves."""
    found = await _dependents(draft, target, forced=True)
    chosen = found if everything else [item for item in found if not _is_compilers(draft, item, target)]
    return chosen, len(chosen) == len(found)


async def release(draft: Draft, entries: Sequence[KeyValue], target: Key) -> None:
    """Take a deleted resource from the holders of these entries, unless it was created again."""
    await draft.guard(draft.layout.value(target))
    if await draft.reading.item(draft.layout.value(target)) is None:
        await draft.load(draft.layout.holder(item.key).key for item in entries)
        for item in entries:
            await _release(draft, item, target)


async def forget(draft: Draft, target: Key) -> None:
    """Note that nobody refers to a deleted resource any more."""
    draft.drop(draft.layout.dangling(target))


class Sweep:
    """Finds the deleted resources that others still refer to, and for which nobody does anything."""

    def __init__(self) -> None:
        self._counts: dict[Key, int] = {}

    async def due(self, draft: Draft) -> list[Key]:
        """Those that have as many referrers as at the call before."""
        prefix = draft.layout.all_dangling()
        parts = [item.key.removeprefix(prefix).partition("/") for item in await draft.reading.below(prefix)]
        keys = [Key(kind, escaped_segment(uuid)) for kind, _, uuid in parts]
        before, self._counts = self._counts, {}
        for key in keys:
            self._counts[key] = len(await _dependents(draft, key, forced=True))
        return [key for key, count in self._counts.items() if before.get(key) == count or not count]


async def _settle_deletion(draft: Draft, key: Key, staged: Staged) -> None:
    layout = draft.layout
    if not staged.forced:
        await _reject_held(draft, key)
    dependents = await _dependents(draft, key, forced=staged.forced)
    if await fitting(draft, dependents) < len(dependents):
        draft.defer(key)
    else:
        for item in dependents:
            await _release(draft, item, key)
    draft.guard_below(layout.holds(key.uuid))
    draft.guard_below(layout.links(key.uuid))


async def _reject_held(draft: Draft, key: Key) -> None:
    """Raise ``Conflict`` if a holder blocks the deletion; drop entries of those that do not refer to it any more."""
    entries = await draft.reading.below(draft.layout.holds(key.uuid))
    blocking: list[Holder] = []
    unread = len(entries)
    for start in range(0, len(entries), _READ_AT_ONCE):
        part = [(item, draft.layout.holder(item.key)) for item in entries[start : start + _READ_AT_ONCE]]
        await draft.load(holder.key for _, holder in part)
        for item, holder in part:
            if await _holds(draft, holder, key.uuid) is False:
                draft.drop(item.key)
            else:
                blocking.append(holder)
        unread -= len(part)
        if len(blocking) >= _SHOWN:
            break
    if blocking:
        count = len(blocking) + unread
        shown = ", ".join(f"{holder.key} ({holder.sort})" for holder in blocking[:_SHOWN])
        more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
        raise Conflict(f"{key} can't be deleted while it is held by {shown}{more}; delete those first", key=key)


async def _dependents(draft: Draft, key: Key, *, forced: bool) -> list[KeyValue]:
    """The entries of what follows the deletion: references that don't block it; if it is ``forced``, all holders."""
    layout = draft.layout
    links = await draft.reading.below(layout.links(key.uuid))
    holds = await draft.reading.below(layout.holds(key.uuid)) if forced else ()
    return [*holds, *(item for item in links if layout.holder(item.key).sort == REFERENCE)]


def _is_compilers(draft: Draft, item: KeyValue, target: Key) -> bool:
    """Whether an entry is a reference that compilers alone write."""
    holder = draft.layout.holder(item.key)
    kind = draft.schema.kinds.get(holder.key.kind)
    return holder.sort == REFERENCE and kind is not None and target.kind in kind.compiler_relations


async def fitting(draft: Draft, entries: Sequence[KeyValue]) -> int:
    """How many of the first holders one transaction may change; at least one, if there are any."""
    keys = [draft.layout.holder(item.key).key for item in entries[:_AT_ONCE]]
    await draft.load(keys)
    size = 0
    for count, key in enumerate(keys):
        item = await draft.reading.item(draft.layout.value(key))
        size += len(item.value) if item is not None else 0
        if count and size > _MOST_BYTES:
            return count
    return len(keys)


async def _release(draft: Draft, item: KeyValue, target: Key) -> None:
    """Take ``target``, which is deleted, from one of its holders; a child is deleted with it."""
    holder = draft.layout.holder(item.key)
    if not await _holds(draft, holder, target.uuid):
        draft.drop(item.key)
    elif holder.sort == CHILD:
        await draft.stage(holder.key, None, forced=True)
    else:
        document = await draft.document(holder.key)
        if document is not None:
            await draft.stage(holder.key, without_reference(document, target))


async def _holds(draft: Draft, holder: Holder, target: str) -> bool | None:
    """Whether an index entry is true; None if the holder's value can't be read.

    It may be stale, since others can change keys in etcd directly.
    """
    try:
        document = await draft.document(holder.key)
    except Malformed:
        return None
    if document is None:
        return False
    kind = draft.schema.kind(holder.key.kind)
    return any(
        relationship.sort == holder.sort and relationship.target.uuid == target
        for relationship, _ in relationships(kind, document)
    )
