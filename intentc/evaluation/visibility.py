"""Decides by the schema what an evaluation may read (kinds, fields, relations, indexes and facts), once per runner; and
reads manifests and YAML documents that an author finds in a resource.

Error messages are for authors: they name the rule, and the nearest valid name. ``conversion.py`` checks what an
evaluation yields.
"""

from __future__ import annotations

from typing import Any

from intentc.loading import Limits, parse_documents
from intentc.loading.checking import manifest_fields
from intentc.model import InvalidInput, Kind, Name, Schema, Writer
from intentc.model.kind import Relation
from intentc.model.matching import suggestion
from intentc.model.metadata import METADATA
from intentc.model.names import FQ_NAME, UUID
from intentc.model.status import STATUS, STATUS_CLAIMS

_UNREADABLE = {
    "uuid": "use `.uuid`",
    "parent_type": "use `.parent()`",
    "parent_uuid": "use `.parent()`",
    "annotations": "annotations carry the compilers' own mark, so they are no input; those of a manifest are "
    "`.metadata.annotations`",
}
"""Common fields that can't be read as properties."""
_LIMITS = Limits(size=1_572_864, aliases=100, copies=10_000, nodes=100_000)
"""The limits for a document inside a resource, which is parsed during an evaluation."""
_EVERYWHERE = ("all", UUID, FQ_NAME)
"""The indexes of every kind."""


class Visibility:
    """The schema from the point of view of an evaluation."""

    def __init__(self, schema: Schema) -> None:
        self._kinds = dict(schema.kinds)
        self._schema = schema
        self._readable = {kind.name: self._readable_fields(kind) for kind in schema}

    @staticmethod
    def _readable_fields(kind: Kind) -> frozenset[str]:
        relations = (f"{relation}_refs" for relation in kind.relations)
        hidden = {*_UNREADABLE, *kind.compiler_properties, *relations}
        if kind.written_as_manifests:
            hidden.add(METADATA)
        if kind.status is not None:
            hidden |= {STATUS_CLAIMS} if kind.status.is_input else {STATUS, STATUS_CLAIMS}
        return frozenset(kind.values_type.__struct_fields__) - hidden

    def kind(self, name: str) -> Kind:
        """Raises ``InvalidInput`` with the nearest known kinds."""
        return self._kinds.get(name) or self._schema.kind(name)

    def described(self, manifest: Any) -> tuple[Name, dict[str, Any]]:
        """The name of the resource in a manifest, and its fields in their flat form. Raises ``InvalidInput``."""
        kind, fq_name, fields = manifest_fields(self._schema, manifest)
        return Name(kind.name, fq_name), fields

    def fields(self, kind: str) -> frozenset[str]:
        """The properties that may be read."""
        return self._readable[kind]

    def rejection(self, name: str, field: str) -> str:
        """Why a field outside ``fields`` can't be read."""
        kind = self.kind(name)
        if field in kind.compiler_properties:
            return f"{kind.name}.{field} is written by compilers (`writer: compiler`), so no evaluation may read it"
        relation = field.removesuffix("_refs")
        if relation in kind.relations:
            return f"{kind.name}.{field} is a list of references; use `.references({relation!r})`"
        if field == STATUS and kind.status is not None:
            return f"{kind.name}.status is written by compilers, so no evaluation may read it"
        if field in _UNREADABLE:
            return f"{kind.name}.{field} can't be read; {_UNREADABLE[field]}"
        if field == "labels" and kind.written_as_manifests:
            return f"{kind.name} has no property 'labels'; use `.metadata.labels`"
        return f"{kind.name} has no property {field!r}{suggestion(field, self._readable[kind.name])}"

    def relation(self, kind: str, relation: str) -> Relation | None:
        """The reference of ``kind`` by this name, None for a mention. Raises ``AttributeError`` if there is neither,
        or if compilers write it."""
        holder = self.kind(kind)
        declared = holder.relations.get(relation)
        if declared is None:
            if relation not in holder.mentions:
                known = suggestion(relation, (*holder.relations, *holder.mentions))
                raise AttributeError(f"{kind} has no relation {relation!r}{known}")
            return None
        if declared.writer is Writer.COMPILER:
            raise AttributeError(
                f"{kind}.{relation}_refs is written by compilers (`writer: compiler`), so no evaluation may read it"
            )
        return declared

    def check_index(self, kind: str, index: str) -> None:
        """Raises ``InvalidInput`` if the kind offers no such index."""
        declared = self.kind(kind).indexes
        if index not in declared and index not in _EVERYWHERE:
            indexes = (*declared, *_EVERYWHERE)
            raise InvalidInput(f"{kind} has no index {index!r}{suggestion(index, indexes)}")

    def check_fact(self, kind: str) -> None:
        """Raises ``InvalidInput`` if ``kind`` is not declared, or not as a fact."""
        if self.kind(kind).stored:
            raise InvalidInput(f"{kind} is stored, so it is no fact; facts are declared with `stored: false`")


def documents_in(text: str) -> list[Any]:
    """The YAML documents in a text that a resource holds. Raises ``InvalidInput``."""
    return [document.value for document in parse_documents(text, source="line", limits=_LIMITS)]
