"""Finds fields of stored resources that an earlier schema of their kind declared, and the present one does not.

A field that no schema ever declared is not ours: Contrail's API server stores many, and manifests of opaque kinds have
some. A field that was declared, and no longer is, held a value from which outputs followed; ignoring it would change or
delete these. ``retained/known_fields.py`` keeps the names of declared fields in etcd; ``logic/decoding.py`` holds
resources that have a lost field.

Fields are paths with dots; lists add no step. Fields that compilers write are left out: they are written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model.kind import Kind, Writer
from intentc.model.types import SCALARS, FieldSpec

_FREE = frozenset({"map", "opaque"})
_UNSET: tuple[Any, ...] = (None, "", [], {})


def known_fields(kind: Kind) -> frozenset[str]:
    """Every field that others than compilers may write, at each depth."""
    found = set(_relations(kind))
    for name, declared in kind.properties.items():
        if declared.writer is not Writer.COMPILER:
            found |= set(_below(kind, name, declared.spec))
    return frozenset(found)


class LostFields(NamedTuple):
    """The fields of one kind that an earlier schema declared. ``traces``: bytes one of which each value has that has a
    lost field."""

    paths: tuple[tuple[str, ...], ...]
    traces: frozenset[bytes]

    def found_in(self, kind: Kind, raw: bytes) -> list[str]:
        """The lost fields of a stored resource that have a value, after its conversion to the present version."""
        if not any(trace in raw for trace in self.traces):
            return []
        document = kind.stored_form(msgspec.json.decode(raw))
        return sorted(".".join(path) for path in self.paths if _has(document, path))

    def message(self, kind: Kind, fields: list[str]) -> str:
        """What is wrong with a resource that has lost ``fields``, and what to do."""
        return (
            f"{', '.join(fields)}: an earlier schema of {kind.name} declared this, the present one does not; nothing "
            "is compiled from it, and its outputs stay. Say in `versions` where the field moved, or that it is dropped "
            f"(`{fields[0]}: null`), or declare it again (docs/authoring.md)"
        )


def lost_fields(kind: Kind, recorded: Iterable[str]) -> LostFields | None:
    """The ``recorded`` fields that the present schema of ``kind`` lacks; None if it has all of them. Only the outermost
    field of a lost part counts."""
    known, free = known_fields(kind) | _written(kind), frozenset(_free(kind))
    lost: set[str] = set()
    for field in sorted(recorded):
        steps = field.split(".")
        outer = {".".join(steps[:length]) for length in range(1, len(steps))}
        if field not in known and not outer & free and not outer & lost:
            lost.add(field)
    if not lost or (kind.opaque and not kind.written_as_manifests):
        return None
    paths = tuple(tuple(field.split(".")) for field in sorted(lost))
    return LostFields(paths, frozenset(f'"{path[-1]}"'.encode() for path in paths))


def _relations(kind: Kind) -> Iterator[str]:
    return (f"{one.name}_refs" for one in kind.relations.values() if one.writer is not Writer.COMPILER)


def _written(kind: Kind) -> frozenset[str]:
    """What compilers write now: it is not lost, whoever wrote it before."""
    properties = (name for name, declared in kind.properties.items() if declared.writer is Writer.COMPILER)
    relations = (f"{one.name}_refs" for one in kind.relations.values() if one.writer is Writer.COMPILER)
    return frozenset((*properties, *relations))


def _below(kind: Kind, path: str, spec: FieldSpec) -> Iterator[str]:
    yield path
    for name, inner in _fields(kind, spec).items():
        yield from _below(kind, f"{path}.{name}", inner)


def _free(kind: Kind) -> Iterator[str]:
    """The fields that may hold anything, and those that compilers write as a whole."""
    yield from _written(kind)
    waiting = [(name, declared.spec) for name, declared in kind.properties.items()]
    while waiting:
        path, spec = waiting.pop()
        if (spec.list or spec.type) in _FREE:
            yield path
        waiting += [(f"{path}.{name}", inner) for name, inner in _fields(kind, spec).items()]


def _fields(kind: Kind, spec: FieldSpec) -> Mapping[str, FieldSpec]:
    name = spec.list or spec.type
    return {} if name in SCALARS else kind.types.fields(name)


def _has(value: Any, path: tuple[str, ...]) -> bool:
    """Whether a field at ``path`` has a value, in any element of the lists on the way."""
    if isinstance(value, list):
        return any(_has(element, path) for element in value)
    if not path:
        return value not in _UNSET
    return isinstance(value, dict) and path[0] in value and _has(value[path[0]], path[1:])
