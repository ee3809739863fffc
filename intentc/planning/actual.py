"""One object as planning sees it: its last state in the store, with our own unseen writes applied.

``assumed.py`` makes it, the planner reads it. Values are decoded on first use, since most plans of an absent or foreign
object never need them. ``ownership.py`` decides whether the object is ours.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from intentc.model import (
    AddReference,
    Create,
    Key,
    Kind,
    Mark,
    Name,
    Reference,
    ReferenceValue,
    RemoveReference,
    Resource,
    Update,
    UpdateStatus,
)
from intentc.model.metadata import FINALIZERS, METADATA, claimed_part
from intentc.model.status import STATUS, STATUS_CLAIMS, with_claims

_CLAIMS_TRACE = f'"{STATUS_CLAIMS}"'.encode()


@cache
def empty_values(kind: Kind) -> Any:
    """The struct of a resource of ``kind`` in which every field has its default value."""
    return kind.values_type()


class Actual:
    """An existing object. ``revision``: its last known mod revision, None if the answer to our write had none."""

    __slots__ = (
        "_fields",
        "_references",
        "_resource",
        "_values",
        "_written",
        "fq_name",
        "is_being_deleted",
        "key",
        "kind",
        "mark",
        "parent",
        "revision",
    )

    def __init__(
        self,
        kind: Kind,
        key: Key,
        fq_name: tuple[str, ...],
        parent: Key | None,
        mark: Mark | None,
        revision: int | None,
        resource: Resource | None = None,
    ) -> None:
        self.kind = kind
        self.key = key
        self.fq_name = fq_name
        self.parent = parent
        self.mark = mark
        self.revision = revision
        self.is_being_deleted = False
        """Whether the server removes it once it has no finalizer any more."""
        self._resource = resource
        self._values: Any = None
        self._fields: dict[str, Any] = {}
        self._references: dict[str, dict[str, Reference]] = {}
        self._written: dict[str, tuple[ReferenceValue, ...]] = {}
        """Whole lists that we wrote, read on demand: most questions are about the object alone, and each of
        many objects may refer to all others."""

    @classmethod
    def seen(cls, resource: Resource) -> Actual:
        """The object as the store showed it."""
        actual = cls(
            resource.kind,
            resource.key,
            resource.fq_name,
            resource.parent,
            resource.mark,
            resource.mod_revision,
            resource,
        )
        actual.is_being_deleted = resource.is_being_deleted
        return actual

    @classmethod
    def made(cls, kind: Kind, create: Create, revision: int | None) -> Actual:
        """The object as we created it."""
        parent = create.parent.key if create.parent else None
        actual = cls(kind, create.key, create.fq_name, parent, create.mark, revision)
        actual._fields.update(create.properties)
        if kind.finalizers:
            actual._fields[FINALIZERS] = kind.finalizers
        for relation, entries in create.references.items():
            actual._written[relation] = entries
        return actual

    @property
    def name(self) -> Name:
        return Name(self.key.kind, self.fq_name)

    def value(self, field: str) -> Any:
        """The value of a property, or its default; of ``metadata`` what a claim may set."""
        if field in self._fields:
            return self._fields[field]
        if field == FINALIZERS:
            return self._stored().metadata.finalizers
        value = getattr(self._stored(), field)
        return claimed_part(value) if field == METADATA and self.kind.written_as_manifests else value

    @property
    def finalizers(self) -> tuple[str, ...]:
        """What must be removed before the server removes the resource; empty for kinds without metadata."""
        return self.value(FINALIZERS) if self.kind.written_as_manifests else ()

    @property
    def has_status_claims(self) -> bool:
        """Whether compilers, of any installation, have written items of its status."""
        if STATUS_CLAIMS in self._fields:
            return bool(self._fields[STATUS_CLAIMS])
        return self.kind.status is not None and self._resource is not None and _CLAIMS_TRACE in self._resource.raw

    def references(self, relation: str) -> tuple[Reference, ...]:
        """The entries of one relation."""
        if relation in self._written:
            entries = self._written.pop(relation)
            self._references[relation] = {entry.key.uuid: _stored_entry(relation, entry) for entry in entries}
        if relation in self._references:
            return tuple(self._references[relation].values())
        return self.kind.references_of(self._stored(), relation)

    def apply(self, operation: Update | AddReference | RemoveReference | UpdateStatus, revision: int | None) -> None:
        """Apply one acknowledged write of ours."""
        self.revision = revision
        if isinstance(operation, UpdateStatus):
            if self.kind.status is not None:
                self._fields[STATUS] = self.kind.status.with_parts(self.value(STATUS), operation.parts)
                self._fields[STATUS_CLAIMS] = with_claims(
                    self.value(STATUS_CLAIMS), operation.installation, operation.claims
                )
            return
        if isinstance(operation, Update):
            self._fields.update(operation.properties)
            for relation, entries in operation.references.items():
                self._written[relation] = entries
            return
        if operation.relation in self._written or operation.relation not in self._references:
            # Once: a holder may have some hundred pending writes, each of which would copy all its entries.
            known = self.references(operation.relation)
            self._references[operation.relation] = {r.uuid or ":".join(r.to): r for r in known}
        entries_by_uuid = self._references[operation.relation]
        if isinstance(operation, RemoveReference):
            entries_by_uuid.pop(operation.target.uuid, None)
        else:
            entries_by_uuid[operation.target.key.uuid] = _stored_entry(operation.relation, operation.target)

    def _stored(self) -> Any:
        if self._values is None:
            self._values = self._resource.values() if self._resource is not None else empty_values(self.kind)
        return self._values

    def __repr__(self) -> str:
        return f"<Actual {self.key} {':'.join(self.fq_name)} @{self.revision}>"


def _stored_entry(relation: str, entry: ReferenceValue) -> Reference:
    return Reference(relation, entry.key.uuid, entry.fq_name, entry.attribute)
