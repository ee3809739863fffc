"""Keeps in etcd the names of the fields that the schemas of an installation have declared, so that none is lost unseen.

Under ``/intentc/<installation>/known-fields/<kind>`` stands a JSON list of paths (``model/known_fields.py``): those of
the present schema, and of all before it. Compilers, plans, audits and checks read them before they decode anything; a
kind then rejects stored resources that have a field which its schema no longer declares, and they are held. The leader
adds the fields of its own schema once it begins to write.

State: none; ``load`` sets what the kinds of the schema have lost.

Touches: etcd, logs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

import msgspec

from intentc.model import InvalidInput, Schema
from intentc.model.known_fields import known_fields, lost_fields
from intentc.watch.protocol import AccessDenied, Put, Store, prefix_end

_LOG = logging.getLogger(__name__)


def known_fields_prefix(installation: str) -> str:
    """The prefix of the fields that an installation's schemas have declared."""
    return f"/intentc/{installation}/known-fields/"


class KnownFields:
    """Reads and writes the names of declared fields."""

    def __init__(self, store: Store, schema: Schema, *, installation: str) -> None:
        self._store = store
        self._schema = schema
        self._prefix = known_fields_prefix(installation)

    async def load(self) -> None:
        """Have the kinds of the schema reject resources with lost fields. Raises ``StoreError``."""
        try:
            recorded = await self._recorded()
        except AccessDenied as error:
            _LOG.warning("known fields can't be read: %s; grant the compiler's role %s", error, self._prefix)
            return
        for kind in self._schema:
            kind.lost = lost_fields(kind, recorded.get(kind.name, ()))
            if kind.lost is not None:
                _LOG.warning(
                    "%s: an earlier schema declared %s, which this one does not; resources that have it are held",
                    kind.name,
                    ", ".join(map(".".join, kind.lost.paths)),
                )

    async def check(self) -> None:
        """Check that no other process has added lost fields since ``load``. Raises ``InvalidInput`` if one has: what
        this process decoded before may lack a value. Raises ``StoreError``."""
        try:
            recorded = await self._recorded()
        except AccessDenied:
            return
        for kind in self._schema:
            lost = lost_fields(kind, recorded.get(kind.name, ()))
            if lost is not None and (new := sorted({*lost.paths} - {*(kind.lost.paths if kind.lost else ())})):
                raise InvalidInput(
                    f"a later leader's schema of {kind.name} declares {', '.join(map('.'.join, new))}, which this "
                    "process lacks; start it with the packages of that leader, or again to hold such resources",
                    source=self._prefix + kind.name,
                )

    async def record(self) -> None:
        """Add the fields of the present schema. Raises ``StoreError``."""
        try:
            recorded = await self._recorded()
            for kind in self._schema:
                before, fields = recorded.get(kind.name, frozenset()), known_fields(kind)
                if kind.stored and not fields <= before:
                    value = msgspec.json.encode(sorted(before | fields))
                    await self._store.transaction([], [Put(self._prefix + kind.name, value)])
        except AccessDenied as error:
            _LOG.warning("known fields can't be written: %s; grant the compiler's role %s", error, self._prefix)

    async def load_and_record(self) -> None:
        """Do both, for a compiler that writes from its start on. Raises ``StoreError``."""
        await self.load()
        await self.record()

    async def _recorded(self) -> Mapping[str, frozenset[str]]:
        """Kind → its known fields; what can't be read counts as nothing."""
        found: dict[str, frozenset[str]] = {}
        for item in (await self._store.range(self._prefix, prefix_end(self._prefix))).items:
            try:
                found[item.key.removeprefix(self._prefix)] = msgspec.json.decode(item.value, type=frozenset[str])
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                _LOG.warning("%s is ignored: %s", item.key, error)
        return found
