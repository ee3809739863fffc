"""Says which kinds are mirrored from a cluster, and how clusters name them.

These are the stored kinds that people write as manifests, in the schemas of the compilers in use; settings may choose
some of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from intentc.model import InvalidInput, Kind, Schema

from .discovery import ManifestKind

NEVER = frozenset({"manifest", "observed"})
"""Kinds for what compilers want of a cluster: they are in etcd only."""


def mirrored_kinds(schema: Schema, chosen: Collection[str] = ()) -> tuple[Kind, ...]:
    """The kinds of ``schema`` to mirror; only the ``chosen`` ones unless that is empty. Raises ``InvalidInput`` for a
    chosen one that can't be mirrored."""
    kinds = {kind.name: kind for kind in _possible(schema.kinds.values())}
    for name in chosen:
        if name not in kinds:
            raise InvalidInput(
                f"{name!r} can't be mirrored; the kinds are {', '.join(sorted(kinds))}",
                source="intentc.kubernetes.kinds",
                reason="InvalidConfiguration",
            )
    return tuple(kind for name, kind in sorted(kinds.items()) if not chosen or name in chosen)


def manifest_kind(kind: Kind) -> ManifestKind:
    """How clusters name a kind."""
    shape = kind.manifests
    return ManifestKind(shape.kind, tuple(shape.versions) or (shape.preferred,))


def _possible(kinds: Iterable[Kind]) -> Iterable[Kind]:
    return (kind for kind in kinds if kind.written_as_manifests and kind.stored and kind.name not in NEVER)
