"""The registry of all kinds, and the construction of a kind from its declaration.

A declaration is the content of a schema file as plain values (``KindSpec``); ``loading`` reads the files, with line
numbers in errors. The registry finds a kind by its name for every other part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from intentc.model.kind import Column, Index, Kind, Mention, ParentRelation, Property, Relation, Writer
from intentc.model.manifest import Conversion, Shape, group_of
from intentc.model.matching import suggestion
from intentc.model.metadata import METADATA, ObjectMeta
from intentc.model.names import RESOLVERS, kebab
from intentc.model.problem import InvalidInput
from intentc.model.status import STATUS, STATUS_CLAIMS, Status, StatusSpec
from intentc.model.stored_versions import StoredVersions
from intentc.model.types import FieldSpec, TypeTable, build_struct
from intentc.model.values import Value, decode_hook, split_path


class ParentSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A possible parent. ``derived``: the child never blocks the deletion of its parent."""

    kind: str
    derived: bool = False


class ReferenceSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """References to objects of a kind, in the field ``<kind>_refs``. ``attribute``: the structured type that each
    carries. ``writer``: who writes the field; ``shared``: some of its entries are the compiler's. ``derived``: it never
    blocks the deletion of its target. ``system``: users don't write it. ``merge``: how the attributes of several claims
    become one (``import_export``). ``ours``: a pattern; entries whose target's name, joined by colons, fits are ours.
    ``ours_with``: entries with exactly this attribute are ours. ``writer_if_made``: who writes the field on objects
    that compilers made, if it is another one than ``writer``."""

    attribute: str = ""
    writer: str = "user"
    derived: bool = False
    system: bool = False
    merge: str = ""
    ours: str = ""
    ours_with: Any = None
    writer_if_made: str = ""
    description: str = ""


class MentionSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A relation that is found in properties. ``kind``: what is meant. ``paths``: where its name stands, such as
    ``rules.rule[].group``. ``resolver``: how the text there names it. ``ignore``: texts that name nothing. ``only``:
    the pattern of texts that name something."""

    kind: str
    paths: tuple[str, ...]
    resolver: str = "fq_name"
    ignore: tuple[str, ...] = ()
    only: str = ""


class IndexSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Values by which resources are found: ``ctx.select(kind, index, value)``, and by the resolvers. ``paths``: where
    they stand. ``hostnames``: each with every glob that covers it."""

    paths: tuple[str, ...]
    hostnames: bool = False


class KindSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One schema file. ``kind``: in snake_case, as the file is called. ``group``: whose kinds these are, such as
    ``getambassador.io``, or ``core``. ``plural``: if it is not the kind with an s. ``shape``: how people write
    resources of it. In the Kubernetes shape: ``scope``: ``namespaced`` or ``cluster``; ``manifest_kind``: if the
    manifest's kind is not the file's name in CamelCase, such as ``TLSContext``, with ``manifest_plural``;
    ``without_spec``: the fields stand at the manifest's top; ``short_names``: what kubectl also takes for it, such as
    ``svc``.
    ``parents``: kinds below which it may stand. ``properties``: field → type name or mapping (``FieldSpec`` plus
    ``writer``, ``required``, ``collection``, ``map_key``, ``annotation``, ``compiler_parts``, ``writer_if_made``).
    ``references``: target kind → mapping or nothing. ``mentions``: relations that are found in properties, by name.
    ``indexes``: values by which resources are found, by name. ``versions``: name (Kubernetes
    shape: apiVersion) → {path of a field: its path in the stored form, or nothing if it is dropped}. The first is the
    stored one; the last is that of stored resources without a version (Kubernetes shape: the first). Without any, the
    Kubernetes shape takes every version. ``converted``: apiVersion →
    ``module:name`` of a ``Conversion``, where moves are not enough. ``system``: users don't make such
    objects. ``ours``: a pattern of names joined by colons; objects whose name fits are ours. ``only_claimed``: a
    pattern; of those, objects whose name fits are there only while an intent claims them, whoever made them.
    ``status``: what others than users say of a resource. ``columns``: heading → path of what a table of resources shows
    under it, in ``kubectl get``. ``stored``: false for facts, which are in memory only. ``opaque``: unknown fields are
    taken; in the Kubernetes shape they are not stored. ``finalizers`` (Kubernetes shape): those that the API server
    gives a new resource. ``phased``: an integer property; objects of one owner are deleted in its order, the highest
    first. ``answers``: the kind of our objects that resources of this kind answer, each under the same name; no map
    names their readers.
    ``description``: for people."""

    kind: str
    group: str
    plural: str = ""
    shape: str = "contrail"
    scope: str = "namespaced"
    manifest_kind: str = ""
    manifest_plural: str = ""
    without_spec: bool = False
    parents: tuple[str | ParentSpec, ...] = ()
    properties: Mapping[str, Any] = {}
    references: Mapping[str, ReferenceSpec | None] = {}
    mentions: Mapping[str, MentionSpec] = {}
    indexes: Mapping[str, IndexSpec] = {}
    versions: Mapping[str, Mapping[str, str | None]] = {}
    converted: Mapping[str, str] = {}
    columns: Mapping[str, str] = {}
    short_names: tuple[str, ...] = ()
    system: bool = False
    ours: str = ""
    only_claimed: str = ""
    stored: bool = True
    status: StatusSpec | None = None
    opaque: bool = False
    finalizers: tuple[str, ...] = ()
    phased: str = ""
    answers: str = ""
    description: str = ""


_PAIR = build_struct("KeyValuePair", [("key", str, ""), ("value", str, "")])
_ANNOTATIONS = build_struct("KeyValuePairs", [("key_value_pair", tuple[_PAIR, ...], ())])  # type: ignore[valid-type]
_COMMON: tuple[tuple[str, Any, Any], ...] = (
    ("uuid", str, ""),
    ("fq_name", tuple[str, ...], ()),
    ("parent_type", str, ""),
    ("parent_uuid", str, ""),
    ("annotations", _ANNOTATIONS, _ANNOTATIONS()),
)
_PROPERTY_KEYS = {"writer", "required", "collection", "map_key", "annotation", "compiler_parts", "writer_if_made"}


def build_kind(
    spec: KindSpec, types: TypeTable, where: str, conversions: Mapping[str, Conversion] | None = None
) -> Kind:
    """The kind that ``spec`` declares. ``conversions``: apiVersion → what ``converted`` names. Raises ``InvalidInput``
    naming ``where`` (the file)."""
    properties = {name: _property(name, declared, where) for name, declared in spec.properties.items()}
    relations = {
        name: Relation(
            name=name,
            attribute=r.attribute,
            writer=Writer(r.writer),
            derived=r.derived,
            system=r.system,
            merge=r.merge,
            ours=re.compile(r.ours) if r.ours else None,
            ours_with=_attribute(r, types, f"{where}: {name}"),
            writer_if_made=Writer(r.writer_if_made) if r.writer_if_made else None,
        )
        for name, r in ((name, declared or ReferenceSpec()) for name, declared in spec.references.items())
    }
    fields: list[tuple[str, Any, Any]] = list(_COMMON)
    for prop in properties.values():
        fields.append((prop.name, *types.field(prop.spec)))
    for relation in relations.values():
        entry: list[tuple[str, Any, Any]] = [("uuid", str, ""), ("to", tuple[str, ...], ())]
        if relation.attribute:
            attribute = types.struct(relation.attribute)
            entry.append(("attr", attribute, attribute()))
        entry_type = build_struct(f"{spec.kind}_{relation.name}_ref", entry)
        fields.append((f"{relation.name}_refs", tuple[entry_type, ...], ()))  # type: ignore[valid-type]
    for mention in spec.mentions.values():
        if mention.resolver not in RESOLVERS:
            raise InvalidInput(
                f"resolver {mention.resolver!r} is unknown; there are {', '.join(RESOLVERS)}", source=where
            )
    if spec.shape not in {"contrail", "kubernetes"}:
        raise InvalidInput(f"shape {spec.shape!r} is unknown; there are contrail, kubernetes", source=where)
    if spec.shape == "kubernetes":
        fields.append((METADATA, ObjectMeta, ObjectMeta()))
        fields.append(("api_version", str, ""))
    status = Status(spec.status, types, where) if spec.status is not None else None
    if status is not None:
        fields += [(STATUS, status.struct, status.struct()), (STATUS_CLAIMS, *types.field(FieldSpec(type="map")))]
    return Kind(
        name=spec.kind,
        group=spec.group,
        plural=spec.plural or f"{spec.kind}s",
        manifests=_manifests(spec, conversions or {}) if spec.shape == "kubernetes" else None,
        versions=StoredVersions(spec.versions, conversions, manifests=spec.shape == "kubernetes"),
        types=types,
        parents=tuple(
            ParentRelation(p) if isinstance(p, str) else ParentRelation(p.kind, p.derived) for p in spec.parents
        ),
        properties=properties,
        relations=relations,
        mentions={
            name: Mention(
                name,
                m.kind,
                tuple(map(split_path, m.paths)),
                m.resolver,
                frozenset(m.ignore),
                re.compile(m.only) if m.only else None,
            )
            for name, m in spec.mentions.items()
        },
        indexes={name: Index(name, tuple(map(split_path, i.paths)), i.hostnames) for name, i in spec.indexes.items()},
        system=spec.system,
        ours=re.compile(spec.ours) if spec.ours else None,
        only_claimed=re.compile(spec.only_claimed) if spec.only_claimed else None,
        stored=spec.stored,
        opaque=spec.opaque,
        finalizers=spec.finalizers,
        phased=spec.phased,
        answers=spec.answers,
        values_type=build_struct(spec.kind, fields),
        status=status,
        columns=tuple(Column(name, split_path(path)) for name, path in spec.columns.items()),
        short_names=spec.short_names,
        description=spec.description,
    )


def _manifests(spec: KindSpec, conversions: Mapping[str, Conversion]) -> Shape:
    name = spec.manifest_kind or "".join(part.capitalize() for part in spec.kind.split("_"))
    plural = spec.manifest_plural or (spec.plural or f"{spec.kind}s").replace("_", "")
    return Shape(name, spec.group, spec.scope == "cluster", spec.versions, spec.without_spec, plural, conversions)


def _attribute(declared: ReferenceSpec, types: TypeTable, where: str) -> Value | None:
    if declared.ours_with is None:
        return None
    if not declared.attribute:
        raise InvalidInput("ours_with needs an attribute", source=where)
    try:
        return msgspec.convert(declared.ours_with, types.struct(declared.attribute), dec_hook=decode_hook)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"ours_with: {error}", source=where) from None


def _property(name: str, declared: Any, where: str) -> Property:
    if isinstance(declared, str):
        return Property(name, FieldSpec(type=declared))
    own = {key: declared[key] for key in _PROPERTY_KEYS if key in declared}
    rest = {key: value for key, value in declared.items() if key not in _PROPERTY_KEYS}
    spec = FieldSpec.parse(rest, f"{where}: {name}")
    writer = _writer(own.get("writer", "user"), f"{where}: {name}")
    if_made = own.get("writer_if_made")
    return Property(
        name,
        spec,
        writer,
        spec.sensitive,
        own.get("required", False),
        own.get("collection", ""),
        own.get("map_key", ""),
        own.get("annotation", ""),
        tuple(own.get("compiler_parts", ())),
        _writer(if_made, f"{where}: {name}") if if_made else None,
    )


def _writer(declared: str, where: str) -> Writer:
    try:
        return Writer(declared)
    except ValueError:
        known = ", ".join(writer.value for writer in Writer)
        raise InvalidInput(f"writer {declared!r} is unknown; there are {known}", source=where) from None


class Schema:
    """The kinds in use, found by any spelling of their name."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self.kinds: dict[str, Kind] = {}
        self._by_path: dict[str, Kind] = {}
        self._by_plural: dict[str, Kind] = {}
        self._by_spelling: dict[str, Kind] = {}
        self._by_plural_spelling: dict[str, Kind] = {}
        self._by_manifest: dict[tuple[str, str], Kind] = {}
        for kind in kinds:
            if kind.name in self.kinds:
                raise InvalidInput(f"kind {kind.name!r} is declared twice")
            self.kinds[kind.name] = kind
            self._by_path[kebab(kind.name)] = kind
            self._by_plural[kebab(kind.plural)] = kind
            self._by_spelling[_spelling(kind.name)] = kind
            self._by_plural_spelling[_spelling(kind.plural)] = kind
            if kind.written_as_manifests:
                self._add_manifests(kind)
        self.referring: dict[str, list[tuple[Kind, str]]] = {}
        """Kind → the (kind, relation) pairs that refer to it: references, mentions and ``parent``."""
        for kind in self.kinds.values():
            for target, relation in relations_of(kind):
                self.referring.setdefault(target, []).append((kind, relation))

    def kind(self, name: str) -> Kind:
        """A kind by its snake_case name. Raises ``InvalidInput`` with the nearest known names."""
        found = self.kinds.get(name)
        if found is None:
            raise InvalidInput(f"unknown kind {name!r}{suggestion(name, self.kinds)}", reason="UnknownKind")
        return found

    def by_path(self, path: str) -> Kind | None:
        """The kind whose kebab-case name is ``path``."""
        return self._by_path.get(path)

    def by_plural(self, path: str) -> Kind | None:
        """The kind whose plural in kebab-case is ``path``."""
        return self._by_plural.get(path)

    def spelt(self, name: str, *, plural: bool = False) -> Kind | None:
        """The kind that a person means by ``name``: ``ToyPod``, ``toy-pod`` or ``toy_pod``. ``plural``: its plural is
        taken, too."""
        found = self._by_spelling.get(_spelling(name))
        return self._by_plural_spelling.get(_spelling(name)) if found is None and plural else found

    def of_manifest(self, api_version: str, name: str) -> Kind | None:
        """The kind of manifests with this apiVersion and kind, in any spelling. Without one of that group: a kind of
        the same name, whose manifests have another group."""
        return self._by_manifest.get((group_of(api_version), _spelling(name))) or self.spelt(name)

    def _add_manifests(self, kind: Kind) -> None:
        for group in kind.manifests.groups:
            place = (group, _spelling(kind.manifests.kind))
            if place in self._by_manifest:
                other = self._by_manifest[place].name
                raise InvalidInput(f"{kind.manifests.kind} of group {group} is declared by {other} and {kind.name}")
            self._by_manifest[place] = kind
            self._by_spelling.setdefault(place[1], kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self.kinds.values())

    def __contains__(self, name: str) -> bool:
        return name in self.kinds


def _spelling(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def relations_of(kind: Kind) -> Iterator[tuple[str, str]]:
    """(target kind, relation) for all that resources of ``kind`` may link to."""
    for parent in kind.parents:
        yield parent.kind, "parent"
    for relation in kind.relations.values():
        yield relation.name, relation.name
    for mention in kind.mentions.values():
        yield mention.kind, mention.name
