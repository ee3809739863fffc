"""Lists the objects that carry our mark, or carried it until they were released, with the change that moves it.

Why from etcd: only etcd returns their revisions with them. Why apart from the package ``planning``: this module reads
values leniently, since an object with other unreadable fields can still be released. The command decides what to do
with the objects.

It reads etcd, and prints on stderr what it can't read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from intentc.model.ownership import MARK_KEY, RELEASED_KEY

from .directives import picked

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.model import Kind, Mark
    from intentc.watch.protocol import Store

    from .client import Change

_PAGE = 500


class Marked(NamedTuple):
    """An object with our ``mark``, or that had it. ``others``: its other annotations."""

    kind: str
    uuid: str
    fq_name: tuple[str, ...]
    revision: int
    others: tuple[dict[str, Any], ...]
    mark: Mark

    @property
    def name(self) -> str:
        return ":".join(self.fq_name)

    @property
    def is_made_by_us(self) -> bool:
        """Whether the uuid is the one that the mark gives. A copy, or an object that was made again, has another."""
        from intentc.model import Name
        from intentc.model.ownership import is_made_by

        return is_made_by(self.mark.installation, self.mark, Name(self.kind, self.fq_name), self.uuid)

    def moved_to(self, key: str) -> Change:
        """The change that keeps the mark as the annotation ``key`` alone, provided that nobody wrote the object
        meanwhile."""
        from .client import Change

        pairs = (*self.others, {"key": key, "value": str(self.mark)})
        data = {"uuid": self.uuid, "fq_name": self.fq_name, "annotations": {"key_value_pair": pairs}}
        return Change("UPDATE", self.kind, data, self.revision)


class _Annotations(msgspec.Struct):
    key_value_pair: tuple[dict[str, Any], ...] | None = None


class _Annotated(msgspec.Struct):
    fq_name: tuple[str, ...] = ()
    annotations: _Annotations | None = None


async def marked_objects(
    store: Store, configuration: Configuration, kind: Kind, name: str | None, key: str = MARK_KEY
) -> list[Marked]:
    """The objects of ``kind`` whose annotation ``key`` is our mark; only those named ``name`` if it is given.
    Unreadable ones are reported on stderr and left out."""
    prefix = f"/{configuration.etcd.path}/{kind.name}/"
    found = [marked async for marked in _read(store, prefix, kind.name, configuration.intentc.installation, key)]
    return picked(name, [(m.uuid, m.fq_name, m) for m in found]) if name else found


async def _read(store: Store, prefix: str, kind: str, installation: str, key: str) -> AsyncIterator[Marked]:
    from intentc.model import Mark, escaped_segment
    from intentc.watch.protocol import prefix_end

    start, more = prefix, True
    while more:
        page = await store.range(start, prefix_end(prefix), limit=_PAGE)
        for item in page.items:
            try:
                value = msgspec.json.decode(item.value, type=_Annotated)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                click.echo(
                    f"{prefix}{escaped_segment(item.key.removeprefix(prefix))} can't be read, and stays as it is",
                    err=True,
                )
                continue
            pairs = (value.annotations.key_value_pair if value.annotations else None) or ()
            marks = [Mark.parse(str(pair.get("value"))) for pair in pairs if pair.get("key") == key]
            own = next((mark for mark in marks if mark is not None and mark.installation == installation), None)
            if own is not None:
                uuid = escaped_segment(item.key.removeprefix(prefix))
                others = tuple(pair for pair in pairs if pair.get("key") not in {MARK_KEY, RELEASED_KEY})
                yield Marked(kind, uuid, value.fq_name, item.mod_revision, others, own)
        more = page.more
        start = page.items[-1].key + "\0" if page.items else start
