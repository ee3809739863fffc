"""A kind: what a schema file declares about one type of resource, ready to decode and compare.

``schema.py`` builds it from plain declarations. Shapes differ in how people write a resource (Contrail: ``uuid`` and
``fq_name`` at the top; Kubernetes: a manifest); in etcd both have one form (``manifest.py``). Other modules know
whether the target of a reference exists, and what admission fills in or rejects.

State: caches of what it computed; and the fields that it has lost, which ``retained/known_fields.py`` sets before
anything is decoded. A kind is not changed otherwise.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from intentc.model.events import Change
from intentc.model.manifest import Shape, flattened, is_manifest, manifest_uuid
from intentc.model.metadata import METADATA
from intentc.model.names import FQ_NAME, RESOLVERS, UUID, Key, hostname_offers, snake
from intentc.model.ownership import MARK_KEY, Mark
from intentc.model.problem import UNKNOWN_FIELD, InvalidInput
from intentc.model.reads import PARENT
from intentc.model.resource import Link, Reference, Resource
from intentc.model.sensitive import secret_places, sensitive_paths
from intentc.model.status import STATUS, Status
from intentc.model.stored_versions import StoredVersions
from intentc.model.types import FieldSpec, TypeTable
from intentc.model.values import Value, decode_hook, values_at, without_nulls

if TYPE_CHECKING:
    from intentc.model.lost_fields import LostFields


class Writer(enum.Enum):
    """Who writes a field (docs/engine.md §5.1)."""

    USER = "user"
    COMPILER = "compiler"
    SHARED = "shared"
    SERVER = "server"


BY_COMPILERS = frozenset({Writer.COMPILER, Writer.SHARED})
"""The writers that make a field, or some entries of it, a compiler's."""


class ParentRelation(msgspec.Struct, frozen=True):
    """A possible parent; ``derived``: it does not block the parent's deletion, the child stays as an orphan."""

    kind: str
    derived: bool = False


class Relation(msgspec.Struct, frozen=True):
    """References stored in ``<name>_refs`` to objects of kind ``name``.

    ``attribute``: a structured type's name, or empty. ``merge``: how attributes of several claims become one
    (``import_export``), or empty. ``ours``: pattern of the targets' names, joined by colons, by which an entry of a
    shared list is ours. ``ours_with``: the attribute by which it is ours. ``derived``: it never blocks the target's
    deletion. ``writer_if_made``: the writer on objects that compilers made, None: the same.
    """

    name: str
    attribute: str = ""
    writer: Writer = Writer.USER
    derived: bool = False
    system: bool = False
    merge: str = ""
    ours: re.Pattern[str] | None = None
    ours_with: Value | None = None
    writer_if_made: Writer | None = None

    def writer_on(self, *, made: bool) -> Writer:
        """Who writes it on an object that compilers ``made``, or on another one."""
        return self.writer_if_made or self.writer if made else self.writer


class Mention(msgspec.Struct, frozen=True):
    """A relation that is found in properties: the strings at ``paths`` name objects of ``kind`` by ``resolver``;
    those in ``ignore``, and those that ``only`` does not match, name nothing."""

    name: str
    kind: str
    paths: tuple[tuple[str, ...], ...]
    resolver: str = "fq_name"
    ignore: frozenset[str] = frozenset()
    only: re.Pattern[str] | None = None

    def is_name(self, text: str) -> bool:
        """Whether a text at one of the paths names an object."""
        return text not in self.ignore and (self.only is None or self.only.search(text) is not None)


class Index(msgspec.Struct, frozen=True):
    """Values that resources of the kind offer, from the strings at ``paths``; ``hostnames``: each with every glob that
    covers it."""

    name: str
    paths: tuple[tuple[str, ...], ...]
    hostnames: bool = False


