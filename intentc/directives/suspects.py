"""Records the intents that processes were evaluating when they died, so that they are held (docs/engine.md §4.3, §7).

The second death within an hour holds an intent. Why a directive: the next process may run on another machine. The crash
marker of the dead process gives the keys; the service calls this at the start, before directives are loaded.

It reads resources' revisions and directives from etcd, and puts directives there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from intentc.model import Key
from intentc.watch.keys import Layout
from intentc.watch.protocol import Store

from .book import Book
from .directive import Suspect

_RECENTLY = timedelta(hours=1)
"""How long a single death is remembered."""


async def hold_suspects(
    store: Store,
    installation: str,
    path: str,
    keys: Iterable[Key],
    *,
    by: str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Record a death for each of ``keys`` whose resource still exists; return how many are held from now on. ``path``:
    the path of resources (``etcd.path``); ``by``: identifies this process, even among earlier ones of the same name and
    number. Raises ``StoreError``; may then be called again."""
    layout, book, held = Layout.of(f"/{path}/"), Book(store, installation), 0
    wanted = tuple(keys)
    known = (
        {directive.key: directive for directive, _ in await book.list() if isinstance(directive, Suspect)}
        if wanted
        else {}
    )
    for key in wanted:
        for item in (await store.range(layout.key(*key), keys_only=True)).items:
            suspect = Suspect(
                kind=key.kind,
                uuid=key.uuid,
                mod_revision=item.mod_revision,
                by=by,
                at=now().isoformat(timespec="seconds"),
                reason="a process died while it evaluated this",
                deaths=1 + _deaths_lately(known.get(key), item.mod_revision, now()),
            )
            noted = known.get(key)
            if noted is not None and noted.by == by:
                # Recorded by an earlier try of ours whose answer was lost: it is the same death.
                suspect = noted
            else:
                await book.put(suspect)
            held += suspect.holds
    return held


def _deaths_lately(known: Suspect | None, mod_revision: int, now: datetime) -> int:
    """The number of earlier deaths with the same resource in the same version; old ones don't count."""
    if known is None or known.mod_revision != mod_revision:
        return 0
    try:
        since = now - datetime.fromisoformat(known.at)
    except (ValueError, TypeError):
        return known.deaths
    return known.deaths if known.holds or since <= _RECENTLY else 0
