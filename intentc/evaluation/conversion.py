"""Checks what an evaluation yields by the schema, and converts plain values to the schema's frozen structs.

Authors may yield dicts, lists and structs; struct constructors don't validate, and decoding ignores unknown fields. So
each value of a field passes once through JSON: it is encoded (which gives its size, and sorts sets), decoded by a
strict twin of its type that rejects unknown fields, and decoded by the type itself. That is faster than any traversal
in Python. ``visibility.py`` decides what an evaluation may read.
"""

from __future__ import annotations

import re
import types
import typing
import weakref
from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec

from intentc.model import (
    Fact,
    FinalizerClaim,
    Kind,
    Name,
    PropertyClaim,
    ReferenceClaim,
    RelationClaim,
    ResourceClaim,
    StatusClaim,
    Writer,
)
from intentc.model.kind import BY_COMPILERS
from intentc.model.matching import suggestion
from intentc.model.metadata import CLAIMED, METADATA, ObjectMeta, claimed_part
from intentc.model.status import OBSERVED, condition_of
from intentc.model.values import Value, decode_hook, encode_hook, freeze

from .visibility import Visibility

_OF_MANIFESTS: dict[str, tuple[Any, Any]] = {METADATA: (ObjectMeta, ObjectMeta()), "api_version": (str, "")}
"""Fields of every kind in manifest form; a claim may set them like properties."""

_OF_USERS = (
    "{} is written by users, also on objects that compilers make; if it is the compiler's there, declare "
    "`writer_if_made: compiler`"
)
_CONDITION_STATUS = frozenset({"True", "False", "Unknown"})
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
"""The form that Kubernetes gives to the reason of a condition."""

_ENCODER = msgspec.json.Encoder(enc_hook=encode_hook, order="deterministic")
_TWINS: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()
"""A schema's struct → its strict twin; making one takes longer than most evaluations."""


class InvalidOutput(Exception):
    """An evaluation yielded an invalid value; the message says what and where."""


class _Codec(NamedTuple):
    """``strict``: None if the type contains no struct, so that no field can be misspelt."""

    strict: msgspec.json.Decoder[Any] | None
    final: msgspec.json.Decoder[Any]
    default: Any

    def convert(self, value: Any, of: Name, part: str) -> tuple[Any, int]:
        """``part``: what of the object ``of`` the value is, for the message."""
        try:
            encoded = _ENCODER.encode(value)
            if self.strict is not None:
                self.strict.decode(encoded)
            return self.final.decode(encoded), len(encoded)
        except (msgspec.MsgspecError, TypeError, NotImplementedError) as error:
            raise InvalidOutput(f"{of}: {part}: {error}") from None


