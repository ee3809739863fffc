"""What the Kubernetes face keeps of a resource next to it: who owns which field, and what kubectl applied last.

Why it exists: ``managedFields`` and the annotation in which ``kubectl apply`` repeats the whole manifest are no input
of a compiler, and a copy of a Secret must not reach one. So they have a key of their own, outside the watched prefix.
The transaction that deletes the resource deletes it.

It stages writes on the draft that it gets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from intentc.model import Key

from ..documents import decode_entry, encode
from ..draft import Draft
from .applying import Entry, read_entries, shown_entries


class Beside(NamedTuple):
    """``entries``: as in ``managedFields``; ``last_applied``: the annotation's text, or empty."""

    entries: tuple[Entry, ...] = ()
    last_applied: str = ""


class _Stored(msgspec.Struct, omit_defaults=True):
    managed_fields: list[Any] = []
    last_applied: str = ""


async def read(draft: Draft, key: Key) -> Beside:
    """What is kept of a resource; nothing of one that only others wrote."""
    where = draft.layout.beside(key)
    item = await draft.reading.item(where)
    return decoded(item.value, where) if item is not None else Beside()


def decoded(raw: bytes, where: str) -> Beside:
    """A stored value. Raises ``BrokenEntry`` naming ``where``."""
    stored = decode_entry(raw, _Stored, where)
    return Beside(read_entries(stored.managed_fields), stored.last_applied)


async def stage(draft: Draft, key: Key, before: Beside, after: Beside) -> None:
    """Write ``after`` with the draft, if it differs."""
    if before == after:
        return
    where = draft.layout.beside(key)
    await draft.guard(where)
    draft.put(where, encode(_Stored(shown_entries(after.entries), after.last_applied)))
