"""Keeps in etcd the names of the fields that the schemas of an installation have declared, so that none is lost unseen.

Under ``/intentc/<installation>/known-fields/<kind>`` stands a JSON list of paths (``model/lost_fields.py``): those of
the present schema, and of all before it. Compilers, plans, audits and checks read them before they decode anything; a
kind then rejects stored resources that have a field which its schema no longer declares, and they are held. The leader
adds the fields of its own schema once it begins to write.

State: ``load`` sets what the kinds of the schema have lost.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from intentc.model import InvalidInput, Schema
from intentc.model.lost_fields import known_fields, lost_fields
from intentc.reconcile.failures import Denied
from intentc.watch.protocol import Put, Store, prefix_end, unchanged

_LOG = logging.getLogger(__name__)


def known_fields_prefix(installation: str) -> str:
    """The prefix of the fields that an installation's schemas have declared."""
    return f"/intentc/{installation}/known-fields/"


class _Record(NamedTuple):
    """The known fields of a kind, and the revision at which they were written; 0: never."""

    fields: frozenset[str]
    revision: int


_NOTHING = _Record(frozenset(), 0)


class KnownFields:
    """Reads and writes the names of declared fields."""

    def __init__(self, store: Store, schema: Schema, *, installation: str) -> None:
        self._store = store
        self._schema = schema
        self._prefix = known_fields_prefix(installation)

    async def load(self) -> None:
        """Have the kinds of the schema reject resources with lost fields. Raises ``Failure``."""
        try:
            recorded = await self._recorded()
        except Denied as error:
            _LOG.warning("known fields can't be read: %s; grant the compiler's role %s", error, self._prefix)
            return
        for kind in self._schema:
            kind.lost = lost_fields(kind, recorded.get(kind.name, _NOTHING).fields)
            if kind.lost is not None:
                _LOG.warning(
                    "%s: an earlier schema declared %s, which this one does not; resources that have it are held",
                    kind.name,
                    ", ".join(map(".".join, kind.lost.paths)),
                )

    async def check(self) -> None:
        """Check that no other process has added lost fields since ``load``. Raises ``InvalidInput`` if one has: what
        this process decoded before may lack a value. Raises ``Failure``."""
        try:
            recorded = await self._recorded()
        except Denied:
            return
        for kind in self._schema:
            lost = lost_fields(kind, recorded.get(kind.name, _NOTHING).fields)
            if lost is not None and (new := sorted({*lost.paths} - {*(kind.lost.paths if kind.lost else ())})):
                raise InvalidInput(
                    f"a later leader's schema of {kind.name} declares {', '.join(map('.'.join, new))}, which this "
                    "process lacks; start it with the packages of that leader, or again to hold such resources",
                    source=self._prefix + kind.name,
                )

    async def record(self) -> None:
        """Add the fields of the present schema. Raises ``Failure``."""
        try:
            while not await self._add():
                pass  # another process has added fields since they were read
        except Denied as error:
            _LOG.warning("known fields can't be written: %s; grant the compiler's role %s", error, self._prefix)

    async def _add(self) -> bool:
        """Add what is missing; returns False if another process has written one of the records meanwhile."""
        recorded = await self._recorded()
        for kind in self._schema:
            key, fields = self._prefix + kind.name, known_fields(kind)
            before = recorded.get(kind.name, _NOTHING)
            if kind.stored and not fields <= before.fields:
                put = Put(key, msgspec.json.encode(sorted(before.fields | fields)))
                if not (await self._store.transaction([unchanged(key, before.revision)], [put])).succeeded:
                    return False
        return True

    async def load_and_record(self) -> None:
        """Do both, for a compiler that writes from its start on. Raises ``Failure``."""
        await self.load()
        await self.record()

    async def _recorded(self) -> Mapping[str, _Record]:
        """Kind → its record; in one that can't be read there are no fields."""
        found: dict[str, _Record] = {}
        for item in (await self._store.range(self._prefix, prefix_end(self._prefix))).items:
            fields: frozenset[str] = frozenset()
            try:
                fields = msgspec.json.decode(item.value, type=frozenset[str])
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                _LOG.warning("%s is ignored: %s", item.key, error)
            found[item.key.removeprefix(self._prefix)] = _Record(fields, item.mod_revision)
        return found
