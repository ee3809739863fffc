"""Carries manifests out: brings the objects of the cluster to what compilers claim, while this process may write.

Why it exists: ``outgoing.next_step`` decides from what etcd and the cluster have now, so a process that was killed
anywhere decides the same again. Here are the order (ends by descending phase, then the others by ascending phase; a few
of one phase at the same time), the last look at the cluster before an object is created or taken for gone, and the
pause before a write that was rejected is tried again unchanged. An object of ours that no manifest names gets one
again.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NamedTuple

import anyio
import msgspec

from intentc.model import Key, Schema
from intentc.outgoing import INSTALLATION_LABEL, Step, differences, next_step, observed_fields, restored
from intentc.reconcile import Loop, RequeueAfter, Result, open_while
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Denied, Failure, Rejected, Unavailable

from . import applying
from .applying import NotAsExpected, words_of
from .cluster import Cluster, NotServed
from .event_recorder import Events
from .fenced_writer import FencedService
from .informer import Complete, Deleted, Finding, Put
from .made_kinds import MadeKinds, Readiness
from .made_objects import Body, GroupVersionKind, MadeObjects, sort_of, uid_of
from .manifest_answers import ManifestAnswers
from .stored_manifests import FqName, Manifest, StoredManifests
from .wire import UNUSABLE

_LOG = logging.getLogger(__name__)
_REJECTED = Backoff(1.0, 300.0)
"""Between attempts with the same content on the same object: what it lacks may be made, and RBAC granted."""
_TAKEN_SECONDS = 30.0
"""Between looks at a name that somebody else took: no watch shows its object."""
_ONCE_ADDED = RequeueAfter(3600.0, keeps_failures=True)
"""It waits for something that adds it."""


AT_ONCE = 8
"""Manifests that are carried out at the same time."""


class _Attempt(NamedTuple):
    """A write that was rejected, or changed nothing. ``about``: what was tried; ``words``: of the rejection, or empty;
    ``until``: not to be tried again before, in seconds of the clock."""

    about: tuple[Any, ...]
    words: str
    until: float


class NotCarriedOut(Failure):
    """The cluster does not take what a manifest wants. ``seconds``: not to be tried again unchanged before."""

    def __init__(self, words: str, seconds: float) -> None:
        super().__init__(words)
        self.seconds = seconds


class ManifestReconciler:
    """Carries out the manifests of one installation.

    ``lacks_finalizer``: whether the cluster's object with a uuid lacks a finalizer that its copy has; ``declared``: the
    sorts of objects that compilers make; ``not_served_seconds``: a kind that the cluster lacks for so long does not
    exist there; ``at_once``: how many manifests of one phase are carried out at the same time."""

    def __init__(
        self,
        cluster: Cluster,
        installation: str,
        schema: Schema,
        service: FencedService,
        doubt: Callable[[], Awaitable[str]],
        events: Events,
        lacks_finalizer: Callable[[str], bool],
        *,
        declared: Iterable[GroupVersionKind] = (),
        not_served_seconds: float = 30.0,
        at_once: int = AT_ONCE,
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.last_error = ""
        self.stored = StoredManifests(installation)
        self.objects = MadeObjects()
        self.kinds = MadeKinds(cluster, installation, self._apply_findings, doubt, declared)
        self.answers = ManifestAnswers(service, schema, self._look)
        self._cluster = cluster
        self._installation = installation
        self._fence = service.fence
        self._events = events
        self._lacks_finalizer = lacks_finalizer
        self._not_served_seconds = not_served_seconds
        self._attempts: dict[FqName, _Attempt] = {}
        self._unexpected: set[FqName] = set()
        """Those whose last write met another object than was expected."""
        self._waiting: set[FqName] = set()
        self._unknown: dict[FqName, str] = {}
        """Manifests that wait until the objects of their kind are known → their owners."""
        self._unknown_of: defaultdict[str, set[FqName]] = defaultdict(set)
        self._behind: set[FqName] = set()
        """Those that wait for one of ``_unknown``, whose phase is lower."""
        self.loop: Loop[FqName] = Loop(
            self._begin,
            workers=at_once,
            gate=open_while(lambda: service.fence() is not None),
            backoff=_REJECTED,
            order=self._order,
            stage=lambda name: self._order(name)[:2],
            on_failure=self._note_failure,
        )

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
        for name in (*self.stored.manifests, *self.stored.answers, *(name for _, name in self.objects.names())):
            self._look(name)
        self.loop.wake()
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
        return self.loop.idle and self.answers.idle and not (self._waiting or is_looking)

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
            await self.loop.run()

    # One manifest

    def _begin(self, name: FqName) -> Result | Coroutine[Any, Any, Result]:
        fence, manifest = self._fence(), self.stored.manifests.get(name)
        if fence is None:
            return _ONCE_ADDED
        owner = manifest.owner if manifest is not None and not manifest.wanted.is_ending else ""
        is_unknown = manifest is not None and self.kinds.readiness(sort_of(manifest.target)) is Readiness.UNKNOWN
        self._note_unknown(name, owner if is_unknown else None)
        if is_unknown:
            return _ONCE_ADDED
        if owner and any(self._order(other) < self._order(name) for other in self._unknown_of.get(owner, ())):
            # It waits until it is known whether the ones of lower phases exist.
            self._behind.add(name)
            return _ONCE_ADDED
        return self._carry_out(name, fence)

    def _note_unknown(self, name: FqName, owner: str | None) -> None:
        """Note that a manifest of ``owner`` waits for its kind; None: it does not."""
        former = self._unknown.pop(name, None)
        if former is not None:
            self._unknown_of[former].discard(name)
            if not self._unknown_of[former]:
                del self._unknown_of[former]
        if owner is not None:
            self._unknown[name] = owner
            self._unknown_of[owner].add(name)
        if former not in (None, owner):
            self._look_behind()

    def _look_behind(self) -> None:
        """Look at what waits for a manifest of a lower phase."""
        behind, self._behind = self._behind, set()
        for name in behind:
            self._look(name)

    async def _carry_out(self, name: FqName, fence: str) -> Result:
        former = self._attempts.get(name)
        seconds = 0.0
        try:
            seconds = await self._bring_in_line(name, self.stored.manifests.get(name), fence)
            self.last_error = ""
        except UNUSABLE as error:
            _LOG.warning("%s can't be read: %r", self._title(name), error)
            self._rejected(name, (), f"it can't be read: {error}")
        except NotAsExpected:
            raise
        except Failure as error:
            if error.concerns_all:
                raise
            # A read of this object was rejected, for example: it waits, and the others don't.
            self._rejected(name, (), words_of(error))
        attempt = self._attempts.get(name)
        if attempt is None:
            return RequeueAfter(seconds) if seconds else None
        left = attempt.until - time.monotonic()
        if attempt is former:
            left = left if left > 0 else _TAKEN_SECONDS
            return RequeueAfter(min(left, seconds) if seconds else left, keeps_failures=True)
        raise NotCarriedOut(attempt.words, left)

    def _note_failure(self, name: FqName, error: Exception) -> None:
        if not isinstance(error, Failure):
            _LOG.exception("%s can't be carried out", self._title(name))
        elif error.concerns_all:
            if str(error) != self.last_error:
                _LOG.warning("%s waits: %s", self._title(name), error)
            self.last_error = str(error)

    def _title(self, name: FqName) -> str:
        """How people call what a manifest makes."""
        manifest = self.stored.manifests.get(name)
        return str(manifest.target) if manifest is not None else "/".join(name)

    def _order(self, name: FqName) -> tuple[int, int, FqName]:
        manifest = self.stored.manifests.get(name)
        if manifest is None:
            return (0, 0, name)
        return (1, -manifest.phase, name) if manifest.wanted.is_ending else (2, manifest.phase, name)

    async def _bring_in_line(self, name: FqName, manifest: Manifest | None, fence: str) -> float:
        """Do the next step. Returns the seconds until the next look; 0 for when something changes."""
        if self.answers.is_pending(name):
            return 0.0
        self.answers.drop(name)
        if manifest is None:
            await self._without_manifest(name, fence)
            return 0.0
        sort = sort_of(manifest.target)
        match self.kinds.readiness(sort):
            case Readiness.ABSENT:
                return await self._absent(name, manifest, sort, fence)
            case Readiness.DENIED:
                await self._answer(name, manifest, None, self.kinds.watchers[sort].state.error, fence)
                return 0.0
            case _:
                return await self._known(name, manifest, sort, fence)

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

    async def _absent(self, name: FqName, manifest: Manifest, sort: GroupVersionKind, fence: str) -> float:
        """The cluster does not serve the kind: there is no such object."""
        if not manifest.wanted.is_ending:
            await self._answer(name, manifest, None, f"the cluster has no {sort}", fence)
            return 0.0
        left = self._not_served_seconds - self.kinds.absent_seconds(sort)
        if left <= 0:
            self._release(name, manifest, fence)
        return max(0.0, left)

    async def _known(self, name: FqName, manifest: Manifest, sort: GroupVersionKind, fence: str) -> float:
        wanted, target = manifest.wanted, manifest.target
        live, seen = self.objects.get(sort, name), self._seen(name, manifest, sort)
        step = next_step(wanted, live, seen)
        if step is Step.APPLY and live is None and self._lacks_finalizer(manifest.owner):
            # Its owner would be gone before it, if it were deleted now.
            self._waiting.add(name)
            return 0.0
        is_seen_only_if_read = step in (Step.APPLY, Step.RELEASE) or wanted.adopted_only
        if live is None and is_seen_only_if_read and not (wanted.is_ending and wanted.kept):
            live = await self._read(sort, name, target.namespace, target.name)
            step = next_step(wanted, live, seen)
        words, seconds = "", 0.0
        match step:
            case Step.RELEASE:
                self._release(name, manifest, fence)
                return 0.0
            case Step.APPLY | Step.DELETE:
                words = await self._write(name, manifest, sort, step, live)
                live = self.objects.get(sort, name)
            case Step.TAKEN:
                words, seconds = f"{target} was made by somebody else; rename or delete it", _TAKEN_SECONDS
            case _:
                self._attempts.pop(name, None)
                if live is None and wanted.adopted_only:
                    # No watch shows the object before it is ours.
                    seconds = _TAKEN_SECONDS
        await self._answer(name, manifest, live, words, fence)
        return seconds

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
    ) -> str:
        """Apply or delete an object; returns the words of a rejection, or empty. Raises ``NotAsExpected``."""
        served = self.kinds.served(sort)
        if served is None:
            raise NotServed(f"the cluster has no {sort}")
        wanted, target = manifest.wanted, manifest.target
        path = served.path_of(target.namespace, target.name)
        about = (step, wanted.body, differences(wanted.body, live), *_place(live))
        former = self._attempts.get(name)
        if former is not None and former.about == about and time.monotonic() < former.until:
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
                create_only = name not in self._unexpected
                answer = await applying.apply(self._cluster, path, wanted.body, uid, create_only=create_only)
                self.counters["applied"] += 1
            if answer is not None:
                self.objects.put(sort, answer)
        except NotAsExpected:
            self._unexpected.add(name)
            await self._read(sort, name, target.namespace, target.name)
            raise
        except (Conflict, Rejected, Denied, Unavailable) as error:
            if isinstance(error, Unavailable) and error.concerns_all:
                raise
            return self._rejected(name, about, words_of(error))
        self._unexpected.discard(name)
        left = differences(wanted.body, self.objects.get(sort, name)) if step is Step.APPLY else ()
        if left:
            # Another write would change nothing either.
            _LOG.warning("%s: the cluster keeps other values than were applied: %s", target, ", ".join(left))
            self._note_attempt(name, (step, wanted.body, left, *_place(self.objects.get(sort, name))), "")
        else:
            self._attempts.pop(name, None)
        return ""

    def _rejected(self, name: FqName, about: tuple[Any, ...], words: str) -> str:
        former = self._attempts.get(name)
        if former is None or former.words != words:
            _LOG.warning("%s: the cluster rejects it: %s", self._title(name), words)
        self.counters["cluster_rejected"] += 1
        self._note_attempt(name, about, words)
        return words

    def _note_attempt(self, name: FqName, about: tuple[Any, ...], words: str) -> None:
        seconds = _REJECTED.seconds(self.loop.queue.failures(name) + 1)
        self._attempts[name] = _Attempt(about, words, time.monotonic() + seconds)

    def _release(self, name: FqName, manifest: Manifest, fence: str) -> None:
        """The object is gone: so its answer goes, and then the finalizer of its manifest."""
        self._attempts.pop(name, None)
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
        self.loop.add(name)


def _is_ours(body: Body, installation: str) -> bool:
    labels = (body.get("metadata") or {}).get("labels") or {}
    return bool(labels.get(INSTALLATION_LABEL) == installation)


def _place(live: Body | None) -> tuple[Any, Any]:
    """What identifies an object and its specification: a rejection may end when one of them changes."""
    metadata = live["metadata"] if live is not None else {}
    return metadata.get("uid"), metadata.get("generation")
