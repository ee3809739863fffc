"""Carries manifests out: brings the objects of the cluster to what compilers claim, while this process may write.

Why it exists: ``outgoing.next_step`` decides from what etcd and the cluster have now, so a process that was killed
anywhere decides the same again. Here are the order (ends by descending phase, then the others by ascending phase; a few
of one phase at the same time), the last look at the cluster before an object is created or taken for gone, and the
pause before a write that was rejected is tried again unchanged. An object of ours that no manifest names gets one
again. ``answering`` writes through the API server, ``applying`` to the cluster; ``events`` reports rejections there.

State: what is to be looked at, what waits for its owner's finalizer, rejections, failures and counters; the parts keep
their own. I/O: that of the parts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import anyio
import anyio.lowlevel
import msgspec

from intentc.model import Key, Schema
from intentc.outgoing import INSTALLATION_LABEL, Step, differences, next_step, observed_fields, restored
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Denied, Failure, Rejected, Unavailable

from . import applying
from .answering import Answers, AnswerWriter
from .applying import NotAsExpected, words_of
from .cluster import Cluster, NotServed
from .events import Events
from .informer import Complete, Deleted, Finding, Put
from .made_kinds import MadeKinds, Readiness
from .made_objects import Body, GroupVersionKind, MadeObjects, sort_of, uid_of
from .stored_manifests import FqName, Manifest, StoredManifests
from .wire import UNUSABLE

_LOG = logging.getLogger(__name__)
_UNAVAILABLE = Backoff(0.2, 30.0)
_REJECTED = Backoff(1.0, 300.0)
"""Between attempts with the same content on the same object: what it lacks may be made, and RBAC granted."""
_TAKEN_SECONDS = 30.0
"""Between looks at a name that somebody else took: no watch shows its object."""


AT_ONCE = 8
"""Manifests that are carried out at the same time."""


class _Attempt(NamedTuple):
    """A write that was rejected, or changed nothing. ``about``: what was tried; ``words``: of the rejection, or empty;
    ``until``: not to be tried again before, in seconds of the clock."""

    about: tuple[Any, ...]
    words: str
    until: float


class ManifestReconciler:
    """Carries out the manifests of one installation. ``fence``: the present one, None while this process may not write;
    ``lacks_finalizer``: whether the cluster's object with a uuid lacks a finalizer that its copy has; ``declared``: the
    sorts of objects that compilers make; ``not_served_seconds``: a kind that the cluster lacks for so long does not
    exist there; ``at_once``: how many manifests of one phase are carried out at the same time."""

    def __init__(
        self,
        cluster: Cluster,
        installation: str,
        schema: Schema,
        writer: AnswerWriter,
        fence: Callable[[], str | None],
        fenced: Callable[[str], None],
        doubt: Callable[[], Awaitable[str]],
        events: Events,
        lacks_finalizer: Callable[[str], bool],
        *,
        declared: Iterable[GroupVersionKind] = (),
        not_served_seconds: float = 30.0,
        at_once: int = AT_ONCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.last_error = ""
        self.stored = StoredManifests(installation)
        self.objects = MadeObjects()
        self.kinds = MadeKinds(cluster, installation, self._apply_findings, doubt, declared)
        self.answers = Answers(writer, schema, fence, fenced, self._look)
        self._cluster = cluster
        self._installation = installation
        self._fence = fence
        self._events = events
        self._lacks_finalizer = lacks_finalizer
        self._not_served_seconds = not_served_seconds
        self._clock = clock
        self._dirty: dict[FqName, None] = {}
        self._attempts: dict[FqName, _Attempt] = {}
        self._failed: Counter[FqName] = Counter()
        self._unexpected: Counter[FqName] = Counter()
        self._failures = 0
        self._waiting: set[FqName] = set()
        self._at: set[FqName] = set()
        self._at_once = at_once
        self._wake = anyio.Event()

    # What others show

    def note(self, key: Key, value: bytes | None, revision: int) -> None:
        """Note what etcd holds under the key of a manifest, or of an answer; None: nothing."""
        for name in self.stored.stored(key, value, revision):
            manifest = self.stored.manifests.get(name)
            if manifest is not None:
                self.kinds.want(sort_of(manifest.target))
            self._look(name)

    def applied(self, revision: int) -> None:
        """Note that everything in etcd up to ``revision`` is known."""
        self.answers.applied(revision)

    def look_at_all(self) -> None:
        """Look at everything: this process may write now."""
        self._dirty |= dict.fromkeys((*self.stored.manifests, *self.stored.answers))
        self._dirty |= dict.fromkeys(name for _, name in self.objects.names())
        self._wake.set()
        self.answers.loop.wake()

    def owner_changed(self) -> None:
        """Look at objects whose owner lacked a finalizer."""
        waiting, self._waiting = self._waiting, set()
        for name in waiting:
            self._look(name)

    def tend(self) -> None:
        """Look at the objects of kinds that are served, or may be listed, since the last call."""
        for sort in self.kinds.changed():
            for name, manifest in self.stored.manifests.items():
                if sort_of(manifest.target) == sort:
                    self._look(name)

    @property
    def idle(self) -> bool:
        """Whether nothing is to be done, or to be awaited."""
        is_looking = any(self.kinds.readiness(sort) is Readiness.UNKNOWN for sort in self.kinds.watchers)
        return not (self._dirty or self._waiting or self._at or is_looking) and self.answers.idle

    @property
    def knows_all(self) -> bool:
        """Whether all our objects are known, and each has a manifest with an answer."""
        return self.kinds.are_listed and self.idle

    @property
    def rejected(self) -> dict[FqName, str]:
        """What the cluster rejects, with the reason."""
        return {name: attempt.words for name, attempt in self._attempts.items() if attempt.words}

    async def run(self) -> None:
        """Carry out until cancelled."""
        async with anyio.create_task_group() as group:
            self.kinds.start(group)
            group.start_soon(self.answers.loop.run)
            while True:
                self._wake = anyio.Event()
                if self._fence() is None or not await self._round():
                    await self._wake.wait()

    # One round

    async def _round(self) -> bool:
        """Look at what is dirty, in order; whether there was something to do."""
        blocked: set[str] = set()
        worked = False
        for _, names in groupby(sorted(self._dirty, key=self._order), key=lambda name: self._order(name)[:2]):
            due = []
            for name in names:
                manifest = self.stored.manifests.get(name)
                owner = manifest.owner if manifest is not None and not manifest.wanted.is_ending else ""
                if manifest is not None and self.kinds.readiness(sort_of(manifest.target)) is Readiness.UNKNOWN:
                    # What has a higher phase waits until it is known whether this one exists.
                    blocked.add(owner)
                elif not owner or owner not in blocked:
                    due.append(name)
            worked = worked or bool(due)
            failures: list[tuple[FqName, Exception]] = []
            left = iter(due)
            async with anyio.create_task_group() as group:
                for _ in due[: self._at_once]:
                    group.start_soon(self._carry_out_all, left, failures)
            if failures:
                await self._unavailable(failures)
                return True
            if self._fence() is None:
                return True
        return worked

    async def _carry_out_all(self, names: Iterator[FqName], failures: list[tuple[FqName, Exception]]) -> None:
        """Look at manifests, which others take from ``names`` as well. A cluster that does not answer is noted in
        ``failures``; then no other is begun."""
        for name in names:
            fence = self._fence()
            if fence is None or failures:
                return
            self._dirty.pop(name, None)
            self._at.add(name)
            try:
                await anyio.lowlevel.checkpoint()
                await self._carry_out(name, self.stored.manifests.get(name), fence)
                self._failures, self.last_error = 0, ""
            except UNUSABLE as error:
                _LOG.warning("%s can't be read: %r", self._title(name), error)
                self._rejected(name, (), f"it can't be read: {error}")
            except Failure as error:
                if not error.concerns_all:
                    # A read of this object was rejected, for example: it waits, and the others don't.
                    self._rejected(name, (), words_of(error))
                else:
                    self._dirty[name] = None
                    failures.append((name, error))
            finally:
                self._at.discard(name)

    def _title(self, name: FqName) -> str:
        """How people call what a manifest makes."""
        manifest = self.stored.manifests.get(name)
        return str(manifest.target) if manifest is not None else "/".join(name)

    def _order(self, name: FqName) -> tuple[int, int, FqName]:
        manifest = self.stored.manifests.get(name)
        if manifest is None:
            return (0, 0, name)
        return (1, -manifest.phase, name) if manifest.wanted.is_ending else (2, manifest.phase, name)

    async def _unavailable(self, failures: Sequence[tuple[FqName, Exception]]) -> None:
        """Wait as long as the cluster asks for in any of its answers."""
        name, error = failures[0]
        self._failures += 1
        if str(error) != self.last_error:
            _LOG.warning("%s waits: %s", self._title(name), error)
        self.last_error = str(error)
        await anyio.sleep(max(longest_pause(one for _, one in failures), _UNAVAILABLE.seconds(self._failures)))

    async def _carry_out(self, name: FqName, manifest: Manifest | None, fence: str) -> None:
        if self.answers.is_pending(name):
            return
        self.answers.drop(name)
        if manifest is None:
            await self._without_manifest(name, fence)
            return
        sort = sort_of(manifest.target)
        match self.kinds.readiness(sort):
            case Readiness.ABSENT:
                await self._absent(name, manifest, sort, fence)
            case Readiness.DENIED:
                await self._answer(name, manifest, None, self.kinds.watchers[sort].state.error, fence)
            case _:
                await self._known(name, manifest, sort, fence)

    async def _without_manifest(self, name: FqName, fence: str) -> None:
        answer = self.stored.answers.get(name)
        self._attempts.pop(name, None)
        if answer is not None:
            self.answers.remove(name, answer, fence)
            return
        for sort in self.kinds.watchers:
            self.objects.forget_last(sort, name)
            live = self.objects.get(sort, name)
            if live is None:
                continue
            # The watch may not have shown yet that we deleted it.
            live = await self._read(sort, name, live["metadata"].get("namespace") or "", live["metadata"]["name"])
            found = restored(live) if live is not None and _is_ours(live, self._installation) else None
            if found is not None and live is not None and not live["metadata"].get("deletionTimestamp"):
                self.answers.restore(name, found, fence)
                return

    async def _absent(self, name: FqName, manifest: Manifest, sort: GroupVersionKind, fence: str) -> None:
        """The cluster does not serve the kind: there is no such object."""
        if not manifest.wanted.is_ending:
            await self._answer(name, manifest, None, f"the cluster has no {sort}", fence)
        elif self.kinds.absent_seconds(sort) >= self._not_served_seconds:
            self._release(name, manifest, fence)
        else:
            self._later(name, self._not_served_seconds - self.kinds.absent_seconds(sort))

    async def _known(self, name: FqName, manifest: Manifest, sort: GroupVersionKind, fence: str) -> None:
        wanted, target = manifest.wanted, manifest.target
        live, seen = self.objects.get(sort, name), self._seen(name, manifest, sort)
        step = next_step(wanted, live, seen)
        if step is Step.APPLY and live is None and self._lacks_finalizer(manifest.owner):
            # Its owner would be gone before it, if it were deleted now.
            self._waiting.add(name)
            return
        is_seen_only_if_read = step in (Step.APPLY, Step.RELEASE) or wanted.adopted_only
        if live is None and is_seen_only_if_read and not (wanted.is_ending and wanted.kept):
            live = await self._read(sort, name, target.namespace, target.name)
            step = next_step(wanted, live, seen)
        words = ""
        match step:
            case Step.RELEASE:
                self._release(name, manifest, fence)
                return
            case Step.APPLY | Step.DELETE:
                written = await self._write(name, manifest, sort, step, live)
                if written is None:
                    return
                words, live = written, self.objects.get(sort, name)
            case Step.TAKEN:
                words = f"{target} was made by somebody else; rename or delete it"
                self._later(name, _TAKEN_SECONDS)
            case _:
                self._settled(name)
                if live is None and wanted.adopted_only:
                    # No watch shows the object before it is ours.
                    self._later(name, _TAKEN_SECONDS)
        await self._answer(name, manifest, live, words, fence)

    def _seen(self, name: FqName, manifest: Manifest, sort: GroupVersionKind) -> dict[str, Any] | None:
        """The stored answer, with the end of an object that was deleted before it could be written down."""
        seen, last = self.stored.answer(name), self.objects.last(sort, name)
        if last is not None and manifest.wanted.once:
            found = observed_fields(manifest.wanted, last, seen)
            if found.get("done"):
                return {**(seen or {}), "done": True, "digest": found["digest"]}
        return seen

    # Writes

    async def _write(
        self, name: FqName, manifest: Manifest, sort: GroupVersionKind, step: Step, live: Body | None
    ) -> str | None:
        """Apply or delete an object; returns the words of a rejection, or empty; None if the object was another one
        than expected."""
        served = self.kinds.served(sort)
        if served is None:
            raise NotServed(f"the cluster has no {sort}")
        wanted, target = manifest.wanted, manifest.target
        path = served.path_of(target.namespace, target.name)
        about = (step, wanted.body, differences(wanted.body, live), *_place(live))
        former = self._attempts.get(name)
        if former is not None and former.about == about and self._clock() < former.until:
            return former.words
        try:
            if step is Step.DELETE and live is not None:
                answer = await applying.delete(self._cluster, path, uid_of(live))
                self.counters["deleted"] += 1
                if answer is None:
                    self.objects.gone(sort, name)
                    self._look(name)
            else:
                uid = uid_of(live) if live is not None else ""
                create_only = not self._unexpected[name]
                answer = await applying.apply(self._cluster, path, wanted.body, uid, create_only=create_only)
                self.counters["applied"] += 1
            if answer is not None:
                self.objects.put(sort, answer)
        except NotAsExpected as error:
            self._unexpected[name] += 1
            _LOG.debug("%s: %s", target, error)
            await self._read(sort, name, target.namespace, target.name)
            self._later(name, _UNAVAILABLE.seconds(self._unexpected[name]))
            return None
        except (Conflict, Rejected, Denied, Unavailable) as error:
            if isinstance(error, Unavailable) and error.concerns_all:
                raise
            return self._rejected(name, about, words_of(error))
        self._unexpected.pop(name, None)
        left = differences(wanted.body, self.objects.get(sort, name)) if step is Step.APPLY else ()
        if left:
            # Another write would change nothing either.
            _LOG.warning("%s: the cluster keeps other values than were applied: %s", target, ", ".join(left))
            self._note_attempt(name, (step, wanted.body, left, *_place(self.objects.get(sort, name))), "")
        else:
            self._settled(name)
        return ""

    def _rejected(self, name: FqName, about: tuple[Any, ...], words: str) -> str:
        former = self._attempts.get(name)
        if former is None or former.words != words:
            _LOG.warning("%s: the cluster rejects it: %s", self._title(name), words)
        self.counters["cluster_rejected"] += 1
        self._note_attempt(name, about, words)
        return words

    def _note_attempt(self, name: FqName, about: tuple[Any, ...], words: str) -> None:
        self._failed[name] += 1
        seconds = _REJECTED.seconds(self._failed[name])
        self._attempts[name] = _Attempt(about, words, self._clock() + seconds)
        self._later(name, seconds)

    def _settled(self, name: FqName) -> None:
        self._attempts.pop(name, None)
        self._failed.pop(name, None)

    def _release(self, name: FqName, manifest: Manifest, fence: str) -> None:
        """The object is gone: so its answer goes, and then the finalizer of its manifest."""
        self._settled(name)
        answer = self.stored.answers.get(name)
        if answer is not None:
            self.answers.remove(name, answer, fence)
        else:
            self.answers.release(name, manifest, fence)

    async def _answer(self, name: FqName, manifest: Manifest, live: Body | None, words: str, fence: str) -> None:
        sort, answer = sort_of(manifest.target), self.stored.answers.get(name)
        found = observed_fields(manifest.wanted, live, self._seen(name, manifest, sort), words)
        if self.answers.differ(found, answer):
            if words and words != (answer.fields.get("rejected") if answer is not None else ""):
                await self._events.record(manifest.owner, manifest.target, words, answer.revision if answer else 0)
            self.answers.put(name, found, answer, fence)
        else:
            self.objects.forget_last(sort, name)

    async def _read(self, sort: GroupVersionKind, name: FqName, namespace: str, object_name: str) -> Body | None:
        """The object as the cluster has it now; None if it is absent."""
        served = self.kinds.served(sort)
        if served is None:
            raise NotServed(f"the cluster has no {sort}")
        raw = await applying.read(self._cluster, served.path_of(namespace, object_name))
        if raw is None:
            self.objects.gone(sort, name)
            return None
        body = msgspec.json.decode(raw, type=dict[str, Any])
        if not _is_ours(body, self._installation):
            self.objects.gone(sort, name)
            return body
        self.objects.put(sort, raw)
        return self.objects.get(sort, name)

    # The watches

    def _apply_findings(self, sort: GroupVersionKind, findings: list[Finding]) -> None:
        for finding in findings:
            match finding:
                case Put(found):
                    try:
                        name = self.objects.put(sort, found.body)
                    except UNUSABLE as error:
                        _LOG.warning("%s %s can't be read: %s", sort.kind, found.identity, error)
                        continue
                    if name is not None:
                        self._look(name)
                case Deleted(found):
                    self._look(self.objects.deleted(sort, found.identity, found.uid, found.body))
                case Complete(seen, _):
                    # Whatever cluster this is: an object that it lacks is absent there.
                    for name in self.objects.listed(sort, frozenset(uid for _, uid in seen)):
                        self._look(name)
                    for name, manifest in self.stored.manifests.items():
                        if sort_of(manifest.target) == sort:
                            self._look(name)

    def _look(self, name: FqName) -> None:
        self._dirty[name] = None
        self._wake.set()

    def _later(self, name: FqName, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self._look, name)


def _is_ours(body: Body, installation: str) -> bool:
    labels = (body.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(INSTALLATION_LABEL) == installation)


def _place(live: Body | None) -> tuple[Any, Any]:
    """What identifies an object and its specification: a rejection may end when one of them changes."""
    metadata = live["metadata"] if live is not None else {}
    return metadata.get("uid"), metadata.get("generation")


def longest_pause(failures: Iterable[Exception]) -> float:
    """The longest pause (seconds) that the cluster asks for in its answers; 0 if in none."""
    return max((one.seconds for one in failures if isinstance(one, Unavailable)), default=0.0)
