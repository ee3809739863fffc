"""Writes through the API server what became of manifests: their answers, their ends, and manifests that the store lost.

An answer is a resource ``observed``; a manifest ends when its finalizer is removed. Why it exists: an answer is an
input of the compile, so ``differ`` says whether one of its fields changes; and until etcd shows a write, its manifest
is not looked at again, since the next decision depends on it. After a write that failed, ``manifest_reconciler``
decides again at once, and the same write waits for the back-off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key, Schema, kebab
from intentc.model.manifest import manifest_uuid
from intentc.model.metadata import FINALIZERS
from intentc.outgoing import FINALIZER, MANIFEST, OBSERVED, Restored
from intentc.writing import Written

from .fenced_writer import FencedService, FencedWriter
from .stored_manifests import Answer, FqName, Manifest

_LOG = logging.getLogger(__name__)


class _Planned(NamedTuple):
    """The next write about a manifest. ``counter``: which one counts it; ``revision``: what etcd must have, None for a
    new resource; ``body``: None to delete it; ``fence``: with which it was decided."""

    counter: str
    key: Key
    body: bytes | None
    revision: int | None
    mask: tuple[str, ...]
    fence: str


class ManifestAnswers(FencedWriter[FqName]):
    """Writes answers. ``schema`` declares their fields; ``look`` is called with the name of a manifest that is to be
    looked at again."""

    def __init__(self, service: FencedService, schema: Schema, look: Callable[[FqName], None]) -> None:
        super().__init__(service, look)
        self._fields = tuple(schema.kind(OBSERVED).properties)
        self._collections = {kind: f"/{kebab(schema.kind(kind).plural)}" for kind in (OBSERVED, MANIFEST)}
        self._planned: dict[FqName, _Planned] = {}
        self._tried: dict[FqName, _Planned] = {}

    def is_pending(self, name: FqName) -> bool:
        """Whether a write about this manifest is under way, or etcd has not shown it."""
        return name in self.loop.queue.working or name in self._awaited

    def differ(self, found: Mapping[str, Any], answer: Answer | None) -> bool:
        """Whether an answer says something else than the one that is stored."""
        return answer is None or {
            field: value for field, value in answer.fields.items() if field in self._fields
        } != dict(found)

    def put(self, name: FqName, found: Mapping[str, Any], answer: Answer | None, fence: str) -> None:
        """Write an answer."""
        if answer is None:
            key = Key(OBSERVED, manifest_uuid(OBSERVED, name))
            data = {"uuid": key.uuid, "fq_name": name, **found}
            self._plan(name, _Planned("answers", key, msgspec.json.encode(data), None, (), fence))
        else:
            data = {"uuid": answer.key.uuid, **dict.fromkeys(self._fields), **found}
            body = msgspec.json.encode(data)
            self._plan(name, _Planned("answers", answer.key, body, answer.revision, (), fence))

    def remove(self, name: FqName, answer: Answer, fence: str) -> None:
        """Delete an answer."""
        self._plan(name, _Planned("answers", answer.key, None, answer.revision, (), fence))

    def release(self, name: FqName, manifest: Manifest, fence: str) -> None:
        """Remove the finalizer of a manifest whose object is gone."""
        left = [one for one in manifest.finalizers if one != FINALIZER]
        body = msgspec.json.encode({"uuid": manifest.key.uuid, "metadata": {"finalizers": left}})
        self._plan(name, _Planned("released", manifest.key, body, manifest.revision, (FINALIZERS,), fence))

    def restore(self, name: FqName, found: Restored, fence: str) -> None:
        """Create the manifest of an object that none names."""
        _LOG.warning("%s is in the cluster, and no manifest names it: it is one again", "/".join(name))
        body = msgspec.json.encode({"uuid": found.uuid, **found.fields})
        self._plan(name, _Planned("restored", Key(MANIFEST, found.uuid), body, None, (), fence))

    def drop(self, name: FqName) -> None:
        """Forget a write that has not begun: what is to be written is decided again."""
        self._planned.pop(name, None)

    def _plan(self, name: FqName, planned: _Planned) -> None:
        self._planned[name] = planned
        self.loop.add(name, unchanged=self._tried.get(name) == planned)

    def _begin(self, name: FqName) -> Coroutine[Any, Any, None] | None:
        planned = self._planned.pop(name, None)
        if planned is None:
            self._tried.pop(name, None)
            return None
        if planned.fence != self._fence():
            # It was decided in a former term.
            self._look(name)
            return None
        self._tried[name] = planned
        return self._finish(name, planned, self._send(planned))

    def _send(self, planned: _Planned) -> asyncio.Future[Written]:
        _, key, body, revision, mask, fence = planned
        if revision is None:
            return self._writer.create(key, self._collections[key.kind], body or b"", fence)
        if body is None:
            return self._writer.remove(key, revision, fence)
        return self._writer.update(key, body, fence, revision, mask)

    async def _finish(self, name: FqName, planned: _Planned, future: asyncio.Future[Written]) -> None:
        await self._written(name, future, planned.fence)
        del self._tried[name]
        self.counters[planned.counter] += 1

    def _note_failure(self, name: FqName, error: Exception) -> None:
        if str(error) != self.last_error:
            _LOG.warning("%s: the API server: %s", "/".join(name), error)
        self.last_error = str(error)
        self._look(name)
