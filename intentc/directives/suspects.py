"""Holding what a process was evaluating when it died, over restarts (docs/engine.md §4.3, §7).

Why a directive: the next process may run on another machine. Which keys they are is told by whoever kept the traces of
the dead process; this is called at the start, before directives are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from intentc.model import Key
from intentc.watch.keys import Layout
from intentc.watch.protocol import Store

from .book import Book
from .directive import Suspect

_LATELY = timedelta(hours=1)
"""How long one death alone is remembered."""


async def hold_suspects(
    store: Store,
    installation: str,
    path: str,
    keys: Iterable[Key],
    *,
    by: str,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> int:
    """Note a death for each of ``keys`` whose resource is still there; how many of them are held from now on. ``path``:
    under which resources lie (``etcd.path``); ``by``: this process and no other, not even one of the same name and
    number before it. Raises ``StoreError``; then it may be called again."""
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
                # By an earlier try of ours, whose answer was lost: one death is one death.
                suspect = noted
            else:
                await book.put(suspect)
            held += suspect.holds
    return held


def _deaths_lately(known: Suspect | None, mod_revision: int, now: datetime) -> int:
    """How often the same resource, as it stands, was found so before; what was long ago counts no more."""
    if known is None or known.mod_revision != mod_revision:
        return 0
    try:
        since = now - datetime.fromisoformat(known.at)
    except (ValueError, TypeError):
        return known.deaths
    return known.deaths if known.holds or since <= _LATELY else 0
