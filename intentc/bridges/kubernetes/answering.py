"""Writes through the API server what became of manifests: their answers, their ends, and manifests that the store lost.

An answer is a resource ``observed``; a manifest ends when its finalizer is removed. Why it exists: an answer is an
input of the compile, so ``differ`` says whether one of its fields changes; and until etcd shows a write, its manifest
is not looked at again, since the next decision depends on it. ``manifest_reconciler`` decides what to write,
``stored_manifests`` knows what is stored.

State: the writes that are under way or that etcd has not shown yet, up to which revision etcd is known, failures, and
counters.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from intentc.model import Key, Schema, kebab
from intentc.model.manifest import manifest_uuid
from intentc.model.metadata import FINALIZERS
from intentc.outgoing import FINALIZER, MANIFEST, OBSERVED, Restored
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Fenced, Throttled
from intentc.writing import Written

from .stored_manifests import Answer, FqName, Manifest

_LOG = logging.getLogger(__name__)
_AGAIN = Backoff(0.2, 30.0)


class AnswerWriter(Protocol):
    """Writes single resources; see ``writing.mirroring.MirrorService``."""

    def create(self, key: Key, collection: str, data: bytes, fence: str | None) -> asyncio.Future[Written]: ...

    def update(
        self, key: Key, data: bytes, fence: str | None, revision: int, mask: tuple[str, ...] = ()
    ) -> asyncio.Future[Written]: ...

    def remove(self, key: Key, revision: int, fence: str | None) -> asyncio.Future[Written]: ...


class Answers:
    """Writes answers. ``schema`` declares their fields; ``fenced`` is called with a fence that the API server rejects;
    ``look`` with the name of a manifest that is to be looked at again."""

    def __init__(
        self, writer: AnswerWriter, schema: Schema, fenced: Callable[[str], None], look: Callable[[FqName], None]
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.last_error = ""
        self._writer = writer
        self._fields = tuple(schema.kind(OBSERVED).properties)
        self._collections = {kind: f"/{kebab(schema.kind(kind).plural)}" for kind in (OBSERVED, MANIFEST)}
        self._fenced = fenced
        self._look = look
        self._under_way: set[FqName] = set()
        self._awaited: dict[FqName, int] = {}
        self._failures: Counter[FqName] = Counter()
        self._applied = 0

    @property
    def idle(self) -> bool:
        """Whether etcd has shown all that was written."""
        return not (self._under_way or self._awaited)

    def is_pending(self, name: FqName) -> bool:
        """Whether a write about this manifest is under way, or etcd has not shown it."""
        return name in self._under_way or name in self._awaited

    def applied(self, revision: int) -> None:
        """Note that everything in etcd up to ``revision`` is known."""
        self._applied = revision
        for name in [name for name, awaited in self._awaited.items() if awaited <= revision]:
            del self._awaited[name]
            self._look(name)

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
            self._create(name, "answers", key, data, fence)
            return
        data = {"uuid": answer.key.uuid, **dict.fromkeys(self._fields), **found}
        body = msgspec.json.encode(data)
        self._begin(name, "answers", self._writer.update(answer.key, body, fence, answer.revision), fence)

    def remove(self, name: FqName, answer: Answer, fence: str) -> None:
        """Delete an answer."""
        self._begin(name, "answers", self._writer.remove(answer.key, answer.revision, fence), fence)

    def release(self, name: FqName, manifest: Manifest, fence: str) -> None:
        """Remove the finalizer of a manifest whose object is gone."""
        left = [one for one in manifest.finalizers if one != FINALIZER]
        data = msgspec.json.encode({"uuid": manifest.key.uuid, "metadata": {"finalizers": left}})
        future = self._writer.update(manifest.key, data, fence, manifest.revision, (FINALIZERS,))
        self._begin(name, "released", future, fence)

    def restore(self, name: FqName, found: Restored, fence: str) -> None:
        """Create the manifest of an object that none names."""
        _LOG.warning("%s is in the cluster, and no manifest names it: it is one again", "/".join(name))
        self._create(name, "restored", Key(MANIFEST, found.uuid), {"uuid": found.uuid, **found.fields}, fence)

    def _create(self, name: FqName, what: str, key: Key, data: Mapping[str, Any], fence: str) -> None:
        future = self._writer.create(key, self._collections[key.kind], msgspec.json.encode(data), fence)
        self._begin(name, what, future, fence)

    def _begin(self, name: FqName, what: str, future: asyncio.Future[Written], fence: str) -> None:
        self._under_way.add(name)
        future.add_done_callback(partial(self._ended, name, what, fence))

    def _ended(self, name: FqName, what: str, fence: str, future: asyncio.Future[Written]) -> None:
        self._under_way.discard(name)
        error = None if future.cancelled() else future.exception()
        if error is None and not future.cancelled():
            self.counters[what] += 1
            self._failures.pop(name, None)
            self.last_error = ""
            revision = future.result().revision
            if revision is not None and revision > self._applied:
                self._awaited[name] = revision
            else:
                self._look(name)
            return
        if isinstance(error, Fenced):
            self._fenced(fence)
        self._failures[name] += 1
        if error is not None and str(error) != self.last_error:
            _LOG.warning("%s: the API server: %s", "/".join(name), error)
        self.last_error = str(error)
        seconds = error.seconds if isinstance(error, Throttled) else 0.0
        pause = max(seconds, _AGAIN.seconds(self._failures[name]))
        asyncio.get_running_loop().call_later(pause, self._look, name)
