"""Says which limits of a project's ``quota`` a change adds to, and what each limit counts (docs/contrail.md B.7).

Pure; ``apiserver/quotas.py`` counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from intentc.model.names import Key

from .rules import Change, Document
from .well_known import PROJECT, mark_of

BELOW = {"floating_ip_pool": "virtual_network", "loadbalancer_member": "loadbalancer_pool"}
"""Kinds that are counted in the project of their parent, with the parent's kind."""

REFERRING = frozenset({"floating_ip"})
"""Kinds that are counted in the project to which they refer."""

PARTS = {"security_group_rule": "security_group", "subnet": "virtual_network"}
"""Limits of parts of a project's children, with the children's kind."""


class Demand(NamedTuple):
    """A change adds to what one limit counts. ``project``: its key, or that of the parent below it. ``limit``: the
    field of the quota."""

    project: Key
    limit: str


def demands(key: Key, change: Change) -> Iterator[Demand]:
    """What a creation or a change adds. What the server and compilers make counts, and is not limited."""
    before, after = change.before, change.after
    if after is None or change.privileged or (change.by_compiler and mark_of(after) is not None):
        return
    parent = Key(str(after.get("parent_type") or "").replace("-", "_"), str(after.get("parent_uuid") or ""))
    if before is None:
        if parent.kind == PROJECT or BELOW.get(key.kind) == parent.kind:
            yield Demand(parent, key.kind)
        elif key.kind in REFERRING:
            for entry in after.get(f"{PROJECT}_refs") or ():
                yield Demand(Key(PROJECT, entry["uuid"]), key.kind)
    for limit, kind in PARTS.items():
        if kind == key.kind and parent.kind == PROJECT and parts(limit, after) > parts(limit, before or {}):
            yield Demand(parent, limit)


def limit_of(project: Document, name: str) -> int | None:
    """The limit of a project; None without one. A negative number is none."""
    quota = project.get("quota") or {}
    found = quota.get(name) if quota.get(name) is not None else quota.get("defaults")
    return found if isinstance(found, int) and found >= 0 else None


def parts(limit: str, document: Document) -> int:
    """The rules of a security group, or the subnets of a network."""
    if limit == "subnet":
        entries = document.get("network_ipam_refs") or ()
        return sum(len((entry.get("attr") or {}).get("ipam_subnets") or ()) for entry in entries)
    return len((document.get("security_group_entries") or {}).get("policy_rule") or ())
