"""Compares a resource in a file with the stored one, so that unchanged resources are not sent.

Why it exists: users apply the same file again and again, and want to read "unchanged". When in doubt the answer is
"differs": a needless update does no harm, a missing one does. At the server each field that is sent replaces the
stored one and others stay, so a field that a manifest no longer has is sent as null.

Pure functions of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from intentc.model import Kind, kebab
from intentc.model.comparison import Within, compare
from intentc.model.metadata import CLAIMED, METADATA, OF_SERVER
from intentc.model.values import without_nulls

_COMPLETED = frozenset({"id_perms", "perms2"})
"""Fields whose parts the server keeps if the client does not send them."""

_GIVEN_BY_SERVER = frozenset(
    {"rule_uuid", "created", "last_modified", "subnet_uuid", "default_gateway", "dns_server_address"}
)
"""Fields inside properties and attributes that the server fills in, and keeps if the client does not send them."""


def says_the_same(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether an update of ``stored`` (from the server) with ``wanted`` (from a file) changes nothing."""
    return all(_same_field(name, value, stored.get(name)) for name, value in wanted.items())


def replacing(kind: Kind, whole: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """``whole``, a complete resource from a user, with null for user fields that only ``stored`` has."""
    return dict.fromkeys(sorted(kind.user_fields & stored.keys())) | dict(whole)


def _same_field(name: str, wanted: Any, stored: Any) -> bool:
    wanted, stored = without_nulls(wanted), without_nulls(stored)
    if name == "parent_type":
        return kebab(str(wanted or "")) in ("", kebab(str(stored or "")))
    if name == METADATA:
        return _same_metadata(wanted or {}, stored or {})
    if name.endswith("_refs") and isinstance(wanted, list):
        return _same_references(wanted, stored or [])
    if wanted in (None, ""):
        return stored in (None, "")
    return not compare(wanted, stored, _WITHIN if name in _COMPLETED else _FILLED_IN)


def _same_metadata(wanted: Any, stored: Any) -> bool:
    """Whether the labels and annotations are equal, and everything else that is wanted and not the server's."""
    if not isinstance(wanted, dict) or not isinstance(stored, dict):
        return False
    parts = {*CLAIMED, *(wanted.keys() - OF_SERVER)}
    return all((wanted.get(part) or None) == (stored.get(part) or None) for part in parts)


class _FilledIn(Within):
    """Fields that only the stored resource has are no difference if the server fills them in."""

    def names(self, before: Mapping[str, Any], after: Mapping[str, Any], /) -> Iterable[str]:
        return {*before, *(after.keys() - _GIVEN_BY_SERVER)}


_WITHIN, _FILLED_IN = Within(), _FilledIn()


def _same_references(wanted: list[Any], stored: list[Any]) -> bool:
    """Whether both have the same targets with the same attributes, in any order."""
    if len(wanted) != len(stored) or not all(isinstance(entry, dict) for entry in wanted):
        return False
    by_uuid = {entry.get("uuid"): entry for entry in stored}
    by_name = {":".join(entry.get("to") or ()): entry for entry in stored}
    found = [
        by_uuid.get(entry["uuid"]) if entry.get("uuid") else by_name.get(":".join(map(str, entry.get("to") or ())))
        for entry in wanted
    ]
    return all(
        there is not None and not compare(entry.get("attr") or {}, there.get("attr") or {}, _FILLED_IN)
        for entry, there in zip(wanted, found, strict=True)
    ) and len({id(there) for there in found}) == len(stored)