class Property(msgspec.Struct, frozen=True):
    """A field that is no reference. ``collection``: ``map`` or ``list`` if its elements can be changed one by one;
    ``map_key``: the element's field that is the key. ``annotation``: the key of the annotation whose value the property
    has while it is not given itself. ``compiler_parts``: paths inside a user's property that compilers may set.
    ``writer_if_made``: the writer on objects that compilers made, None: the same."""

    name: str
    spec: FieldSpec
    writer: Writer = Writer.USER
    sensitive: bool = False
    required: bool = False
    collection: str = ""
    map_key: str = ""
    annotation: str = ""
    compiler_parts: tuple[str, ...] = ()
    writer_if_made: Writer | None = None

    def writer_on(self, *, made: bool) -> Writer:
        """Who writes it on an object that compilers ``made``, or on another one."""
        return self.writer_if_made or self.writer if made else self.writer


class Written(NamedTuple):
    """What compilers write on an object: whole properties and relations, and the relations that they share."""

    properties: tuple[str, ...]
    relations: tuple[str, ...]
    shared: tuple[str, ...]


class Column(msgspec.Struct, frozen=True):
    """A column of a table of resources: its heading, and the path of what it shows in the flat form."""

    name: str
    path: tuple[str, ...]


class Kind:
    """One kind of resource. Attributes are read-only.

    ``values_type``: the struct that ``values()`` gives: every property, and ``<relation>_refs`` per relation.
    ``input_fields``: the fields that decide whether an input changed. ``system``: objects of it are made by compilers
    or the server only; ``ours``: pattern of their names, joined by colons; ``only_claimed``: pattern of those names
    under which one exists only while it is claimed. ``stored: false``: facts. ``status``: None if it has none.
    """

    def __init__(
        self,
        *,
        name: str,
        group: str,
        plural: str,
        manifests: Shape | None = None,
        versions: StoredVersions | None = None,
        types: TypeTable,
        parents: tuple[ParentRelation, ...] = (),
        properties: Mapping[str, Property],
        relations: Mapping[str, Relation],
        mentions: Mapping[str, Mention],
        indexes: Mapping[str, Index],
        system: bool = False,
        ours: re.Pattern[str] | None = None,
        only_claimed: re.Pattern[str] | None = None,
        stored: bool = True,
        opaque: bool = False,
        finalizers: tuple[str, ...] = (),
        phased: str = "",
        answers: str = "",
        values_type: type[Value],
        status: Status | None = None,
        columns: tuple[Column, ...] = (),
        short_names: tuple[str, ...] = (),
        description: str = "",
    ) -> None:
        self.name = name
        self.group = group
        self.plural = plural
        self.types = types
        self.parents = parents
        self.properties = properties
        self.relations = relations
        self.mentions = mentions
        self.indexes = indexes
        self.system = system
        self.ours = ours
        self.only_claimed = only_claimed
        self.stored = stored
        self.opaque = opaque
        self.finalizers = finalizers
        """The finalizers that the API server gives a new resource of it."""
        self.phased = phased
        """The property by which objects of one owner are deleted in order, the highest first; empty if in none."""
        self.answers = answers
        """The kind of our objects that its resources answer, each under the same name; empty if none."""
        self.values_type = values_type
        self.status = status
        self.columns = columns
        self.short_names = short_names
        """What kubectl also takes for the kind, such as ``svc``."""
        self.description = description
        self.written_as_manifests = manifests is not None
        """Whether people write its resources as Kubernetes manifests."""
        self._manifests = manifests
        self.versions = versions or StoredVersions()
        """The versions in which its resources may be stored."""
        self.lost: LostFields | None = None
        """The fields of earlier schemas that this one does not declare; None if they are not known, or none is lost."""
        self._decoder = msgspec.json.Decoder(values_type, dec_hook=decode_hook)
        self._lists = tuple((name, f"{name}_refs") for name in relations)
        """Relation → the field of its entries."""
        self._annotated = {p.annotation: p.name for p in properties.values() if p.annotation}
        self.written_as_annotations = {name: annotation for annotation, name in self._annotated.items()}
        """The properties that are written as annotations, each with its key."""
        self.input_fields = tuple(
            ["fq_name", "parent_uuid"]
            + [p.name for p in properties.values() if p.writer is not Writer.COMPILER]
            + [f"{r.name}_refs" for r in relations.values() if r.writer is not Writer.COMPILER]
            + (["api_version"] if self.written_as_manifests else [])
            + ([STATUS] if status is not None and status.is_input else [])
        )
        self.user_fields = frozenset(
            [p.name for p in properties.values() if p.writer is Writer.USER]
            + [f"{r.name}_refs" for r in relations.values() if r.writer is Writer.USER]
            + ([METADATA, "annotations"] if self.written_as_manifests else [])
        )
        """What a whole resource says, as a manifest does: those that it leaves out are cleared."""
        self._written = (self._written_on(made=False), self._written_on(made=True))
        self.compiler_properties, self.compiler_relations, self.shared_relations = self.written(made=False)

    def written(self, *, made: bool) -> Written:
        """What compilers write on an object that they ``made``, or on another one (docs/engine.md §5.1)."""
        return self._written[made]

    def _written_on(self, *, made: bool) -> Written:
        ours = {Writer.COMPILER}
        if made and self.written_as_manifests:
            # A manifest defines all of its resource.
            ours.add(Writer.USER)
        relations = {relation.name: relation.writer_on(made=made) for relation in self.relations.values()}
        return Written(
            tuple(field.name for field in self.properties.values() if field.writer_on(made=made) in ours),
            tuple(name for name, writer in relations.items() if writer in ours),
            tuple(name for name, writer in relations.items() if writer is Writer.SHARED),
        )

    @property
    def manifests(self) -> Shape:
        """How its resources are written as manifests. Raises ``TypeError`` for a kind that is not."""
        if self._manifests is None:
            raise TypeError(f"{self.name} is not written as manifests")
        return self._manifests

    @cached_property
    def sensitive(self) -> tuple[tuple[str, ...], ...]:
        """Where fields stand that must not be shown."""
        return sensitive_paths(self)

    @cached_property
    def secret_places(self) -> tuple[tuple[str, ...], ...]:
        """Where texts stand that the API server encrypts and hides."""
        return secret_places(self)

    @cached_property
    def secret_fields(self) -> frozenset[str]:
        """The fields with such texts."""
        return frozenset(path[0] for path in self.secret_places)

    def decode_values(self, raw: bytes, uuid: str = "") -> Any:
        """The struct of a stored value. Raises ``msgspec.DecodeError`` (``ValidationError`` with the path)."""
        if self.written_as_manifests and (b'"fq_name"' not in raw or b'"apiVersion"' in raw):
            document = msgspec.json.decode(raw)
            if is_manifest(document):
                return msgspec.convert(self.stored_form(document), self.values_type, dec_hook=decode_hook)
        if self.versions.is_older(raw):
            raw = msgspec.json.encode(self.stored_form(msgspec.json.decode(raw, type=dict[str, Any])))
        if b"null" in raw:
            raw = msgspec.json.encode(without_nulls(msgspec.json.decode(raw)))
        if self._annotated and b'"annotations"' in raw:
            raw = msgspec.json.encode(self._with_annotated(msgspec.json.decode(raw)))
        return self._decoder.decode(raw)

    def _with_annotated(self, document: dict[str, Any]) -> dict[str, Any]:
        """``document`` with the properties that stand in annotations, as far as it does not give them itself."""
        found: dict[str, Any] = {}
        annotations = document.get("annotations")
        pairs = annotations.get("key_value_pair") if isinstance(annotations, dict) else None
        for pair in pairs if isinstance(pairs, list) else ():
            field = self._annotated.get(str(pair.get("key"))) if isinstance(pair, dict) else None
            if field and not document.get(field) and isinstance(pair.get("value"), str):
                found[field] = pair["value"]
        return {**document, **found} if found else document

    def stored_form(self, document: dict[str, Any]) -> dict[str, Any]:
        """A stored resource as JSON in the present version. It may be of an older one, or a manifest, which stands in
        etcd if somebody else than our API server put it there. Raises ``msgspec.ValidationError``."""
        if not (self.written_as_manifests and is_manifest(document)):
            return self.versions.converted(document)
        flat = flattened(document, self.manifests)
        return self.versions.marked({"uuid": manifest_uuid(self.name, flat["fq_name"]), **flat})

    def decode(self, change: Change) -> Resource:
        """The resource in a change that is no deletion. Raises ``InvalidInput`` naming key and revision."""
        key = Key(self.name, change.uuid)
        source = f"{key}@{change.mod_revision}"
        raw = change.value or b""
        try:
            values = self.decode_values(raw, change.uuid)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInput(f"value can't be read: {error}", source=source, reason="Malformed") from None
        if not values.fq_name:
            raise InvalidInput("fq_name is missing", source=source, reason="Malformed")
        if values.uuid and values.uuid != change.uuid:
            raise InvalidInput(f"value has uuid {values.uuid}", source=source, reason="Malformed")
        parent = Key(snake(values.parent_type), values.parent_uuid) if values.parent_uuid else None
        mark = None
        for pair in values.annotations.key_value_pair:
            if pair.key == MARK_KEY:
                mark = Mark.parse(pair.value)
        if self.lost is not None and mark is None and (lost := self.lost.found_in(self, raw)):
            raise InvalidInput(self.lost.message(self, lost), source=source, reason=UNKNOWN_FIELD)
        links = tuple(self._links(values, parent))
        return Resource(
            self, key, values.fq_name, parent, links, mark, raw, change.create_revision, change.mod_revision, values
        )

    def _links(self, values: Any, parent: Key | None) -> Iterator[Link]:
        if parent is not None:
            yield Link(PARENT, parent.kind, UUID, parent.uuid)
        for relation, field in self._lists:
            for entry in getattr(values, field):
                if entry.uuid:
                    yield Link(relation, relation, UUID, entry.uuid)
                elif entry.to:
                    yield Link(relation, relation, FQ_NAME, ":".join(entry.to))
        for mention in self.mentions.values():
            resolver = RESOLVERS[mention.resolver]
            found = {text: None for path in mention.paths for text in values_at(values, path) if mention.is_name(text)}
            if mention.resolver == "selector" and found:
                found = {",".join(sorted(found)): None}
            for text in found:
                yield Link(mention.name, mention.kind, resolver.offered_in, resolver.wanted(text, values.fq_name))

    def references_of(self, values: Any, relation: str) -> tuple[Reference, ...]:
        """The stored references of one relation in ``values``."""
        return tuple(
            Reference(relation, entry.uuid, entry.to, getattr(entry, "attr", None))
            for entry in getattr(values, f"{relation}_refs")
        )

    def offers(self, resource: Resource, index: str) -> tuple[str, ...]:
        """What ``resource`` offers in ``index``."""
        if index == UUID:
            return (resource.key.uuid,)
        if index == FQ_NAME:
            return (":".join(resource.fq_name),)
        declared = self.indexes.get(index)
        if declared is None:
            return ()
        values = resource.values()
        found = dict.fromkeys(text for path in declared.paths for text in values_at(values, path))
        if declared.hostnames:
            found = dict.fromkeys(offer for text in found for offer in hostname_offers(text))
        return tuple(found)

    def same_input(self, one: Resource, other: Resource) -> bool:
        """Whether two states of an object mean the same to every reader: the declared fields that no compiler writes
        are equal after the schema's defaults (docs/engine.md §2.3). Of what the server fills in only that counts which
        the schema declares, since it is declared because evaluations read it."""
        if one.raw == other.raw:
            return True
        first, second = one.values(), other.values()
        return all(getattr(first, field) == getattr(second, field) for field in self.input_fields)

    def attribute_type(self, relation: str) -> type[Value] | None:
        """The struct type of a relation's attribute, None if it has none."""
        name = self.relations[relation].attribute
        return self.types.struct(name) if name else None

    def __repr__(self) -> str:
        return f"<Kind {self.name}>"
