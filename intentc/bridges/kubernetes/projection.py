"""Builds the copy of a cluster's object from its declared fields, and digests what objects and stored copies say.

Why it exists: most of an object concerns nobody here (a pod's status, ``managedFields``), and most events change only
that: they must not reach etcd. What is stored is what the schema declares, at any depth, in the flat form of
``model/manifest.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from intentc.model import Kind, Writer
from intentc.model.manifest import flattened
from intentc.model.metadata import FIELDS, METADATA, METADATA_SPEC, TYPES
from intentc.model.status import STATUS_CLAIMS
from intentc.model.types import SCALARS, FieldSpec, TypeTable
from intentc.model.values import without_nulls

from .fingerprint import fingerprint_of
from .mirror import Stored, Wanted
from .status_patch import live_of, written_status
from .wire import Identity

_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder(order="sorted")
_METADATA_TYPES = TypeTable(TYPES, METADATA)
_STATUS = "status"
_MIRRORED = "mirrored"
_MANAGED_FIELDS = "managedFields"

_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError, AttributeError)


class _Copy(msgspec.Struct):
    metadata: dict[str, Any]
    fq_name: Any = None


Prune = Callable[[Any], Any]
"""Returns a value without what is not declared; it may return the value itself."""


class Projector:
    """The declared fields of one kind. ``finalizers``: those that are our compilers', which no cluster decides;
    ``installation``: in whose name compilers claim a status."""

    def __init__(self, kind: Kind, finalizers: frozenset[str] = frozenset(), installation: str = "") -> None:
        self._kind = kind
        self._finalizers = finalizers
        self._installation = installation
        self._prunes = {
            name: _pruning(declared.spec, kind.types)
            for name, declared in kind.properties.items()
            if declared.writer is Writer.USER and name != _STATUS
        }
        self._claimed = kind.status if kind.status is not None and not kind.status.is_input else None
        if kind.status is not None and self._claimed is None:
            self._prunes[_STATUS] = _of_type(kind.types, kind.status.type_name)
        self._prunes[METADATA] = _pruning(METADATA_SPEC, _METADATA_TYPES)
        self.fingerprint = fingerprint_of(kind)

    def wanted(self, body: bytes, version: str) -> Wanted:
        """The copy that is to be stored of a manifest of the apiVersion ``version``, which the items of a list need not
        name. Raises ``msgspec.MsgspecError`` for one that is none."""
        manifest = _DECODER.decode(body)
        if not isinstance(manifest, dict):
            raise msgspec.ValidationError("Expected `object`")
        if isinstance(metadata := manifest.get(METADATA), dict):
            # Never stored, and half of what a typical object says: the rest is worth walking through.
            metadata.pop(_MANAGED_FIELDS, None)
        status = manifest.pop(_STATUS, None)
        flat = flattened({"apiVersion": version, **manifest}, self._kind.manifests)
        if self._claimed is None and status:
            flat[_STATUS] = status
        said = self._said(flat)
        document = {**said, "uuid": flat.get("uuid", "")}
        if finalizers := (flat.get(METADATA) or {}).get("finalizers"):
            # Ours as well: a copy that is made anew takes them along, and an older one keeps its own.
            document[METADATA] = {**document[METADATA], "finalizers": finalizers}
        if self._claimed is not None and status and (written := written_status(live_of(body), self._claimed)):
            # As with finalizers: a copy that is made anew has what compilers had claimed.
            document[_STATUS], document[STATUS_CLAIMS] = written.status, {self._installation: list(written.items)}
        return Wanted(identity_of(flat["fq_name"]), _digest(said), _ENCODER.encode(document))

    def stored(self, raw: bytes, revision: int) -> Stored | None:
        """What etcd holds under a key; None for a value of which nothing can be read. A copy that can't be read as its
        kind has an empty digest, which no object has: it is replaced, or deleted with its object."""
        try:
            document = self._kind.stored_form(without_nulls(_DECODER.decode(raw)))
            metadata = document.get(METADATA) or {}
            name = [str(part) for part in document["fq_name"]]
            return Stored(identity_of(name), _digest(self._said(document)), bool(metadata.get(_MIRRORED)), revision)
        except _UNREADABLE:
            return _unreadable_copy(raw, revision)

    def _said(self, flat: Mapping[str, Any]) -> dict[str, Any]:
        """What a resource in its flat form says, as far as clusters decide it."""
        said: dict[str, Any] = {"fq_name": flat["fq_name"], "api_version": flat.get("api_version", "")}
        for name, prune in self._prunes.items():
            if name in flat:
                said[name] = prune(flat[name])
        metadata = said.get(METADATA)
        if metadata is not None:
            kept = {field: metadata[field] for field in FIELDS if field != _MIRRORED and metadata.get(field)}
            others = [name for name in kept.pop("finalizers", ()) if name not in self._finalizers]
            said[METADATA] = {**kept, "finalizers": others} if others else kept
        return said


def _unreadable_copy(raw: bytes, revision: int) -> Stored | None:
    """A value that is not of its kind, as far as it says that a bridge wrote it."""
    try:
        found = msgspec.json.decode(raw, type=_Copy)
    except _UNREADABLE:
        return None
    if not found.metadata.get(_MIRRORED):
        return None
    return Stored(identity_of(found.fq_name if isinstance(found.fq_name, list) else []), b"", True, revision)


def identity_of(fq_name: list[Any]) -> Identity:
    """The identity of an object with this fq_name: [namespace, name], or [name]."""
    return Identity(str(fq_name[0]) if len(fq_name) > 1 else "", str(fq_name[-1]) if fq_name else "")


def _digest(said: Mapping[str, Any]) -> bytes:
    return blake2b(_ENCODER.encode(said), digest_size=16).digest()


@lru_cache(maxsize=4096)
def _of_type(types: TypeTable, name: str) -> Prune:
    prunes = {field: _pruning(spec, types) for field, spec in types.fields(name).items()}

    def prune(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {field: prunes[field](inner) for field, inner in value.items() if field in prunes}

    return prune


def _pruning(spec: FieldSpec, types: TypeTable) -> Prune:
    name = spec.list or spec.type
    if name in SCALARS:
        return _whole
    of_element = _of_type(types, name)
    return _each(of_element) if spec.list else of_element


def _each(of_element: Prune) -> Prune:
    def prune(value: Any) -> Any:
        return [of_element(one) for one in value] if isinstance(value, list) else value

    return prune


def _whole(value: Any) -> Any:
    return value
