"""What an author sees of resources: a ``View`` of any resource, and ``Intent``, the view of the one that is compiled.

Every read passes through the context, which records it; ``key``, ``kind`` and ``uuid`` are no reads. Fields that
compilers write are hidden: an evaluation that reads its own output would never converge (docs/engine.md §5.1). Each
part of a resource's metadata is a separate read: a cluster writes to metadata all the time, and an intent that reads
one annotation must not run again when another one changes (docs/engine.md §3.1).

``Intent`` makes claims on its own objects: a child (``child``, ``child_of``), a root object (``owned``), and an object
in a Kubernetes cluster (``manifest``). The functions below it, and ``status.py``, make the other claims. Values may be
plain here; the runner converts them to the schema's structs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from intentc.model import (
    SHARED,
    Claim,
    Fact,
    FinalizerClaim,
    Key,
    Name,
    Parent,
    PropertyClaim,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
)
from intentc.model.metadata import BY_KEY, FIELDS
from intentc.outgoing import MANIFEST, claimed_fields, target_of
from intentc.outgoing import name_of as manifest_name

if TYPE_CHECKING:
    from .context import Context


class View:
    """A resource as an evaluation may see it. In addition to the members below, every property of the kind's schema is
    an attribute, ``view.description``; values are frozen, and unset ones have the schema's default.

    ``key`` and ``uuid`` read nothing. Unknown and hidden properties raise ``AttributeError``. A method raises
    ``HeldInput`` if the object exists but can't be read now; don't catch it.
    """

    __slots__ = ("_context", "_fq_name", "_values", "_visible", "key")

    def __init__(self, context: Context, key: Key) -> None:
        self._context = context
        self._fq_name: tuple[str, ...] = ()
        self._values: Any = None
        self._visible: frozenset[str] = frozenset()
        self.key = key

    @property
    def kind(self) -> str:
        return self.key.kind

    @property
    def uuid(self) -> str:
        return self.key.uuid

    @property
    def fq_name(self) -> tuple[str, ...]:
        if not self._fq_name:
            self._fq_name = self._context.fq_name(self.key)
        return self._fq_name

    @property
    def name(self) -> str:
        """The last element of ``fq_name``."""
        return self.fq_name[-1]

    @property
    def metadata(self) -> Any:
        """The metadata of a resource that people write as a manifest: ``view.metadata.labels.get("app")``,
        ``.annotations``, ``.generation`` …; each part is a read of its own (``Metadata``). Of other kinds: a property,
        if their schema has one of this name."""
        return Metadata(self._context, self.key) if self._context.has_metadata(self.kind) else self.field("metadata")

    def __getattr__(self, field: str) -> Any:
        # The most frequent case first: another field of a resource that was already read.
        if field in self._visible:
            return getattr(self._values, field)
        if field.startswith("_"):
            raise AttributeError(field)
        return self.field(field)

    def field(self, field: str) -> Any:
        """A property by its name, for names that are also methods of this class."""
        if self._values is None:
            self._values, self._visible = self._context.values(self.key)
        if field not in self._visible:
            raise AttributeError(self._context.rejection(self.key.kind, field))
        return getattr(self._values, field)

    def texts_with(self, mark: str) -> tuple[tuple[str, str], ...]:
        """(path of the field, text) of all texts in its fields that contain ``mark``, in the order of the fields. Cheap
        for a resource without the mark."""
        return self._context.texts_with(self.key, mark)

    def references(self, relation: str) -> tuple[View, ...]:
        """The existing resources that this one refers to by ``relation`` (the name of a reference or mention), sorted
        by fq_name. In a list that users and compilers share, ours are left out."""
        return tuple(view for view, _ in self._context.references(self.key, relation))

    def reference_attributes(self, relation: str) -> tuple[tuple[View, Any], ...]:
        """The same with the attribute of each reference: a struct, or None if the relation has none."""
        return self._context.references(self.key, relation)

    def written_references(self, relation: str) -> tuple[tuple[View | None, Any], ...]:
        """The references of ``relation`` in the order in which they are stored, each with its attribute; None in place
        of a resource that does not exist. For relations in which the order, or a missing target, has a meaning."""
        return self._context.written_references(self.key, relation)

    def parent(self) -> View | None:
        """The parent; None for root kinds, and while the parent does not exist."""
        return self._context.parent(self.key)

    def children(self, kind: str) -> tuple[View, ...]:
        """Its children of one kind, sorted by fq_name."""
        return self._context.children(self.key, kind)

    def back_references(self, kind: str, relation: str | None = None) -> tuple[View, ...]:
        """The resources of ``kind`` that refer to this one by ``relation`` (by default this one's own kind), sorted by
        fq_name, without references that compilers wrote."""
        return self._context.back_references(self.key, kind, relation or self.key.kind)

    def mentioned_by(self, kind: str, relation: str) -> tuple[View, ...]:
        """The resources of ``kind`` that name this one in their properties, by the mention ``relation``."""
        return self._context.back_references(self.key, kind, relation)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key}>"


class Intent(View):
    """The base class of all intents. A subclass sets its ``kind`` and implements ``evaluate``.

    ``trust``: ``reads`` (an intent that only the reaction map names is answered from its memo) or ``reactions`` (it
    is evaluated each time; docs/engine.md §3.3).

    >>> class ThingIntent(Intent):
    ...     kind = "thing"
    ...     def evaluate(self, ctx):
    ...         yield self.child("part", "first", size=self.size)
    """

    kind: ClassVar[str] = ""
    trust: ClassVar[str] = "reads"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        """What should exist because of this resource: claims and facts, as a generator or any iterable.

        A pure function of what is read through ``self`` and ``ctx``: no I/O, no clock, no randomness, no order of
        sets. An intent that only takes part in relations yields nothing, like this one.
        """
        return ()

    def child(self, kind: str, name: str, **properties: Any) -> ResourceClaim:
        """A claim that this resource has a child of ``kind`` called ``name`` with these properties, owned by this
        resource and deleted with it. Values are structs of the schema, dicts or lists."""
        return self.child_of(self, kind, name, **properties)

    def child_of(self, parent: View, kind: str, name: str, **properties: Any) -> ResourceClaim:
        """A claim that ``parent`` has a child of ``kind`` called ``name`` with these properties, owned by this resource
        and deleted with it."""
        fq_name = parent.fq_name
        return ResourceClaim(
            Name(kind, (*fq_name, name)), Parent(parent.key, fq_name), self.key.uuid, tuple(sorted(properties.items()))
        )

    def owned(self, kind: str, fq_name: tuple[str, ...], **properties: Any) -> ResourceClaim:
        """A claim that the root object ``kind`` ``fq_name`` exists, owned by this resource and deleted with it."""
        return ResourceClaim(Name(kind, tuple(fq_name)), None, self.key.uuid, tuple(sorted(properties.items())))

    def manifest(
        self,
        manifest: Mapping[str, Any],
        *,
        phase: int = 0,
        immutable: Iterable[str] = (),
        once: bool = False,
        kept: bool = False,
        adopts: Mapping[str, str] | None = None,
        adopted_only: bool = False,
        owner: View | None = None,
    ) -> ResourceClaim:
        """A claim that an object exists in a Kubernetes cluster, owned by this resource and deleted with it
        (docs/engine.md §13).

        ``manifest``: plain Kubernetes JSON with exactly the fields that the compiler owns; without a namespace the
        object is cluster-scoped. ``phase``: lower ones are created first, and deleted last. ``immutable``: paths with
        dots (``spec.selector``), whose change means delete and create. ``once``: a Job that is done is not made again
        with the same content. ``kept``: the object stays in the cluster when nobody claims it any more, such as a
        Namespace that others use. ``adopts``: labels by which an object that no installation made is taken over;
        ``adopted_only``: it is taken over and deleted, but never created, such as a Secret that a Job makes. ``owner``:
        the resource that owns it, for an intent of a fact. Raises
        ``InvalidInput`` for what can't be a manifest."""
        fields = claimed_fields(
            manifest, phase=phase, immutable=immutable, once=once, kept=kept, adopts=adopts, adopted_only=adopted_only
        )
        name = Name(MANIFEST, manifest_name(target_of(manifest)))
        return ResourceClaim(name, None, (owner or self).key.uuid, tuple(sorted(fields.items())))


def with_fields(intent: type[Intent], fields: Iterable[str]) -> type[Intent]:
    """``intent`` with ``fields`` as properties of its class. The fields of the evaluated resource are read by the
    hundred thousand, and once they are loaded the properties run no Python code. Before, the properties raise
    ``AttributeError``, and ``__getattr__`` answers."""
    properties = {field: property(attrgetter(f"_values.{field}")) for field in fields if not hasattr(intent, field)}
    return type(intent.__name__, (intent,), {"__module__": intent.__module__, "__doc__": intent.__doc__, **properties})


class Metadata:
    """The metadata of one resource as an evaluation may see it: ``labels`` and ``annotations`` (``NamedTexts``),
    ``generation``, ``creationTimestamp``, ``deletionTimestamp``, ``finalizers``, ``ownerReferences``. Other names raise
    ``AttributeError``."""

    __slots__ = ("_context", "_key")

    def __init__(self, context: Context, key: Key) -> None:
        self._context = context
        self._key = key

    @property
    def labels(self) -> NamedTexts:
        return NamedTexts(self._context, self._key, "labels")

    @property
    def annotations(self) -> NamedTexts:
        """Users' annotations, without our own mark."""
        return NamedTexts(self._context, self._key, "annotations")

    def __getattr__(self, part: str) -> Any:
        if part not in FIELDS or part in BY_KEY:
            raise AttributeError(f"metadata has no {part!r}; there are {', '.join(FIELDS)}")
        return self._context.metadata(self._key, part)

    def __repr__(self) -> str:
        return f"<Metadata {self._key}>"


class NamedTexts(Mapping[str, str]):
    """Labels or annotations. ``get``, ``[]`` and ``in`` read one key; anything else reads the whole map."""

    __slots__ = ("_context", "_key", "_part", "_whole")

    def __init__(self, context: Context, key: Key, part: str) -> None:
        self._context = context
        self._key = key
        self._part = part
        self._whole: Mapping[str, Any] | None = None

    def __getitem__(self, name: str) -> str:
        if self._whole is not None:
            return str(self._whole[name])
        found = self._context.metadata(self._key, self._part, name)
        if found is None:
            raise KeyError(name)
        return str(found)

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return f"<{self._part} of {self._key}>"

    def _read(self) -> Mapping[str, Any]:
        if self._whole is None:
            self._whole = self._context.metadata(self._key, self._part)
        return self._whole


def shared(kind: str, fq_name: tuple[str, ...], **properties: Any) -> ResourceClaim:
    """A claim that the root object ``kind`` ``fq_name`` exists, shared by its claimants: it ends with its last claim.

    >>> shared("label", ("blue",)).owner
    'shared'
    """
    return ResourceClaim(Name(kind, tuple(fq_name)), None, SHARED, tuple(sorted(properties.items())))


def refer(holder: View | ResourceClaim | Name, target: View | ResourceClaim | Name, **attribute: Any) -> ReferenceClaim:
    """A claim that ``holder`` refers to ``target`` by the relation named after the target's kind, with these fields of
    the attribute. The target need not exist yet.

    >>> claim = refer(Name("farm", ("valley", "north")), shared("crop", ("barley",)), acres=3)
    >>> claim.relation, claim.attribute
    ('crop', {'acres': 3})
    """
    name = name_of(target)
    return ReferenceClaim(name_of(holder), name.kind, name, attribute)


def assign(holder: View | ResourceClaim | Name, field: str, value: Any) -> PropertyClaim:
    """A claim that the field of ``holder`` has this value. The schema must give the field to compilers.

    ``field``: a property; when nobody claims it any more, it has its default again. Or a part of a user's property that
    its ``compiler_parts`` name (``parameters.number``); when nobody claims it any more, it stays as it is.

    >>> assign(Name("farm", ("valley", "north")), "parameters.number", 7).field
    'parameters.number'
    """
    return PropertyClaim(name_of(holder), field, value)


def keep_references(holder: View, relation: str) -> RelationClaim:
    """A claim that all entries of a shared list stay as they are, whoever wrote them."""
    return RelationClaim(name_of(holder), relation, kept=True)


def drop_references(holder: View, relation: str, targets: Iterable[View | ResourceClaim | Name]) -> RelationClaim:
    """A claim that ``holder`` does not refer to ``targets`` by a shared list, even if a user wrote the reference.

    Name all targets that must not be there, whether a reference to them exists or not: a claim that depends on what a
    user writes changes with each of the user's writes, and what changes the claims is not seen as contention
    (docs/engine.md §7)."""
    return RelationClaim(name_of(holder), relation, unwanted=tuple(sorted(map(name_of, targets))))


def finalizer(holder: View | Name, name: str) -> FinalizerClaim:
    """A claim that ``holder`` (a resource of the Kubernetes shape) has the finalizer ``name``, which the compiler
    declares (``Compiler(finalizers=…)``). It is stored before anything is created that the same evaluation claims.

    While the resource of the claiming intent is being deleted, the claim holds only until all that the intent made is
    gone (docs/engine.md §14.2).

    >>> finalizer(Name("app", ("shop", "web")), "example.com/app").finalizer
    'example.com/app'
    """
    return FinalizerClaim(name_of(holder), name)


def name_of(object_: View | ResourceClaim | Name) -> Name:
    """The name of the object that is meant."""
    if isinstance(object_, Name):
        return object_
    return object_.name if isinstance(object_, ResourceClaim) else Name(object_.key.kind, object_.fq_name)
