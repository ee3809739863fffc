"""Counts how many numbers of a pool each project holds, and rejects more than its share (docs/contrail.md B.6).

Why it exists: tenants draw from pools that all of them need, directly, or through compilers that request numbers for
their resources. Without a share, one tenant could take every number of a small pool. ``pools`` counts here with each
number that it gives and frees, in the same transaction; every change of a pool writes its key, so the count needs no
compare of its own.

A number counts for the project of the resource for which it is requested: the nearest one above it, otherwise the
caller's. Parts of families (``pools.py``) belong to one resource, and have no shares. Nor have pools that are too large
to be taken: etcd is full before.

It reads the draft, and stages the counts on it.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from intentc.model import Key, snake

from .admission.well_known import PROJECT
from .authorization import tenant_id
from .documents import Document, decode_entry
from .draft import Draft
from .errors import QuotaExceeded

DEFAULT_PERCENT = 20.0
"""Of the numbers of a pool, for each project."""

_LARGEST_POOL = 1_000_000
_MOST_PARENTS = 8


class Use(NamedTuple):
    """A pool, how many numbers it has, and how many of these are taken."""

    pool: str
    size: int
    used: int


def has_shares(size: int) -> bool:
    """Whether projects have shares of a pool with this many numbers."""
    return size <= _LARGEST_POOL


async def project_of(draft: Draft, document: Document | None, fallback: str = "") -> str:
    """The project for which a number of this resource counts, as in ``tenant_id``: the one above it, or ``fallback``;
    empty if there is none."""
    for _ in range(_MOST_PARENTS):
        if document is None or not document.get("parent_uuid"):
            break
        above = Key(snake(str(document.get("parent_type") or "")), document["parent_uuid"])
        if above.kind == PROJECT:
            return tenant_id(above.uuid)
        document = await draft.readable(above)
    return tenant_id(fallback)


async def project_of_owner(draft: Draft, owner: str) -> str:
    """The project of the resource that an owner names: ``<installation>/<uuid>/<purpose>`` (docs/engine.md §8)."""
    uuid = owner.partition("/")[2].partition("/")[0]
    known = await draft.identity(uuid) if uuid else None
    return await project_of(draft, await draft.readable(Key(known.kind, uuid))) if known is not None else ""


async def take(draft: Draft, pool: str, project: str, size: int) -> None:
    """Count one more number for ``project``. Raises ``QuotaExceeded`` if it has its share of the ``size`` numbers."""
    most = max(1, int(size * draft.pool_share / 100))
    count = await _count(draft, pool, project)
    if count >= most:
        shown = await _shown(draft, project)
        raise QuotaExceeded(
            f"pool {pool}: the project {shown} holds {count:,} numbers, and its quota is {most:,} of {size:,} "
            f"({draft.pool_share:g} %); delete what needs one no more, or let an operator raise intentc.api.pool_share"
        )
    draft.put(draft.layout.pool_share(pool, project), str(count + 1).encode())


async def give_back(draft: Draft, pool: str, project: str) -> None:
    """Count one number less."""
    count, key = await _count(draft, pool, project), draft.layout.pool_share(pool, project)
    if count > 1:
        draft.put(key, str(count - 1).encode())
    else:
        draft.drop_for_good(key)


async def _shown(draft: Draft, project: str) -> str:
    """The name of a project, if it is known by its uuid."""
    try:
        known = await draft.identity(str(UUID(project)))
    except ValueError:
        known = None
    return ":".join(known.fq_name) if known is not None else project


async def _count(draft: Draft, pool: str, project: str) -> int:
    key = draft.layout.pool_share(pool, project)
    held = await draft.read(key)
    return decode_entry(held, int, key) if held is not None else 0
