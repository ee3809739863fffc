"""The writes of a plan, as values: ``planning`` decides them and ``writing`` carries them out.

Values of properties and attributes are frozen structs of the kind's schema; ``writing`` encodes them. ``revision`` is
the etcd revision that the object had when the plan was made, None if unknown; the compare-and-set compares it.

Values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from intentc.model.claims import Parent
from intentc.model.names import Key, Name
from intentc.model.ownership import Mark
from intentc.model.status import STATUS, status_item


class ReferenceValue(NamedTuple):
    """One entry of a list of references: the target's uuid and name, and the attribute (struct or None)."""

    key: Key
    fq_name: tuple[str, ...]
    attribute: Any = None


class Create(NamedTuple):
    """Create an object. ``properties``: field → value. ``references``: relation → entries. ``relaxed``: keys of targets
    whose deletion these references must not block."""

    key: Key
    name: Name
    parent: Parent | None
    mark: Mark
    properties: Mapping[str, Any]
    references: Mapping[str, tuple[ReferenceValue, ...]]
    relaxed: tuple[Key, ...] = ()

    @property
    def kind(self) -> str:
        return self.key.kind

    @property
    def uuid(self) -> str:
        return self.key.uuid

    @property
    def fq_name(self) -> tuple[str, ...]:
        return self.name.fq_name


class Update(NamedTuple):
    """Replace whole fields: ``properties`` field → value (the default clears it), ``references`` relation → the whole
    new list. ``relaxed``: keys of targets whose deletion these references must not block."""

    key: Key
    name: Name
    properties: Mapping[str, Any]
    references: Mapping[str, tuple[ReferenceValue, ...]]
    revision: int | None
    relaxed: tuple[Key, ...] = ()


class Delete(NamedTuple):
    """Delete an object of ours."""

    key: Key
    name: Name
    revision: int | None


class AddReference(NamedTuple):
    """Add one reference to a shared list, or give it another attribute. ``relaxed``: it must not block the target's
    deletion."""

    key: Key
    name: Name
    relation: str
    target: ReferenceValue
    relaxed: bool = False


class RemoveReference(NamedTuple):
    """Remove one reference from a shared list."""

    key: Key
    name: Name
    relation: str
    target: Key


class UpdateStatus(NamedTuple):
    """Change items of the status of an object, and nothing else. ``parts``: item → its new value, None to clear it;
    conditions have no time, since the server gives it. ``claims``: all items that compilers of ``installation`` claim
    from now on. It needs no revision, since nobody else writes these items."""

    key: Key
    name: Name
    parts: Mapping[str, Any]
    installation: str
    claims: tuple[str, ...]


Operation = Create | Update | Delete | AddReference | RemoveReference | UpdateStatus

_VERBS = {
    Create: "create",
    Update: "update",
    Delete: "delete",
    AddReference: "add_ref",
    RemoveReference: "remove_ref",
    UpdateStatus: "update_status",
}


def verb(operation: Operation) -> str:
    """The one word for an operation in plans, in the journal and in audits."""
    return _VERBS[type(operation)]


def written_fields(operation: Operation) -> tuple[str, ...]:
    """The fields that a write sets, references as ``<kind>_refs``, for the journal. Empty for a create or delete, which
    concerns the whole object."""
    match operation:
        case Update(properties=properties, references=references):
            return (*properties, *(f"{relation}_refs" for relation in references))
        case AddReference(relation=relation) | RemoveReference(relation=relation):
            return (f"{relation}_refs",)
        case UpdateStatus(parts=parts):
            return tuple(map(status_item, parts)) or (STATUS,)
        case Create() | Delete():
            return ()
