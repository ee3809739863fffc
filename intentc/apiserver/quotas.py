"""Keeps what a project has below its ``quota`` (docs/contrail.md B.7).

Why it exists: a limit concerns all resources of a project together, and a request is judged by what it leads to. What
each limit counts is in ``admission/quotas.py``; ``resources.py`` notes what a request adds and asks at its end. Only
additions are checked: a limit that was lowered below what is there takes nothing away. It reads through the draft,
which notes compares of what was counted, and stages no write.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.model import Key

from .admission.quotas import BELOW, PARTS, REFERRING, Demand, limit_of, parts
from .admission.well_known import PROJECT
from .draft import Draft
from .errors import QuotaExceeded


async def verify(draft: Draft, added: Iterable[tuple[Key, Demand]]) -> None:
    """Check what a whole request adds, (changed resource, demand) pairs, once everything is staged. Raises
    ``QuotaExceeded``."""
    checked: set[Demand] = set()
    for key, demand in added:
        project = demand.project
        if project.kind != PROJECT:
            above = await draft.readable(project) or {}
            if above.get("parent_type") != PROJECT:
                continue
            project = Key(PROJECT, above["parent_uuid"])
        document = await draft.readable(project) or {}
        limit = limit_of(document, demand.limit)
        if limit is None or (known := Demand(project, demand.limit)) in checked:
            continue
        checked.add(known)
        count = await _count(draft, project, demand.limit, limit)
        if count > limit:
            raise QuotaExceeded(
                f"the quota of project {':'.join(document['fq_name'])} allows {limit:,} {demand.limit}, and this would "
                f"make {count:,}; delete some, or let an administrator raise quota.{demand.limit} of the project",
                key=key,
            )


async def _count(draft: Draft, project: Key, name: str, limit: int) -> int:
    """What the limit ``name`` counts, after the request."""
    if name in REFERRING:
        return len(await draft.referrers(project, name))
    if name in PARTS:
        holders = [await draft.readable(key) for key in await draft.children(project.uuid, PARTS[name])]
        return sum(parts(name, holder) for holder in holders if holder is not None)
    above = await draft.children(project.uuid, BELOW[name]) if name in BELOW else [project]
    found = [key for parent in above for key in await draft.children(parent.uuid, name)]
    if len(found) > limit:
        # The index may name children that somebody deleted from etcd past the server.
        await draft.reading.load(map(draft.layout.value, found))
        found = [key for key in found if key in draft.staged or await draft.reading.item(draft.layout.value(key))]
    return len(found)
