"""Checks that a bridge has mirrored the kinds that compilers need as a whole (``needs_synced``), before they compile.

Why it exists: before a kind was listed completely, an intent can't know whether it finds nothing because there is none,
and would remove what it made before. The bridge writes a mark for each kind (``model/bridge_keys.py``); the service
repeats the check until it succeeds. Without a bridge there are no marks, and nothing waits, unless
``intentc.kubernetes`` says that there is one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from functools import partial

from intentc.loading.configuration.sections import Kubernetes
from intentc.model.bridge_keys import synced_prefix
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Store, prefix_end


class Unsynced(Failure):
    """Kinds were never mirrored completely; the message names them."""


def synced_check(
    store: Store, path: str, needed: Collection[str], settings: Kubernetes
) -> Callable[[], Awaitable[None]] | None:
    """What must succeed before anything is compiled; None if nothing has to. ``needed``: the kinds that compilers need
    as a whole; those that ``settings`` do not mirror come in another way."""
    kinds = [kind for kind in needed if not settings.kinds or kind in settings.kinds]
    if not kinds or settings.wait is False:
        return None
    return partial(check_synced, store, path, kinds, settings.wait or (True if settings.kubeconfig else None))


async def check_synced(store: Store, path: str, kinds: Collection[str], wait: bool | None = True) -> None:
    """Raise ``Unsynced`` unless each of ``kinds`` has a mark, and other ``Failure`` as the store does. ``wait``:
    whether a bridge feeds the store; None: if it has any mark."""
    prefix = synced_prefix(path)
    found = await store.range(prefix, prefix_end(prefix), keys_only=True)
    if wait is None and not found.items:
        return
    missing = sorted(set(kinds) - {item.key.removeprefix(prefix) for item in found.items})
    if missing:
        raise Unsynced(f"{', '.join(missing)}; start `intentc kubernetes`, or set intentc.kubernetes.wait to false")