class Converter:
    """Checks and converts what evaluations yield, by the schema. Methods return (converted, bytes of JSON) and raise
    ``InvalidOutput``."""

    def __init__(self, visibility: Visibility, finalizers: Collection[str] = ()) -> None:
        self._kind = visibility.kind
        self._finalizers = finalizers
        self._properties: dict[tuple[str, str], _Codec] = {}
        self._attributes: dict[tuple[str, str], _Codec | None] = {}

    def resource(self, claim: ResourceClaim) -> tuple[ResourceClaim, int]:
        """The claim with structs as values."""
        kind = self._kind(claim.name.kind)
        size = _name_size(claim.name)
        if claim.parent is not None and not any(p.kind == claim.parent.key.kind for p in kind.parents):
            raise InvalidOutput(f"{claim.name} can't be a child of {claim.parent.key}")
        if not kind.stored:
            raise InvalidOutput(f"{claim.name} is a fact; yield Fact(kind, name, value)")
        if not claim.properties:
            return claim, size
        converted = []
        ours = kind.written(made=True).properties
        for field, value in claim.properties:
            result, length = self._value(kind, claim.name, field, value)
            if field not in ours and field in kind.properties:
                raise InvalidOutput(_OF_USERS.format(f"{kind.name}.{field}"))
            converted.append((field, result))
            size += length
        return ResourceClaim(claim.name, claim.parent, claim.owner, tuple(converted)), size

    def reference(self, claim: ReferenceClaim, own: set[Name]) -> tuple[ReferenceClaim, int]:
        """The claim with a struct as attribute (the default if nothing is set), None if the relation has none. ``own``:
        the objects that the evaluation has claimed so far; only on those it may write a user's relation."""
        kind = self._kind(claim.holder.kind)
        relation = kind.relations.get(claim.relation)
        if relation is None:
            raise InvalidOutput(f"{claim.holder} can't refer to {claim.target}: its schema has no such reference")
        if relation.writer not in BY_COMPILERS and claim.holder not in own:
            raise InvalidOutput(
                f"{claim.holder.kind}.{relation.name}_refs is written by users (`writer: {relation.writer.value}`)"
            )
        written = kind.written(made=True)
        if relation.name not in written.relations and relation.name not in written.shared:
            raise InvalidOutput(_OF_USERS.format(f"{kind.name}.{relation.name}_refs"))
        size = _name_size(claim.holder) + _name_size(claim.target)
        slot = (kind.name, claim.relation)
        if slot not in self._attributes:
            attribute = kind.attribute_type(claim.relation)
            self._attributes[slot] = _codec(attribute, attribute()) if attribute else None
        codec = self._attributes[slot]
        if codec is None:
            if claim.attribute:
                raise InvalidOutput(f"{claim.holder}: references to {claim.relation} have no attribute")
            return claim._replace(attribute=None), size
        if not claim.attribute:
            return claim._replace(attribute=codec.default), size
        value, length = codec.convert(claim.attribute, claim.holder, f"attribute of {claim.target}")
        return claim._replace(attribute=value), size + length

    def property(self, claim: PropertyClaim) -> tuple[PropertyClaim, int]:
        """The claim with a struct as value; only fields that the schema gives to compilers may be claimed."""
        kind = self._kind(claim.holder.kind)
        value, length = self._value(kind, claim.holder, claim.field, claim.value)
        head, _, inner = claim.field.partition(".")
        if claim.field not in kind.compiler_properties and not (
            inner and inner in kind.properties[head].compiler_parts
        ):
            raise InvalidOutput(f"{kind.name}.{claim.field} is not written by compilers (`writer: compiler`)")
        return claim._replace(value=value), _name_size(claim.holder) + length

    def finalizer(self, claim: FinalizerClaim) -> tuple[FinalizerClaim, int]:
        """The claim as it is, if its holder can have finalizers and the compiler declares this one."""
        if not self._kind(claim.holder.kind).written_as_manifests:
            raise InvalidOutput(f"{claim.holder} can't have finalizers: its kind is not of the Kubernetes shape")
        if claim.finalizer not in self._finalizers:
            known = f"; there are {', '.join(sorted(self._finalizers))}" if self._finalizers else ""
            raise InvalidOutput(f"finalizer {claim.finalizer!r} is not declared by Compiler(finalizers=…){known}")
        return claim, _name_size(claim.holder) + len(claim.finalizer)

    def relation(self, claim: RelationClaim) -> tuple[RelationClaim, int]:
        """The claim as it is, if its relation is a shared list."""
        relation = self._kind(claim.holder.kind).relations.get(claim.relation)
        if relation is None or relation.writer is not Writer.SHARED:
            raise InvalidOutput(f"{claim.holder.kind}.{claim.relation}_refs is no list that users and compilers share")
        return claim, _name_size(claim.holder) + sum(map(_name_size, claim.unwanted))

    def status(self, claim: StatusClaim) -> tuple[StatusClaim, int]:
        """The claim with a struct as value; only what the kind's ``status`` declares may be claimed. A condition's
        ``observedGeneration`` is the claim's generation, if its type has that field."""
        kind, holder = self._kind(claim.holder.kind), claim.holder
        declared, item = kind.status, claim.item
        if declared is None or item not in declared.items:
            hint = suggestion(item, declared.items if declared is not None else ())
            raise InvalidOutput(f"status of {kind.name}: its schema gives no {item!r} to compilers{hint}")
        slot = (kind.name, f"status.{item}")
        type_name = condition_of(item)
        if slot not in self._properties:
            struct = declared.condition_type
            self._properties[slot] = (
                _codec(*declared.field(item)) if type_name is None or struct is None else _codec(struct, struct())
            )
        value, length = self._properties[slot].convert(claim.value, holder, f"status.{item}")
        if type_name is not None:
            if value.status not in _CONDITION_STATUS:
                raise InvalidOutput(f"{holder}: condition {type_name}: its status is True, False or Unknown")
            if not _REASON.fullmatch(value.reason):
                raise InvalidOutput(
                    f"{holder}: condition {type_name}: the reason {value.reason!r} is no CamelCase word"
                )
            if OBSERVED in value.__struct_fields__:
                value = msgspec.structs.replace(value, **{OBSERVED: claim.generation})
        return claim._replace(value=value), _name_size(holder) + length

    def observes(self, claim: StatusClaim) -> bool:
        """Whether the claim is a condition that says which generation of its holder it is about."""
        declared = self._kind(claim.holder.kind).status
        if declared is None or declared.condition_type is None or condition_of(claim.item) is None:
            return False
        return OBSERVED in declared.condition_type.__struct_fields__

    def fact(self, fact: Fact) -> tuple[Fact, int]:
        """The fact with a frozen value."""
        if self._kind(fact.kind).stored:
            raise InvalidOutput(f"{fact.kind} is stored, so it is no fact; facts are declared with `stored: false`")
        value = freeze(fact.value)
        try:
            hash(value)
            return Fact(fact.kind, fact.name, value), len(_ENCODER.encode(value))
        except (TypeError, NotImplementedError, msgspec.MsgspecError) as error:
            raise InvalidOutput(f"fact {fact.kind} {fact.name}: {error}") from None

    def _value(self, kind: Kind, name: Name, field: str, value: Any) -> tuple[Any, int]:
        codec = self._properties.get((kind.name, field)) or self._property_codec(kind, field)
        result, size = codec.convert(value, name, field)
        if field == METADATA and kind.written_as_manifests and claimed_part(result) != result:
            raise InvalidOutput(f"{name}: {field}: a claim sets {' and '.join(CLAIMED)}; leave out the others")
        return result, size

    def _property_codec(self, kind: Kind, field: str) -> _Codec:
        head, _, inner = field.partition(".")
        if field in kind.properties:
            declared = kind.types.field(kind.properties[field].spec)
        elif kind.written_as_manifests and field in _OF_MANIFESTS:
            declared = _OF_MANIFESTS[field]
        elif inner and head in kind.properties and inner in kind.properties[head].compiler_parts:
            spec = kind.properties[head].spec
            for step in inner.split("."):
                spec = kind.types.fields(spec.type)[step]
            declared = kind.types.field(spec)
        else:
            raise InvalidOutput(f"{kind.name} has no property {field!r}{suggestion(field, kind.properties)}")
        codec = self._properties[kind.name, field] = _codec(*declared)
        return codec


