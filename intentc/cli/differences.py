"""Whether a resource at the server is already what a file says, so that nothing needs to be sent.

Why it exists: applying a file again is the commonest thing that people do, and "unchanged" is what they want to read.
When in doubt the answer is "differs": an update too many does no harm, one that is missing does. What an update means
is the server's business: each field that is sent replaces the stored one, others stay; so what a manifest no longer
says is sent as null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intentc.model import Kind, kebab
from intentc.model.values import without_nulls

_COMPLETED = frozenset({"id_perms", "perms2"})
"""Fields of which the server keeps what the client doesn't give."""

_GIVEN_BY_SERVER = frozenset({"rule_uuid", "created", "last_modified"})
"""Fields inside properties that the server fills in."""


def says_the_same(wanted: Mapping[str, Any], stored: Mapping[str, Any]) -> bool:
    """Whether an update of ``stored`` (as the server shows it) by ``wanted`` (as a file has it) changes nothing."""
    return all(_same_field(name, value, stored.get(name)) for name, value in wanted.items())


def replacing(kind: Kind, whole: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """``whole``, all that a person says of a resource, with null for the fields of his that only ``stored`` has."""
    return dict.fromkeys(sorted(kind.user_fields & stored.keys())) | dict(whole)


def _same_field(name: str, wanted: Any, stored: Any) -> bool:
    wanted, stored = without_nulls(wanted), without_nulls(stored)
    if name == "parent_type":
        return kebab(str(wanted or "")) in ("", kebab(str(stored or "")))
    if name.endswith("_refs") and isinstance(wanted, list):
        return _same_references(wanted, stored or [])
    if wanted in (None, ""):
        return stored in (None, "")
    return _same_value(wanted, stored, None if name in _COMPLETED else _GIVEN_BY_SERVER)


def _same_value(wanted: Any, stored: Any, filled_in: frozenset[str] | None) -> bool:
    """Equal but for fields ``filled_in`` that only ``stored`` has; None: any field."""
    if isinstance(wanted, dict) and isinstance(stored, dict):
        return all(filled_in is None or name in wanted or name in filled_in for name in stored) and all(
            name in stored and _same_value(value, stored[name], filled_in) for name, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(stored, list):
        return len(wanted) == len(stored) and all(
            _same_value(one, other, filled_in) for one, other in zip(wanted, stored, strict=True)
        )
    return type(wanted) is type(stored) and bool(wanted == stored)


def _same_references(wanted: list[Any], stored: list[Any]) -> bool:
    """The same targets with the same attributes, in any order."""
    if len(wanted) != len(stored) or not all(isinstance(entry, dict) for entry in wanted):
        return False
    by_uuid = {entry.get("uuid"): entry for entry in stored}
    by_name = {":".join(entry.get("to") or ()): entry for entry in stored}
    found = [
        by_uuid.get(entry["uuid"]) if entry.get("uuid") else by_name.get(":".join(map(str, entry.get("to") or ())))
        for entry in wanted
    ]
    return all(
        there is not None and _same_value(entry.get("attr") or {}, there.get("attr") or {}, frozenset())
        for entry, there in zip(wanted, found, strict=True)
    ) and len({id(there) for there in found}) == len(stored)
