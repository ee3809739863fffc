"""A resource as the cache keeps it: identity, links, and the bytes as written.

Decoded once on arrival, for validation (``kind.py``), then kept small: values are decoded again on each read
(docs/engine.md §2.1), except those of the last arrivals, which are evaluated or planned next. The kind compares inputs,
since the schema says which fields are input.

State: the decoded values of the last arrivals.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from intentc.model.names import Key, Name
from intentc.model.ownership import Mark

if TYPE_CHECKING:
    from intentc.model.kind import Kind


class Link(NamedTuple):
    """One outgoing relation of a resource, as written: whether the target exists is not known here.

    ``relation``: ``parent``, a reference's or a mention's name. ``kind``: the target's. ``by``/``value``: where and
    under which wanted value the target is looked up (``uuid``, ``fq_name``, or a resolver's index)."""

    relation: str
    kind: str
    by: str
    value: str


class Reference(NamedTuple):
    """One stored reference of a resource: relation, the target's uuid (may be empty), its fq_name (may be empty), and
    the attribute (struct, or None if the relation has none)."""

    relation: str
    uuid: str
    to: tuple[str, ...]
    attribute: Any


class Resource:
    """One resource at one revision; immutable. ``values``: its fields, if they were decoded just now."""

    __slots__ = (
        "_values",
        "create_revision",
        "fq_name",
        "key",
        "kind",
        "links",
        "mark",
        "mod_revision",
        "parent",
        "raw",
    )

    def __init__(
        self,
        kind: Kind,
        key: Key,
        fq_name: tuple[str, ...],
        parent: Key | None,
        links: tuple[Link, ...],
        mark: Mark | None,
        raw: bytes,
        create_revision: int,
        mod_revision: int,
        values: Any = None,
    ) -> None:
        self.kind = kind
        self.key = key
        self.fq_name = fq_name
        self.parent = parent
        self.links = links
        self.mark = mark
        self.raw = raw
        self.create_revision = create_revision
        self.mod_revision = mod_revision
        self._values = values
        if values is not None:
            _ARRIVALS.keep(self)

    @property
    def name(self) -> Name:
        return Name(self.key.kind, self.fq_name)

    @property
    def is_being_deleted(self) -> bool:
        """Whether it was deleted and waits for its finalizers (docs/engine.md §14.3)."""
        if not self.kind.written_as_manifests or b'"deletionTimestamp"' not in self.raw:
            return False
        return bool(self.values().metadata.deletionTimestamp)

    def values(self) -> Any:
        """The fields as a frozen struct of the kind's ``values_type``; mostly decoded at each call, so keep the result
        while you need it."""
        values = self._values
        return values if values is not None else self.kind.decode_values(self.raw, self.key.uuid)

    def references(self, relation: str) -> tuple[Reference, ...]:
        """The stored references of one relation, in their stored order."""
        return self.kind.references_of(self.values(), relation)

    def offers(self, index: str) -> tuple[str, ...]:
        """The values that this resource offers in one of its kind's indexes."""
        return self.kind.offers(self, index)

    def __repr__(self) -> str:
        return f"<Resource {self.key} {':'.join(self.fq_name)} @{self.mod_revision}>"


_DECODED_BYTES = 1_000_000
"""Of JSON, of which the values are kept: what arrives in a burst. Decoded they take two to four times as much."""


class _Arrivals:
    """The resources that arrived last, with their values."""

    def __init__(self) -> None:
        self._resources: deque[Resource] = deque()
        self._size = 0

    def keep(self, resource: Resource) -> None:
        """Let this one keep its values; the first ones lose theirs where all take too much."""
        self._resources.append(resource)
        self._size += len(resource.raw)
        while self._size > _DECODED_BYTES:
            first = self._resources.popleft()
            self._size -= len(first.raw)
            first._values = None


_ARRIVALS = _Arrivals()
