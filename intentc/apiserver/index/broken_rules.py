"""Names the stored values that break a rule of the API server, which others must have written straight into etcd.

Why it exists: such a value is answered in part or not at all, and nothing else says which keys it concerns. ``intentc
check --live`` prints the result. Entries of the index that differ are found, too; a running API server corrects them.

It reads etcd and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import anyio.lowlevel

from intentc.model import Key, Name, Schema
from intentc.model.events import Change
from intentc.watch.keys import Layout as Keys
from intentc.watch.listing import list_all
from intentc.watch.protocol import Store

from ..documents import decode, relationships
from ..errors import Malformed
from ..layout import CHILD, Layout
from .entries import suspects

_BETWEEN_CHECKPOINTS = 50
ERROR, WARNING, NOTE = "error", "warning", "note"


class Broken(NamedTuple):
    """A broken rule: the key in etcd that breaks it, how bad that is, a CamelCase word, and what to do."""

    where: str
    severity: str
    reason: str
    message: str


async def broken_rules(store: Store, schema: Schema, path: str) -> list[Broken]:
    """All broken rules below ``/<path>/``, in the order of the keys. Raises ``Failure``."""
    layout = Layout(path)
    foreign: list[str] = []
    listing = await list_all(store, Keys.of(f"/{layout.path}/"), foreign.append)
    found = _Rules(schema, layout)
    changes = listing.snapshot.changes
    for count, change in enumerate(changes):
        if count % _BETWEEN_CHECKPOINTS == 0:
            await anyio.lowlevel.checkpoint()
        found.add(change)
    of_names = list(found.of_names())
    differing = await suspects(store, schema, layout, changes)
    unindexed = [
        Broken(
            layout.value(key),
            WARNING,
            "NotIndexed",
            "its index entries differ from its value; a running API server corrects them",
        )
        for key in differing
        if not found.explains(key)
    ]
    strange = [
        Broken(_printable(key), NOTE, "OtherKey", "the key names no kind and uuid; nothing reads it") for key in foreign
    ]
    return sorted({*found.of_values, *of_names, *found.of_targets(), *unindexed, *strange})


class _Rules:
    """What was listed, and what is wrong with single values."""

    def __init__(self, schema: Schema, layout: Layout) -> None:
        self.of_values: list[Broken] = []
        self._schema = schema
        self._layout = layout
        self._names: dict[Name, list[tuple[int, Key]]] = {}
        self._uuids: dict[str, list[tuple[int, Key]]] = {}
        self._targets: dict[Key, list[tuple[Key, str]]] = {}
        self._stored: set[Key] = set()
        self._rivals: set[Key] = set()

    def add(self, change: Change) -> None:
        """Check one value."""
        key = Key(change.kind, change.uuid)
        kind = self._schema.kinds.get(key.kind)
        self._stored.add(key)
        if kind is None or not kind.stored or change.value is None:
            self._broken(key, NOTE, "UnknownKind", f"no configured compiler declares the kind {key.kind}")
            return
        try:
            document = decode(kind, change.value, _printable(self._layout.value(key)), key.uuid)
        except Malformed as error:
            self._broken(key, ERROR, "Unreadable", error.message)
            return
        name = Name(key.kind, tuple(document["fq_name"]))
        self._names.setdefault(name, []).append((change.create_revision, key))
        self._uuids.setdefault(key.uuid, []).append((change.create_revision, key))
        for relationship, _ in relationships(kind, document):
            self._targets.setdefault(relationship.target, []).append((key, relationship.sort))

    def explains(self, key: Key) -> bool:
        """Whether the entries of a resource differ because of a name or uuid that another one has (``of_names``)."""
        return key in self._rivals

    def of_names(self) -> Iterator[Broken]:
        """Names and uuids that several resources have."""
        for name, holders in self._names.items():
            yield from self._shared(holders, "DuplicateName", f"the name {':'.join(name.fq_name)}")
        for uuid, holders in self._uuids.items():
            yield from self._shared(holders, "DuplicateUuid", f"the uuid {uuid}")

    def of_targets(self) -> Iterator[Broken]:
        """Parents and references that don't exist."""
        for target, holders in self._targets.items():
            if target in self._stored:
                continue
            for key, sort in holders:
                reason, what = ("DanglingParent", "parent") if sort == CHILD else ("DanglingReference", "reference")
                message = f"its {what} {target} does not exist; write that one, or delete this one"
                yield Broken(_printable(self._layout.value(key)), ERROR, reason, message)

    def _shared(self, holders: Sequence[tuple[int, Key]], reason: str, what: str) -> Iterator[Broken]:
        (_, oldest), *others = sorted(holders)
        for _, key in others:
            self._rivals.add(key)
            message = f"{oldest} has {what} for longer and keeps it; rename or delete this one"
            yield Broken(_printable(self._layout.value(key)), ERROR, reason, message)

    def _broken(self, key: Key, severity: str, reason: str, message: str) -> None:
        self.of_values.append(Broken(_printable(self._layout.value(key)), severity, reason, message))


def _printable(key: str) -> str:
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
