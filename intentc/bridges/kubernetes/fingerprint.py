"""Recognizes an object of the cluster whose declared fields are those of the last event, without building its copy.

Why it exists: most events change only what no schema declares (a pod's heartbeat, ``managedFields``), and to decode an
object, flatten and encode it costs five times as much as to look for its declared fields. Equal fingerprints mean equal
copies; other ones mean nothing: a field that is written in another way has another fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import msgspec

from intentc.model import Kind
from intentc.model.metadata import FIELDS, METADATA
from intentc.model.status import STATUS
from intentc.model.types import SCALARS, FieldSpec, TypeTable

Fingerprint = Callable[[bytes, str], bytes]
"""Of an object's JSON, in an apiVersion: 16 bytes. Empty for an object of which none can be made."""

_ABSENT = msgspec.Raw(b"null")
_ENCODER = msgspec.json.Encoder()


def fingerprint_of(kind: Kind) -> Fingerprint:
    """How objects of a kind are recognized. If compilers claim its status, or functions convert its versions, more than
    the declared fields decides what its copy is: such objects have no fingerprint."""
    is_claimed = kind.status is not None and not kind.status.is_input
    if is_claimed or kind.manifests.conversions:
        return _none
    fields: list[tuple[str, Any, Any]] = [
        (METADATA, _raw("metadata", dict.fromkeys(("name", "namespace", "uid", *FIELDS))), ...),
        *((name, msgspec.Raw, _ABSENT) for name in sorted({"spec", *kind.properties} - {METADATA, STATUS})),
    ]
    if kind.status is not None:
        fields.append((STATUS, _of_type(kind.types, kind.status.type_name) | None, None))
    decoder = msgspec.json.Decoder(_struct(kind.name, fields))

    def fingerprint(body: bytes, version: str) -> bytes:
        try:
            found = _ENCODER.encode(decoder.decode(body))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return b""
        return blake2b(found, digest_size=16, key=version.encode()[:64]).digest()

    return fingerprint


def _none(body: bytes, version: str) -> bytes:
    return b""


@lru_cache(maxsize=4096)
def _of_type(types: TypeTable, name: str) -> Any:
    return _raw(name, {field: _nested(spec, types) for field, spec in types.fields(name).items()})


def _nested(spec: FieldSpec, types: TypeTable) -> Any:
    name = spec.list or spec.type
    if name in SCALARS:
        return None
    return list[_of_type(types, name)] if spec.list else _of_type(types, name)  # type: ignore[misc]


def _raw(name: str, fields: Mapping[str, Any]) -> Any:
    """A struct of these fields: each with the given type, None for what is compared as it is written."""
    return _struct(name, [(field, msgspec.Raw if of is None else of | None, _ABSENT if of is None else None)
                          for field, of in fields.items()])  # fmt: skip


def _struct(name: str, fields: list[tuple[str, Any, Any]]) -> Any:
    return msgspec.defstruct(name, [one[:2] if one[2] is ... else one for one in fields], gc=False)
