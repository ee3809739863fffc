"""Server-side apply: a manager's configuration is merged into a resource, and who owns which field is noted.

Why it exists: several managers may each own fields of one resource. What a manager applied before and leaves out now is
removed, unless somebody else owns it, too; a field that another manager set to another value is a conflict. Changes
that are no application are noted as well (``updated``). Clients see it as ``managedFields``; nothing that the functions
get is changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .fieldsets import (
    Fields,
    Forms,
    Path,
    Values,
    built_in,
    element_step,
    fields_of,
    from_json,
    objects_of,
    shown,
    to_json,
    without,
)
from .status_errors import Answered

APPLY, UPDATE = "Apply", "Update"
_TOP = frozenset({("f:metadata",)})
_TOP_OF_BUILT_IN = _TOP | {("f:spec",), ("f:status",)}
"""Objects that are always there, so that nobody makes them."""
_EMPTY: tuple[Any, ...] = (None, {}, [])
_MOST_CAUSES = 100
"""Conflicts that an answer names."""


class Owner(NamedTuple):
    """Whose an entry of ``managedFields`` is. ``operation``: ``Apply`` or ``Update``; ``subresource``: ``status``, or
    empty."""

    manager: str
    operation: str
    subresource: str = ""


class Entry(NamedTuple):
    """The fields of one owner; ``time`` of its last change, RFC 3339."""

    owner: Owner
    api_version: str
    time: str
    fields: Fields


class Applied(NamedTuple):
    """The manifest after an application, and who owns what then."""

    manifest: dict[str, Any]
    entries: tuple[Entry, ...]


def apply(
    live: Mapping[str, Any],
    configuration: Mapping[str, Any],
    entries: Sequence[Entry],
    owner: Owner,
    forms: Forms,
    *,
    now: str,
    force: bool = False,
) -> Applied:
    """``live`` (empty: a new resource) with ``configuration`` merged into it. ``configuration`` has only fields that
    are stored (``unstored.stored_part``): who owned others would be in conflict with everybody who sets them, too.

    Raises ``Answered`` (409) naming each conflicting field and its owner, unless ``force``.
    """
    wanted = fields_of(configuration, forms)
    conflicts = list(_conflicts(live, configuration, wanted, entries, owner, forms))
    if conflicts and not force:
        raise _conflict(conflicts)
    former = next((one.fields for one in entries if one.owner == owner), frozenset())
    of_others = frozenset(path for one in entries if one.owner != owner for path in one.fields)
    owned = {path[:length] for path in wanted | of_others for length in range(1, len(path) + 1)}
    manifest: Any = without(merged(live, configuration, forms), former - owned, forms)
    taken = frozenset(path for path, _ in conflicts)
    others = [one._replace(fields=one.fields - taken) for one in entries if one.owner != owner]
    own = Entry(owner, str(configuration.get("apiVersion", "")), now, wanted)
    same = [one for one in entries if one.owner == owner and one.fields == wanted]
    return Applied(manifest, _sorted([*others, same[0] if same else own]))


def updated(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    entries: Sequence[Entry],
    owner: Owner,
    forms: Forms,
    *,
    now: str,
) -> tuple[Entry, ...]:
    """Who owns what after a change that is no application: who changed a field owns it, and nobody else does. Who made
    an object owns that, too."""
    old, new = fields_of(before, forms), fields_of(after, forms)
    top = _TOP_OF_BUILT_IN if forms is built_in else _TOP
    objects, former = objects_of(after, forms, top), objects_of(before, forms, top)
    there, here = Values(before, forms), Values(after, forms)
    changed = (objects - former) | frozenset(path for path in new if path not in old or there.at(path) != here.at(path))
    removed = (old | former) - (new | objects)
    if not changed and not removed:
        return tuple(entries)
    kept = [
        one._replace(
            fields=frozenset(path for path in one.fields - removed if one.owner == owner or path not in changed)
        )
        for one in entries
    ]
    if changed:
        own = next((one.fields for one in kept if one.owner == owner), frozenset())
        kept = [one for one in kept if one.owner != owner]
        kept.append(Entry(owner, str(after.get("apiVersion", "")), now, own | changed))
    return _sorted(kept)


def merged(live: Any, configuration: Any, forms: Forms, names: tuple[str, ...] = ()) -> Any:
    """``live`` with everything that ``configuration`` sets."""
    if isinstance(configuration, dict):
        result = dict(live) if isinstance(live, dict) else {}
        for name, value in configuration.items():
            result[name] = merged(result.get(name), value, forms, (*names, name))
        return result
    form = forms(names) if isinstance(configuration, list) else None
    if form is None:
        return configuration
    result_list = list(live) if isinstance(live, list) else []
    places: dict[str, int] = {}
    for at, one in enumerate(result_list):
        places.setdefault(element_step(one, form), at)
    for element in configuration:
        at = places.setdefault(element_step(element, form), len(result_list))
        if at == len(result_list):
            result_list.append(element)
        else:
            result_list[at] = merged(result_list[at], element, forms, (*names, "[]"))
    return result_list


def shown_entries(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """As ``metadata.managedFields``."""
    return [
        {
            "manager": one.owner.manager,
            "operation": one.owner.operation,
            "apiVersion": one.api_version,
            "time": one.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_json(one.fields),
            **({"subresource": one.owner.subresource} if one.owner.subresource else {}),
        }
        for one in entries
    ]


def read_entries(shown: Any) -> tuple[Entry, ...]:
    """The inverse of ``shown_entries``."""
    return tuple(
        Entry(
            Owner(one.get("manager", ""), one.get("operation", ""), one.get("subresource", "")),
            one.get("apiVersion", ""),
            one.get("time", ""),
            from_json(one.get("fieldsV1")),
        )
        for one in shown or ()
    )


def _conflicts(
    live: Mapping[str, Any],
    configuration: Mapping[str, Any],
    wanted: Fields,
    entries: Sequence[Entry],
    owner: Owner,
    forms: Forms,
) -> Iterable[tuple[Path, Entry]]:
    owners: dict[Path, list[Entry]] = {}
    for one in entries:
        if one.owner != owner:
            for path in one.fields & wanted:
                owners.setdefault(path, []).append(one)
    before, after = Values(live, forms), Values(configuration, forms)
    for path in sorted(owners):
        if path[-1].startswith(("k:", "v:")):
            continue
        # What is empty is often not stored.
        there, here = before.at(path), after.at(path)
        if there == here or (there in _EMPTY and here in _EMPTY):
            continue
        for one in owners[path]:
            yield path, one


def _conflict(conflicts: Sequence[tuple[Path, Entry]]) -> Answered:
    number = f"{len(conflicts):,} conflict{'s' if len(conflicts) > 1 else ''}"
    causes = tuple(
        {
            "reason": "FieldManagerConflict",
            "message": f'conflict with "{one.owner.manager}"'
            + (f" using {one.api_version}" if one.owner.operation == UPDATE else ""),
            "field": shown(path),
        }
        for path, one in conflicts[:_MOST_CAUSES]
    )
    listed = ", ".join(f"{cause['field']} ({cause['message']})" for cause in causes)
    listed += ", …" if len(conflicts) > len(causes) else ""
    advice = "leave these fields out, or apply with --force-conflicts"
    return Answered(409, "Conflict", f"Apply failed with {number}: {listed}; {advice}", causes, about={})


def _sorted(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted((one for one in entries if one.fields), key=lambda one: (one.time, one.owner)))
