"""Fills in common fields: display name, permissions, times, version (docs/contrail.md A.1, B.5.1, B.5.5).

It changes the document that it gets, in place, and nothing else; uuids and times come from the caller.
"""

from __future__ import annotations

import uuid as uuid_module
from typing import Any

from .rules import Document

_HALF = (1 << 64) - 1


def stamp_created(document: Document, *, owner: str, now: str) -> None:
    """Complete a new resource in place. ``owner``: the caller's project id."""
    if not document.get("display_name"):
        document["display_name"] = document["name"]
    number = uuid_module.UUID(document["uuid"]).int
    given = document.get("id_perms") or {}
    document["id_perms"] = {
        "enable": True,
        "user_visible": True,
        "permissions": {
            "owner": "cloud-admin",
            "owner_access": 7,
            "group": "cloud-admin-group",
            "group_access": 7,
            "other_access": 7,
        },
        **given,
        "created": now,
        "last_modified": now,
        "uuid": {"uuid_mslong": number >> 64, "uuid_lslong": number & _HALF},
    }
    document["perms2"] = {"owner": owner, "owner_access": 7, "global_access": 0, **(document.get("perms2") or {})}
    document["configuration_version"] = 1


def stamp_changed(before: Document, after: Document, *, now: str) -> None:
    """Update a changed resource's times and version; the server's other fields stay.

    The fields of ``before`` may have any type, since others write to etcd, too; one of a wrong type counts as unset.
    """
    former = _mapping(before.get("id_perms"))
    after["id_perms"] = {
        **former,
        **_mapping(after.get("id_perms")),
        **{name: value for name, value in former.items() if name in ("created", "uuid")},
        "last_modified": now,
    }
    if "perms2" in before:
        after["perms2"] = {**_mapping(before["perms2"]), **_mapping(after.get("perms2"))}
    version = before.get("configuration_version")
    after["configuration_version"] = version + 1 if isinstance(version, int) else 1


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
