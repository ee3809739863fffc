"""Knows what etcd holds of manifests, and of what bridges have answered to them.

Why apart: the reconciler decides by names, and etcd shows keys, in any order, deletions without a value included.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key
from intentc.outgoing import MANIFEST, OBSERVED, Target, Wanted, mark_of, target_of, wanted_of

_LOG = logging.getLogger(__name__)

FqName = tuple[str, ...]
"""The fq_name of a manifest, which its answer and its object share (``outgoing.name_of``)."""


class Manifest(NamedTuple):
    """A stored manifest. ``owner``: the uuid of the resource from which it follows, or empty; ``revision``: of etcd."""

    key: Key
    target: Target
    wanted: Wanted
    phase: int
    owner: str
    finalizers: tuple[str, ...]
    revision: int


class Answer(NamedTuple):
    """A stored ``observed``, as JSON."""

    key: Key
    fields: dict[str, Any]
    revision: int


class StoredManifests:
    """The manifests of one installation, by fq_name."""

    def __init__(self, installation: str) -> None:
        self.manifests: dict[FqName, Manifest] = {}
        self.answers: dict[FqName, Answer] = {}
        self._installation = installation
        self._names: dict[Key, FqName] = {}

    def stored(self, key: Key, value: bytes | None, revision: int) -> Iterator[FqName]:
        """Note what etcd holds under a key, None: nothing; returns the names that it concerns. A value that can't be
        read changes nothing."""
        former = self._names.get(key)
        held: dict[FqName, Any] = self.manifests if key.kind == MANIFEST else self.answers
        if value is None:
            self._names.pop(key, None)
            if former is not None and held[former].key == key:
                del held[former]
                yield former
            return
        try:
            fields = msgspec.json.decode(value)
            name = tuple(str(part) for part in fields["fq_name"])
            held[name] = (
                self._manifest(key, fields, revision) if key.kind == MANIFEST else Answer(key, fields, revision)
            )
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError, TypeError, AttributeError) as error:
            _LOG.warning("%s can't be read, its object stays as it is: %s", key, error)
            return
        self._names[key] = name
        yield name

    def answer(self, name: FqName) -> dict[str, Any] | None:
        """The stored ``observed`` of a manifest; None if there is none."""
        found = self.answers.get(name)
        return found.fields if found is not None else None

    def _manifest(self, key: Key, fields: dict[str, Any], revision: int) -> Manifest:
        wanted = wanted_of(fields, self._installation)
        mark = mark_of(fields)
        finalizers = tuple((fields.get("metadata") or {}).get("finalizers") or ())
        target = target_of(wanted.body)
        return Manifest(
            key, target, wanted, int(fields.get("phase") or 0), mark.origin if mark else "", finalizers, revision
        )


FOLLOWED = frozenset({MANIFEST, OBSERVED})
"""The kinds that ``StoredManifests`` takes."""
