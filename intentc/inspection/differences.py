"""Compares two forms of a resource for people: without what the server maintains, and without secrets.

A field is named by its path (``access_control_list_entries.acl_rule[2].action_list.simple_action``), a reference by its
target (``route_target_refs[target:64512:1]``; the value is its attribute), a condition by its type
(``status.conditions[Ready].reason``). A list element that was added or removed is reported whole; unchanged elements
are not reported. The result of ``differences`` never contains a secret, only that it changed. That of
``differing_values`` does, for digests: it must not be shown.

Pure, except for a random salt of this process, drawn at import.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from intentc.model import MARK_KEY, Kind
from intentc.model.comparison import Difference, Rules, compare
from intentc.model.metadata import METADATA, OF_SERVER
from intentc.model.sensitive import CONCEALED, cleared, concealed
from intentc.model.status import STATUS, STATUS_CLAIMS, TRANSITION_TIME

Document = dict[str, Any]

CHANGED_SECRET = f"{CONCEALED[:-1]}, another>"
_IDENTITY = frozenset({"uuid", "name", "fq_name", "parent_uuid", "parent_type", "configuration_version"})
_STAMPS = frozenset({"created", "last_modified", "uuid"})
_SALT = secrets.token_hex(16)
_SEAL = "\0sealed\0"


class Field(msgspec.Struct, frozen=True):
    """One field that differs. ``before``, ``after``: plain JSON, None where there is nothing."""

    field: str
    before: Any
    after: Any


def differences(
    kind: Kind, before: Document | None, after: Document | None, secrets: Collection[str] = ()
) -> tuple[Field, ...]:
    """Return the fields that differ between two stored forms of one resource; None: absent. If one form is absent, the
    fields that the server always fills in are left out. ``secrets``: further texts that must not appear."""
    is_change = before is not None and after is not None
    found = _between(*(_presented(kind, document, whole=is_change) for document in (before, after)))
    return tuple(Field(cleared(secrets, path), *_cleared(secrets, *_unsealed(old, new))) for path, old, new in found)


def differing_values(kind: Kind, before: Document | None, after: Document | None) -> list[tuple[str, Any, Any]]:
    """Return the same as (path, before, after) with secrets in clear, for a digest. Never show the result."""
    is_change = before is not None and after is not None
    return [*_between(*(_presented(kind, document, whole=is_change, sealed=False) for document in (before, after)))]


def _presented(kind: Kind, document: Document | None, *, whole: bool, sealed: bool = True) -> Document:
    if document is None:
        return {}
    document = msgspec.json.decode(msgspec.json.encode(document))
    if sealed:
        document = concealed(kind, document, _sealed)
    shown = {name: value for name, value in document.items() if name not in _IDENTITY}
    if shown.get("display_name") == document["fq_name"][-1]:
        del shown["display_name"]
    if not whole:
        shown.pop("id_perms", None)
        shown.pop("perms2", None)
    if isinstance(shown.get("id_perms"), dict):
        shown["id_perms"] = {name: value for name, value in shown["id_perms"].items() if name not in _STAMPS}
    if kind.written_as_manifests and isinstance(shown.get(METADATA), dict):
        shown[METADATA] = {part: value for part, value in shown[METADATA].items() if part not in OF_SERVER}
    if kind.status is not None:
        shown.pop(STATUS_CLAIMS, None)
        shown[STATUS] = _timeless(shown.get(STATUS))
    if isinstance(shown.get("annotations"), dict):
        pairs = shown["annotations"].get("key_value_pair") or []
        shown["annotations"] = {pair["key"]: pair.get("value", "") for pair in pairs if pair["key"] != MARK_KEY}
    return shown


def _timeless(status: Any) -> Any:
    """A status without the times of its conditions, which the server gives."""
    if isinstance(status, dict):
        return {name: _timeless(value) for name, value in status.items() if name != TRANSITION_TIME}
    return [_timeless(one) for one in status] if isinstance(status, list) else status


class _OfResources(Rules):
    """Conditions of a status are named by their types."""

    def keyed(self, elements: Sequence[Any], path: str, field: str, /) -> Mapping[str, Any] | None:
        if not (path.startswith(f"{STATUS}.") and path.endswith(".conditions")):
            return None
        found = {
            one["type"]: {part: value for part, value in one.items() if part != "type"}
            for one in elements
            if isinstance(one, dict) and isinstance(one.get("type"), str)
        }
        return found if len(found) == len(elements) else None


_RULES = _OfResources()


def _between(before: Document, after: Document) -> Iterator[Difference]:
    for name in sorted(before.keys() | after.keys()):
        one, other = before.get(name), after.get(name)
        if name.endswith("_refs") and all(isinstance(value, list | None) for value in (one, other)):
            yield from _references(name, one or [], other or [])
        else:
            yield from compare(one, other, _RULES, name)


def _references(name: str, before: list[Any], after: list[Any]) -> Iterator[Difference]:
    one, other = ({_target(entry): entry.get("attr") or {} for entry in entries} for entries in (before, after))
    for target in sorted(one.keys() | other.keys()):
        if one.get(target) != other.get(target):
            yield f"{name}[{target}]", one.get(target), other.get(target)


def _target(entry: Document) -> str:
    return ":".join(entry.get("to") or ()) or str(entry.get("uuid", ""))


def _sealed(value: Any) -> str:
    """Return a text that is equal for equal secrets within this process, and reveals nothing about them."""
    return _SEAL + hashlib.sha256(_SALT.encode() + msgspec.json.encode(value, order="sorted")).hexdigest()


def _unsealed(before: Any, after: Any) -> tuple[Any, Any]:
    if _is_sealed(before) and _is_sealed(after):
        return CONCEALED, CHANGED_SECRET
    return _without_seals(before), _without_seals(after)


def _cleared(secrets: Collection[str], before: Any, after: Any) -> tuple[Any, Any]:
    old, new = cleared(secrets, before), cleared(secrets, after)
    return old, _another(new) if old == new and old is not None and before != after else new


def _another(value: Any) -> Any:
    """Mark the concealed texts in ``value`` as changed."""
    if isinstance(value, dict):
        return {name: _another(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_another(inner) for inner in value]
    return value.replace(CONCEALED, CHANGED_SECRET) if isinstance(value, str) else value


def _is_sealed(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_SEAL)


def _without_seals(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_seals(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_seals(inner) for inner in value]
    return CONCEALED if _is_sealed(value) else value