def _codec(python_type: Any, default: Any) -> _Codec:
    twin = _strict(python_type)
    return _Codec(
        msgspec.json.Decoder(twin, dec_hook=decode_hook) if twin != python_type else None,
        msgspec.json.Decoder(python_type, dec_hook=decode_hook),
        default,
    )


def _strict(python_type: Any) -> Any:
    """A twin of a schema's type that rejects unknown fields at every depth."""
    if isinstance(python_type, type) and issubclass(python_type, Value):
        twin = _TWINS.get(python_type)
        if twin is None:
            fields = [(f.name, _strict(f.type), f.default) for f in msgspec.structs.fields(python_type)]
            twin = msgspec.defstruct(python_type.__name__, fields, forbid_unknown_fields=True, frozen=True, gc=False)
            _TWINS[python_type] = twin
        return twin
    if typing.get_origin(python_type) is tuple:
        return tuple[_strict(typing.get_args(python_type)[0]), ...]  # type: ignore[misc]
    if isinstance(python_type, types.UnionType):
        alternatives = [_strict(one) for one in typing.get_args(python_type)]
        return typing.Union[tuple(alternatives)]  # noqa: UP007
    return python_type


def _name_size(name: Name) -> int:
    size = 0
    for part in name.fq_name:
        if not part or not isinstance(part, str):
            raise InvalidOutput(f"{name.kind} {name.fq_name!r}: every element of a name is a string that isn't empty")
        size += len(part)
    if not size:
        raise InvalidOutput(f"a {name.kind} without a name")
    return size
