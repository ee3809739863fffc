"""Reads what owners need to know from an object of a cluster: the fields of its ``observed`` (docs/engine.md §13.4).

Only what an intent decides by is kept, so that a heartbeat, a condition's message or a new resourceVersion changes
nothing and wakes nobody.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .carrying import Wanted, is_taken
from .owned_fields import differences
from .provenance import applied_digest

_COUNTS = {
    "desired": ("replicas", "desiredNumberScheduled"),
    "updated": ("updatedReplicas", "updatedNumberScheduled"),
    "ready": ("readyReplicas", "numberReady", "ready"),
    "available": ("availableReplicas", "numberAvailable"),
}
"""Count → the fields of ``status`` in which Deployments, DaemonSets and Jobs have it."""


def observed_fields(
    wanted: Wanted, live: Mapping[str, Any] | None, seen: Mapping[str, Any] | None, rejected: str = ""
) -> dict[str, Any]:
    """The fields of the ``observed`` of a manifest, without those that have their default.

    ``live``: as the cluster has the object, None if it is absent. ``seen``: the stored ``observed``. ``rejected``: the
    cluster's words, if it rejected the last write. Of an object that somebody else made, only that is kept."""
    former = seen or {}
    if is_taken(wanted, live):
        return _set({"gone": True, "taken": True, "rejected": rejected})
    if live is None:
        kept = former if wanted.once and former.get("done") and former.get("digest") == wanted.digest else {}
        return _set({"gone": True, "done": kept.get("done"), "digest": kept.get("digest"), "rejected": rejected})
    status = live.get("status") or {}
    conditions = {str(one.get("type")): str(one.get("status")) for one in status.get("conditions") or ()}
    is_right = not differences(wanted.body, live)
    digest = (applied_digest(live) if wanted.restored else wanted.digest) if is_right else former.get("digest")
    counts = {
        name: next((int(status[field]) for field in fields if isinstance(status.get(field), int)), 0)
        for name, fields in _COUNTS.items()
    }
    return _set(
        {
            "available": _available(conditions, counts),
            "counts": {name: count for name, count in counts.items() if count},
            "addresses": list(_addresses(status)),
            "cluster_addresses": [ip for ip in (live.get("spec") or {}).get("clusterIPs") or () if ip != "None"],
            # A done Job of another content is about to be replaced.
            "done": conditions.get("Complete") == "True" and is_right,
            "failed": conditions.get("Failed") == "True" and is_right,
            "digest": digest,
            "rejected": rejected,
        }
    )


def _set(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in fields.items() if value or (value is False and field == "available")}


def _available(conditions: Mapping[str, str], counts: Mapping[str, int]) -> bool | None:
    """The condition of a Deployment; of a DaemonSet whether any of its pods is available; None if neither is known."""
    if "Available" in conditions:
        return conditions["Available"] == "True"
    return True if counts["available"] else None


def _addresses(status: Mapping[str, Any]) -> Iterator[str]:
    for entry in (status.get("loadBalancer") or {}).get("ingress") or ():
        if address := entry.get("ip") or entry.get("hostname"):
            yield str(address)
