"""Finds stored resources that were written in an older version of their kind, or that the schema can't read.

Why it exists: ``migrate`` writes the older ones anew, and ``check --live`` reports what a schema would make of them
before a compiler runs with it. It reads the values in etcd, since the API server answers in the present version.

It reads etcd and changes nothing but what the schema's kinds have lost (``retained/known_fields.py``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from intentc.loading.configuration import Configuration
    from intentc.model import Kind, Schema
    from intentc.watch.protocol import Store

_PAGE = 1_000


class Entry(NamedTuple):
    """A stored resource of another version than the present one. ``version``: that version, empty if unknown.
    ``fault``: why the schema can't read it, ``reason``: in one word; empty if it can."""

    kind: str
    uuid: str
    name: str
    version: str
    fault: str = ""
    reason: str = ""


async def older_entries(
    store: Store, configuration: Configuration, schema: Schema, kinds: Iterable[Kind]
) -> AsyncIterator[Entry]:
    """Yield the resources of ``kinds`` that are stored in an older version, or that can't be read, by key. Raises
    ``Failure``."""
    from intentc.model import Change, InvalidInput, escaped_segment
    from intentc.retained import KnownFields
    from intentc.watch.protocol import prefix_end

    await KnownFields(store, schema, installation=configuration.intentc.installation).load()
    for kind in kinds:
        prefix = start = f"/{configuration.etcd.path}/{kind.name}/"
        more = kind.stored
        while more:
            page = await store.range(start, prefix_end(prefix), limit=_PAGE)
            for item in page.items:
                uuid = escaped_segment(item.key.removeprefix(prefix))
                name, version = _identity(kind, item.value)
                try:
                    kind.decode(Change(kind.name, uuid, item.value, item.create_revision, item.mod_revision))
                except InvalidInput as error:
                    yield Entry(kind.name, uuid, name or uuid, version, error.message, error.reason)
                    continue
                if kind.versions.is_older(item.value) and version != kind.versions.current:
                    yield Entry(kind.name, uuid, name or uuid, version)
            more = page.more
            start = page.items[-1].key + "\0" if page.items else start


def _identity(kind: Kind, raw: bytes) -> tuple[str, str]:
    """The name and the version of a value, as far as it has them."""
    try:
        document = msgspec.json.decode(raw)
        fq_name = document.get("fq_name") or ()
        return ":".join(map(str, fq_name)), kind.versions.version_of(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, AttributeError, TypeError):
        return "", ""
