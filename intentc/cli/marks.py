"""Lists the objects that carry our mark, from etcd, with the change that removes it.

Why from etcd: only etcd returns their revisions with them. Why apart from the package ``planning``: this module reads
values leniently, since an object with other unreadable fields can still be released. The command decides what to do
with the objects.

It reads etcd, and prints on stderr what it can't read.

Touches: etcd, terminal.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from .directives import picked

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.model import Kind
    from intentc.watch.protocol import Store

    from .client import Change

_PAGE = 500


class Marked(NamedTuple):
    """An object with our mark. ``others``: its other annotations."""

    kind: str
    uuid: str
    fq_name: tuple[str, ...]
    revision: int
    others: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        return ":".join(self.fq_name)

    @property
    def without_mark(self) -> Change:
        """The change that removes the mark, provided that nobody wrote the object meanwhile."""
        from .client import Change

        data = {"uuid": self.uuid, "fq_name": self.fq_name, "annotations": {"key_value_pair": self.others}}
        return Change("UPDATE", self.kind, data, self.revision)


class _Annotations(msgspec.Struct):
    key_value_pair: tuple[dict[str, Any], ...] | None = None


class _Annotated(msgspec.Struct):
    fq_name: tuple[str, ...] = ()
    annotations: _Annotations | None = None


async def marked_objects(store: Store, configuration: Configuration, kind: Kind, name: str | None) -> list[Marked]:
    """The objects of ``kind`` that carry our mark; only those named ``name`` if it is given. Unreadable ones are
    reported on stderr and left out."""
    prefix = f"/{configuration.etcd.path}/{kind.name}/"
    found = [marked async for marked in _read(store, prefix, kind.name, configuration.intentc.installation)]
    return picked(name, [(m.uuid, m.fq_name, m) for m in found]) if name else found


async def _read(store: Store, prefix: str, kind: str, installation: str) -> AsyncIterator[Marked]:
    from intentc.model import MARK_KEY, Mark, escaped_segment
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
            marks = [Mark.parse(str(pair.get("value"))) for pair in pairs if pair.get("key") == MARK_KEY]
            if any(mark is not None and mark.installation == installation for mark in marks):
                others = tuple(pair for pair in pairs if pair.get("key") != MARK_KEY)
                yield Marked(
                    kind, escaped_segment(item.key.removeprefix(prefix)), value.fq_name, item.mod_revision, others
                )
        more = page.more
        start = page.items[-1].key + "\0" if page.items else start
