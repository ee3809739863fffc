"""``view.metadata``: the labels, annotations, generation … of a resource, each part a recorded read of its own.

Why it exists: a cluster writes to metadata all the time (heartbeats in annotations, labels of other tools). An intent
that reads one annotation must run again when that one changes, and not for another (docs/engine.md §3.1).
``model/metadata.py`` has the stored form.

It reads through the context, which records each part. State: a map that was read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from intentc.model import Key
from intentc.model.metadata import BY_KEY, FIELDS

if TYPE_CHECKING:
    from .context import Context


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
        """Those of users: our own mark is not among them."""
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
